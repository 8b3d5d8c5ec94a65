"""Recording sessions: what is recorded is replayed, and every difference is an error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers.model_answers import read
from toolweave import (
    Agent,
    FinishUpdate,
    FunctionContract,
    ModelError,
    ReasoningDelta,
    TextDelta,
    TextMessage,
    ToolCall,
    ToolCallUpdate,
    Update,
    UsageUpdate,
)
from toolweave.models import closing, complete
from toolweave.protocols import ModelOptions
from toolweave.testing import ScriptedModel
from toolweave.testing._recorded_model import RecordingSession
from toolweave.testing._recording_file import MAX_BYTES, load

TEST = "tests/test_trip.py::test_oslo"
HI = [TextMessage("Hi")]
ADD = FunctionContract("add", parameters={"type": "object", "properties": {"a": {}}})


def session(folder: Path, mode: Any = "none", test: str = TEST) -> RecordingSession:
    return RecordingSession.of_test(folder / "test_trip.py", test, mode)


def file_of(folder: Path) -> Path:
    return folder / "recordings" / "test_trip" / "test_oslo.jsonl"


def record(folder: Path, model: Any, *requests: Any, **asked: Any) -> None:
    """Record replies to requests."""
    recording = session(folder, "rewrite")
    recorded = recording.record(model)
    for messages in requests or (HI,):
        asyncio.run(read(recorded, messages, **asked))
    recording.finish()


def failure(replaying: RecordingSession, model: Any, messages: Any = HI, **asked: Any) -> str:
    """Return the text of the error of a request, which fails the test as well."""
    with pytest.raises(AssertionError) as raised:
        asyncio.run(read(model, messages, **asked))
    with pytest.raises(AssertionError) as at_the_end:
        replaying.finish()
    assert str(raised.value) in str(at_the_end.value)
    return str(raised.value)


texts = st.text('ab"<é🌍\n\u2028\r', min_size=1, max_size=5)
some = st.none() | texts
pieces: st.SearchStrategy[Update] = st.one_of(
    st.builds(TextDelta, texts),
    st.builds(ReasoningDelta, texts),
    st.builds(UsageUpdate, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
    st.builds(ToolCallUpdate, some, st.none() | st.integers(0, 3), some, some),
)
ends = st.sampled_from(["stop", "length", "tool_calls", "content_filter", "missing"]).map(
    FinishUpdate
)
errors = st.builds(ModelError, texts, some, st.none() | st.integers(400, 599))
replies = st.tuples(st.lists(pieces, max_size=5), ends | errors)


@given(st.lists(replies, max_size=3), st.lists(texts, min_size=3, max_size=3))
def test_what_is_recorded_is_replayed(
    tmp_path_factory: pytest.TempPathFactory, scripts: list[Any], asked: list[str]
) -> None:
    """The requests may be equal, and their replies then come in the recorded order."""
    folder = tmp_path_factory.getbasetemp()
    requests = [[TextMessage(text)] for text in asked[: len(scripts)]]

    def replies_of(model: Any) -> list[Any]:
        read_ = [asyncio.run(read(model, messages)) for messages in requests]
        details = ("args", "provider", "status")
        return [
            (came.updates, [getattr(came.error, name, None) for name in details]) for came in read_
        ]

    recording = session(folder, "rewrite")
    first = replies_of(recording.record(ScriptedModel(*[[*came, end] for came, end in scripts])))
    recording.finish()
    replaying = session(folder)
    assert replies_of(replaying.record(ScriptedModel())) == first
    replaying.finish()


def test_a_run_is_replayed_with_other_ids_and_times(tmp_path: Path) -> None:
    def slow(a: int) -> int:
        return a + 1

    def run(recording: RecordingSession, *replies: Any) -> list[str]:
        agent = Agent(recording.record(ScriptedModel(*replies)), [slow])
        result = agent.run_sync("1 + 1?")
        recording.finish()
        return [type(message).__name__ for message in result.new_messages]

    replies = ('Well.\n<slow>{"a": 1}</slow>', '<slow>{"a": 2}</slow>', "3.")
    assert run(session(tmp_path, "once"), *replies) == run(session(tmp_path, "once"))
    text = file_of(tmp_path).read_text("utf-8")
    assert not [name for name in ("runId", "generationId", "duration", "delta_ms") if name in text]
    assert len(load(file_of(tmp_path))) == 3


def test_recordings_are_json_lines_with_a_header(tmp_path: Path) -> None:
    record(tmp_path, ScriptedModel("Hé.", name="m", provider="p"), tools=[ADD])
    header, line = map(json.loads, file_of(tmp_path).read_text("utf-8").splitlines())
    assert header == {"format": "toolweave recording", "version": 1, "test": TEST}
    assert line == {
        "model": "m",
        "identity": {
            "name": "m",
            "provider": "p",
            "native_tools": False,
            "structured_output": False,
        },
        "messages": [{"kind": "text", "role": "user", "text": "Hi"}],
        "tools": [ADD.to_dict()],
        "options": {},
        "deltas": ["Hé."],
        "finish_reason": "stop",
    }


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"messages": [TextMessage("Hello")]}, "messages have changed (- recorded, + sent):"),
        ({"messages": [TextMessage("Hello")]}, '-   "text": "Hi"\n  +   "text": "Hello"'),
        ({"messages": [*HI, TextMessage("Hello")]}, '+   "text": "Hello"'),
        ({"tools": []}, "tools have changed"),
        ({"tools": [FunctionContract("sub")]}, '-  "name": "add"'),
        ({"options": ModelOptions(temperature=1)}, '-  "temperature": 0\n  +  "temperature": 1'),
        ({"options": None}, "options have changed"),
    ],
)
def test_a_request_that_differs_fails_with_a_diff(
    tmp_path: Path, asked: dict[str, Any], says: str
) -> None:
    same: dict[str, Any] = {"tools": [ADD], "options": ModelOptions(temperature=0)}
    record(tmp_path, ScriptedModel("A"), **same)
    replaying = session(tmp_path)
    model = replaying.record(ScriptedModel())
    asked = {**same, **asked}
    text = failure(replaying, model, asked.pop("messages", HI), **asked)
    assert " ".join(says.split()) in " ".join(text.split())
    assert f"pytest {TEST} --toolweave-record=rewrite" in text
    assert sum(part in text for part in ("messages have", "tools have", "options have")) == 1


def test_only_the_part_that_differs_is_shown_of_a_long_conversation(tmp_path: Path) -> None:
    long = [TextMessage(f"{number} " + "word\n" * 50) for number in range(300)]
    record(tmp_path, ScriptedModel("A"), [*long, TextMessage("Hi")])
    replaying = session(tmp_path)
    text = failure(replaying, replaying.record(ScriptedModel()), [*long, TextMessage("Ho")])
    assert '"text": "Ho"' in text
    assert len(text) < 3000


def test_a_request_is_compared_with_the_nearest_recording(tmp_path: Path) -> None:
    record(tmp_path, ScriptedModel("A", "B"), HI, [*HI, TextMessage("one"), TextMessage("two")])
    replaying = session(tmp_path)
    changed = [*HI, TextMessage("one"), TextMessage("three")]
    text = failure(replaying, replaying.record(ScriptedModel()), changed)
    assert '"two"' in text
    assert '"three"' in text
    assert '"one"' not in text.replace('   "text": "one"', "")


def test_a_recording_that_is_not_replayed_is_an_error(tmp_path: Path) -> None:
    record(tmp_path, ScriptedModel(*"ABCDEFGH"), *[[TextMessage(f"Q{n}")] for n in range(8)])
    replaying = session(tmp_path)
    asyncio.run(read(replaying.record(ScriptedModel()), [TextMessage("Q1")]))
    with pytest.raises(
        AssertionError, match=r"7 of 8 recorded replies in .* were not replayed"
    ) as e:
        replaying.finish()
    assert "'Q0'" in str(e.value)
    assert "... and 2 more" in str(e.value)


def test_more_requests_than_recorded_are_an_error(tmp_path: Path) -> None:
    record(tmp_path, ScriptedModel("A"))
    for messages, says in ((HI, "more often than when it was"), ([*HI, *HI], "more requests than")):
        replaying = session(tmp_path)
        model = replaying.record(ScriptedModel())
        asyncio.run(read(model))
        assert says in failure(replaying, model, messages)


def test_without_a_recording_the_error_says_how_to_record(tmp_path: Path) -> None:
    replaying = session(tmp_path)
    text = failure(replaying, replaying.record(ScriptedModel("A")))
    assert text.endswith(f"pytest {TEST} --toolweave-record=once")
    session(tmp_path).finish()


def test_another_model_is_an_error(tmp_path: Path) -> None:
    record(tmp_path, ScriptedModel("A", name="old"))
    replaying = session(tmp_path)
    text = failure(replaying, replaying.record(ScriptedModel(name="new")))
    assert "no recordings of the model 'new', only of 'old'" in text


def test_concurrent_requests_are_found_by_content(tmp_path: Path) -> None:
    async def echo(messages: Sequence[Any]) -> str:
        await asyncio.sleep(0.01 * (messages[-1].text == "2"))
        return f"answer {messages[-1].text}"

    async def ask(recording: RecordingSession, order: Sequence[int]) -> list[str]:
        model = recording.record(echo)
        replies = await asyncio.gather(*[complete(model, str(number)) for number in order])
        recording.finish()
        return [reply.messages[0].text for reply in replies]  # type: ignore[union-attr]

    asyncio.run(ask(session(tmp_path, "once"), range(5)))
    assert [each.request.messages[0]["text"] for each in load(file_of(tmp_path))] == list("01234")
    found = asyncio.run(ask(session(tmp_path), [3, 1, 4, 0, 2]))
    assert found == [f"answer {number}" for number in (3, 1, 4, 0, 2)]


def test_several_models_have_their_own_recordings(tmp_path: Path) -> None:
    for mode in ("once", "none"):
        recording = session(tmp_path, mode)
        one = recording.record(ScriptedModel("A", name="one"))
        two = recording.record(ScriptedModel("B", name="one"), name="two")
        assert asyncio.run(read(two)).text == "B"
        assert asyncio.run(read(one)).text == "A"
        assert (one.name, two.name) == ("one", "one")  # type: ignore[attr-defined]
        recording.finish()


def test_a_function_that_creates_the_model_is_called_to_record_only(tmp_path: Path) -> None:
    created: list[ScriptedModel] = []

    def create() -> ScriptedModel:
        created.append(ScriptedModel("A", name="m", native_tools=True))
        return created[-1]

    record(tmp_path, create)
    replaying = session(tmp_path)
    model: Any = replaying.record(create)
    assert asyncio.run(read(model)).text == "A"
    assert (model.name, model.provider, model.native_tools) == ("m", "toolweave", True)
    assert len(created) == 1


def test_a_reply_that_is_left_is_replayed_as_far_as_it_was_read(tmp_path: Path) -> None:
    async def begin(model: Any) -> str:
        async with closing(model.stream(HI)) as updates:
            return (await anext(updates)).text

    recording = session(tmp_path, "once")
    assert asyncio.run(begin(recording.record(ScriptedModel(["A", "B"])))) == "A"
    recording.finish()
    replaying = session(tmp_path)
    assert asyncio.run(begin(replaying.record(ScriptedModel()))) == "A"
    replaying.finish()
    replaying = session(tmp_path)
    text = failure(replaying, replaying.record(ScriptedModel()))
    assert "to its end that was recorded only as far as it was read" in text


def test_texts_that_differ_from_run_to_run_are_normalized(tmp_path: Path) -> None:
    for mode, day in (("once", "Monday"), ("none", "Tuesday")):
        recording = session(tmp_path, mode)
        model = recording.record(
            ScriptedModel("A"),
            normalize=lambda text: text.replace(day, "<day>"),  # noqa: B023
        )
        assert asyncio.run(read(model, [TextMessage(f"It is {day}.")])).text == "A"
        recording.finish()


def test_secrets_are_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-very-secret-0123456789"
    extra: dict[str, Any] = {
        "extra_headers": {"X-Tenant": key},
        "api_key": key,
        "nested": [{"Authorization": key, "access_token": key, "max_tokens": 5}],
        "client": object(),
    }
    record(tmp_path, ScriptedModel("A"), options=ModelOptions(extra=extra))
    assert key not in file_of(tmp_path).read_text("utf-8")
    [recording] = load(file_of(tmp_path))
    assert recording.request.options["extra"]["nested"][0]["max_tokens"] == 5
    monkeypatch.setenv("SOME_API_KEY", key)
    before = file_of(tmp_path).read_bytes()
    with pytest.raises(AssertionError, match="the environment variable SOME_API_KEY; remove it"):
        record(tmp_path, ScriptedModel("A"), [TextMessage(f"My key is {key}.")])
    assert file_of(tmp_path).read_bytes() == before


HEADER = json.dumps({"format": "toolweave recording", "version": 1})
ENTRY: dict[str, Any] = {
    "model": "m", "identity": {}, "messages": [], "tools": [], "options": {}, "deltas": ["A"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "must have a header, got an empty file"),
        (b"\xff", "must be UTF-8"),
        (b"{", "line 1: must be valid JSON"),
        (b"[]", "line 1: must be an object, got list"),
        (b"{}", "line 1: must be the header of a toolweave recording"),
        (HEADER.replace("1", "2").encode(), "line 1: version must be 1, got '2'"),
        (f'{HEADER}\n{{"model": "m", "mess'.encode(), "line 2: must be valid JSON"),
        (f"{HEADER}\n{'[' * 200_000}".encode(), "line 2: must be valid JSON"),
        (f"{HEADER}\n{'1' * 5000}".encode(), "line 2: must be"),
        *[
            (f"{HEADER}\n\n{json.dumps({**ENTRY, **changed})}".encode(), f"line 3: {says}")
            for changed, says in (
                ({"model": 1}, "`model` must be a text"),
                ({"messages": "x"}, "`messages` must be a list"),
                ({"options": None}, "`options` must be an object"),
                ({"deltas": 3}, "`deltas` must be a list"),
                ({"deltas": [{"tool_call": "x"}]}, "delta 0 must be"),
                ({"deltas": [{"usage": "x"}]}, "delta 0 must be"),
                ({"deltas": [{"usage": {"input_tokens": -1}}]}, "can't convert negative int"),
                ({"deltas": [{"usage": {"odd": 1}}]}, ""),
                ({"finish_reason": "odd"}, ""),
                ({"error": "x"}, ""),
            )
        ],
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused_with_its_place(
    tmp_path: Path, content: bytes, says: str
) -> None:
    file = file_of(tmp_path)
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    with pytest.raises(AssertionError) as raised:
        session(tmp_path)
    assert says in str(raised.value)
    assert str(file) in str(raised.value)
    assert len(str(raised.value)) < 1000
    assert "--toolweave-record=rewrite" in str(raised.value)
    record(tmp_path, ScriptedModel("A"))


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    file = file_of(tmp_path)
    file.parent.mkdir(parents=True)
    with file.open("wb") as opened:
        opened.truncate(MAX_BYTES + 1)
    with pytest.raises(AssertionError, match="must have at most 67,108,864 bytes, got 67,108,865"):
        session(tmp_path)


def test_every_test_has_a_file_of_its_own(tmp_path: Path) -> None:
    names = [
        "test_a", "TestA::test_a", "test_a[oslo-1]", "test_a[Oslo-1]", "test_a[a/b]", "test_a[a b]",
        "test_a[a::b]", "test_a[a.b]", "test_a[../x]", "test_a[" + "x" * 300 + "]",
        "test_a[" + "x" * 299 + "y]", "test_a[\\u20ac]",
    ]  # fmt: skip
    for name in names:
        recording = session(tmp_path, "once", f"test_trip.py::{name}")
        asyncio.run(read(recording.record(ScriptedModel(name))))
        recording.finish()
    files = sorted(path.name for path in (tmp_path / "recordings" / "test_trip").iterdir())
    assert len({name.lower() for name in files}) == len(names)
    assert {"test_a.jsonl", "TestA.test_a.jsonl", "test_a[oslo-1].jsonl"} <= set(files)
    assert max(map(len, files)) < 120


def test_a_test_without_requests_has_no_file(tmp_path: Path) -> None:
    record(tmp_path, ScriptedModel("A"))
    session(tmp_path, "rewrite").finish()
    assert not file_of(tmp_path).exists()


def test_native_calls_are_replayed_to_an_agent(tmp_path: Path) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    scripted = ScriptedModel([ToolCall("c", "add", {"a": 1, "b": 2})], "3.", native_tools=True)
    for mode in ("once", "none"):
        recording = session(tmp_path, mode)
        assert Agent(recording.record(scripted), [add]).run_sync("1 + 2?").text == "3."
        recording.finish()
    assert len(scripted.requests) == 2


@pytest.mark.parametrize("options", [{"name": ""}, {"name": 1}, {"normalize": "x"}])
def test_invalid_options_are_refused(tmp_path: Path, options: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=next(iter(options))):
        session(tmp_path).record(ScriptedModel(), **options)


def test_a_created_model_needs_a_name_among_several(tmp_path: Path) -> None:
    recording = session(tmp_path, "once")
    for name in "ab":
        asyncio.run(read(recording.record(ScriptedModel("A", name=name))))
    recording.finish()
    with pytest.raises(ValueError, match="name must be given for a model that is created"):
        session(tmp_path).record(lambda: ScriptedModel())
