"""Recorded replies: recording, loading and replay."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave
from servers.model_answers import read
from toolweave import (
    FinishUpdate,
    MessageError,
    ReasoningDelta,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallMessage,
    ToolCallUpdate,
    ToolResult,
    ToolResultMessage,
    Update,
    UsageUpdate,
)
from toolweave._demo.recordings import recordings
from toolweave.exceptions import ModelError
from toolweave.models import as_messages, complete
from toolweave.models.recording import RecordedReply, load, save
from toolweave.models.replay import ReplayModel
from toolweave.testing import ScriptedModel, StreamRecorder

STREAMS = Path(toolweave.__file__).parent / "_demo" / "data" / "recordings"
HI = (TextMessage("Hi"),)


def reply(text: str, *messages: Any) -> RecordedReply:
    asked = tuple(as_messages(list(messages or HI)))
    return RecordedReply(asked, (TextDelta(text), FinishUpdate("stop")))


def reply_text(model: ReplayModel, *messages: Any) -> str:
    return asyncio.run(read(model, as_messages(list(messages)))).text


texts = st.text('ab"<é🌍\n', min_size=1, max_size=5)
some = st.none() | texts
pieces: st.SearchStrategy[Update] = st.one_of(
    st.builds(TextDelta, texts),
    st.builds(ReasoningDelta, texts),
    st.builds(UsageUpdate, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
    st.builds(ToolCallUpdate, some, st.none() | st.integers(0, 3), some, some),
)
ends = st.sampled_from(["stop", "length", "tool_calls", "content_filter", "missing"])
errors = st.builds(ModelError, texts, some, st.none() | st.integers(400, 599))


@given(st.lists(pieces, max_size=6), ends | errors)
def test_what_is_recorded_is_replayed_to_the_piece(
    tmp_path_factory: pytest.TempPathFactory, came: list[Update], end: Any
) -> None:
    script: list[Any] = [*came, end if isinstance(end, ModelError) else FinishUpdate(end)]
    recorder = StreamRecorder(ScriptedModel(script))
    first = asyncio.run(read(recorder, HI))
    file = tmp_path_factory.getbasetemp() / "replies.json"
    recorder.save(file)
    again = asyncio.run(read(ReplayModel(file), HI))
    assert again.updates == first.updates == script[: len(first.updates)]
    assert isinstance(first.error, ModelError) is isinstance(end, ModelError)
    for name in ("args", "provider", "status"):
        assert getattr(again.error, name, None) == getattr(first.error, name, None)


def test_a_recorder_passes_for_the_model_that_answers() -> None:
    recorder = StreamRecorder(ScriptedModel(name="m", provider="p", native_tools=True))
    assert (recorder.name, recorder.provider, recorder.native_tools) == ("m", "p", True)

    async def plain(_: Any) -> str:
        return "Hi"

    recorder = StreamRecorder(plain)
    assert (recorder.name, recorder.provider, recorder.native_tools) == ("plain", "unknown", False)


def test_times_are_recorded_from_the_request() -> None:
    clock = iter([10.0, 10.5, 12.0]).__next__
    recorder = StreamRecorder(ScriptedModel(["a", "b"]), clock=clock)
    asyncio.run(read(recorder))
    assert recorder.replies[0].times == (0.5, 2.0)
    assert recorder.replies[0].to_dict()["delta_ms"] == [500, 2000]


def test_a_reply_that_is_not_read_to_its_end_is_not_recorded() -> None:
    recorder = StreamRecorder(ScriptedModel(["a", "b"]))

    async def begin() -> None:
        stream = recorder.stream(HI)
        await anext(stream)
        await stream.aclose()

    asyncio.run(begin())
    assert recorder.replies == []


def test_recordings_of_the_demonstration_are_replayed_by_prompt() -> None:
    model = ReplayModel(STREAMS)
    for recording in recordings():
        came = asyncio.run(read(model, as_messages(recording.prompt)))
        *deltas, last = came.updates
        assert [getattr(delta, "text", None) for delta in deltas] == list(recording.deltas)
        assert last == FinishUpdate(recording.finish_reason)


def test_the_system_prompt_does_not_matter_but_the_rest_does() -> None:
    model = ReplayModel(
        [reply("A", "one"), reply("B", "one", {"role": "assistant", "content": "x"}, "two")]
    )
    system = TextMessage("Be brief.", role="system")
    assert reply_text(model, system, "one") == "A"
    assert reply_text(model, "one", {"role": "assistant", "content": "x"}, system, "two") == "B"


def test_a_conversation_is_the_same_however_calls_and_results_are_held() -> None:
    call, result = ToolCall("c1", "Add", {"a": 1}), ToolResult("c1", "Add", "2")
    model = ReplayModel([reply("2.", "1+1?", ToolAggregateMessage([call], [result]))])
    apart = [ToolCallMessage([call], generation_id="g"), ToolResultMessage([result])]
    assert reply_text(model, "1+1?", *apart) == "2."


def test_replies_to_one_conversation_take_turns() -> None:
    model = ReplayModel([reply("A"), reply("B")])
    assert [reply_text(model, "Hi") for _ in range(3)] == ["A", "B", "A"]


def test_an_unknown_conversation_is_an_error_that_names_similar_ones() -> None:
    model = ReplayModel([reply("A", "What is 15 + 27?"), reply("B", "What is 4 * 4?")])
    with pytest.raises(ModelError) as raised:
        asyncio.run(complete(model, ["Well", "What is 15 + 28?"]))
    assert str(raised.value) == (
        "no reply to this conversation was recorded: user 'What is 15 + 28?' after 1 more; the "
        "nearest of 2 that were: user 'What is 15 + 27?', user 'What is 4 * 4?'"
    )
    assert raised.value.provider == "replay"


def test_in_order_whatever_is_asked_gets_the_next_reply() -> None:
    model = ReplayModel([reply("A", "one"), reply("B", "two")], match="order")
    assert [reply_text(model, "three"), reply_text(model, "four")] == ["A", "B"]
    with pytest.raises(ModelError, match=r"all 2 recorded replies have been given; .*'five'"):
        asyncio.run(complete(model, "five"))


@pytest.mark.parametrize(("speed", "least"), [(1, 0.04), (2, 0.02)])
def test_a_replay_has_the_recorded_delays_if_requested(speed: float, least: float) -> None:
    updates = (TextDelta("a"), TextDelta("b"), FinishUpdate("stop"))
    model = ReplayModel([RecordedReply(HI, updates, (0.01, 0.04))], speed=speed)
    start = time.perf_counter()
    asyncio.run(read(model))
    assert least <= time.perf_counter() - start


def test_a_replay_has_no_delays_by_default() -> None:
    updates = (TextDelta("a"), FinishUpdate("stop"))
    model = ReplayModel([RecordedReply(HI, updates, (3600.0,))], max_pause=3600)
    assert asyncio.run(asyncio.wait_for(read(model), 10)).updates == list(updates)


def test_long_pauses_are_cut_short() -> None:
    updates = (TextDelta("a"), FinishUpdate("stop"))
    model = ReplayModel([RecordedReply(HI, updates, (3600.0,))], speed=1, max_pause=0.01)
    assert asyncio.run(asyncio.wait_for(read(model), 10)).updates == list(updates)


def test_a_replay_has_the_name_of_its_model() -> None:
    assert ReplayModel([reply("A")]).name == "replay"
    assert ReplayModel(STREAMS).name == "qwen2.5-coder-1.5b"
    assert repr(ReplayModel(STREAMS, name="q")) == "ReplayModel(q, 21 replies)"


def test_recordings_are_readable_files(tmp_path: Path) -> None:
    save([reply("é", {"role": "system", "content": "s"}, "Hi")], tmp_path / "one.json")
    assert json.loads((tmp_path / "one.json").read_text("utf-8")) == [
        {
            "model": None,
            "messages": [
                {"kind": "text", "role": "system", "text": "s"},
                {"kind": "text", "role": "user", "text": "Hi"},
            ],
            "deltas": ["é"],
            "delta_ms": [],
            "finish_reason": "stop",
        }
    ]
    assert "é" in (tmp_path / "one.json").read_text("utf-8")
    (tmp_path / "other.json").write_text("{}")
    assert len(load(tmp_path)) == 1


def test_a_prompt_may_have_a_system_prompt() -> None:
    fields = {"prompt": "Hi", "system": "Be brief.", "deltas": []}
    assert RecordedReply.from_dict(fields) == RecordedReply(
        (TextMessage("Be brief.", role="system"), TextMessage("Hi")), (FinishUpdate("missing"),)
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "must be valid JSON"),
        ("[1]", "a recording must be an object, got int"),
        ("{}", "`deltas` must be a list"),
        ('{"deltas": []}', "must have `messages` or a `prompt`"),
        ('{"deltas": [], "messages": [{"kind": 1}]}', "message 0 at /kind"),
        ('{"prompt": "x", "deltas": [1]}', "delta 0 must be a text, or an object"),
        ('{"prompt": "x", "deltas": [{"odd": 1}]}', "delta 0 must be"),
        ('{"prompt": "x", "deltas": [{"tool_call": "x"}]}', "delta 0 must be"),
        ('{"prompt": "x", "deltas": [{"usage": {"input_tokens": -1}}]}', "negative"),
        ('{"prompt": "x", "deltas": ["a"], "delta_ms": [1, 2]}', "`delta_ms` must have 1 entries"),
        ('{"prompt": "x", "deltas": [], "finish_reason": "odd"}', "odd"),
    ],
)
def test_a_file_that_is_no_recording_is_named(tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "broken.json"
    file.write_text(content)
    with pytest.raises(ValueError, match=says) as raised:
        ReplayModel(file)
    assert str(file) in str(raised.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"match": "prompt"}, "match must be 'conversation' or 'order', got 'prompt'"),
        ({"speed": 0}, "speed must be a number above 0, or None, got 0"),
    ],
)
def test_invalid_options_of_a_replay_are_rejected(options: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ReplayModel([reply("A")], **options)


def test_there_must_be_something_to_replay(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one reply; there is none in"):
        ReplayModel(tmp_path)
    with pytest.raises(ValueError, match=r"at least one reply$"):
        ReplayModel([])
    with pytest.raises(FileNotFoundError):
        ReplayModel(tmp_path / "nowhere.json")


def test_an_invalid_conversation_is_an_error() -> None:
    orphan = ToolResultMessage([ToolResult("c1", "Add", "2")])
    with pytest.raises(MessageError):
        asyncio.run(complete(ReplayModel([reply("A")]), [orphan]))
