"""`toolweave import`: transcripts as chats of the store, or as messages."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolweave as tw
from effort import effort
from toolweave.agent import Agent
from toolweave.cli import main
from toolweave.cli._transcript import mark_replies, merge_results
from toolweave.store import History, MessageStore
from toolweave.testing import ScriptedModel

WEATHER = {"name": "GetWeather", "parameters": {"type": "object", "required": ["city"]}}
NATURAL = [
    {"role": "system", "content": "Use <GetWeather>{...}</GetWeather>."},
    {"role": "user", "content": "Is it warm in Oslo? <GetWeather>{}</GetWeather>"},
    {"role": "assistant", "content": 'I look.\n<GetWeather>{"city": "Oslo"}</GetWeather>'},
    {"role": "user", "content": '<tool_response name="GetWeather">8 degrees</tool_response>'},
    {"role": "assistant", "content": "No: 8 degrees."},
]
MARKDOWN = (
    "".join(f"## {each['role'].title()}\n\n{each['content']}\n\n" for each in NATURAL)
).rstrip()
OPENAI = [
    {"role": "user", "content": "Oslo?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "GetWeather", "arguments": '{"city": "Oslo"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "8 degrees"},
    {"role": "assistant", "content": "Eight, <GetWeather>{}</GetWeather>."},
]
ANTHROPIC = {
    "system": "Be kind.",
    "messages": [
        {"role": "user", "content": "Oslo?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "GetWeather", "input": {"city": "Oslo"}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "8 degrees"}],
        },
    ],
}
KINDS = ["text", "text", "text", "tools_aggregate", "text"]


@pytest.fixture
def tools(tmp_path: Path) -> str:
    return write_json(tmp_path / "tools.json", [WEATHER])


def write_json(file: Path, content: object) -> str:
    text = content if isinstance(content, str) else json.dumps(content)
    file.write_text(text, encoding="utf-8", newline="")
    return str(file)


def printed(capsys: pytest.CaptureFixture[str]) -> list[tw.Message]:
    return [tw.message_from_json(line) for line in capsys.readouterr().out.splitlines()]


def loaded(url: str, chat_id: str) -> History | None:
    async def load() -> History | None:
        async with MessageStore(url) as store:
            return await store.load(chat_id) if await store.chat(chat_id) else None

    return asyncio.run(load())


@pytest.mark.parametrize(
    "content",
    [
        NATURAL,
        {"model": "m", "messages": NATURAL},
        "\n".join(json.dumps(each) for each in NATURAL) + "\n\n",
        MARKDOWN,
        MARKDOWN.replace("\n", "\r\n"),
        "\ufeff" + MARKDOWN.replace("## User", "# user:"),
    ],
    ids=["list", "request", "lines", "markdown", "crlf", "bom"],
)
def test_natural_text_is_read_in_every_layout(
    content: object, tools: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_json(tmp_path / "transcript", content)
    assert main(["import", file, "--tools", tools, "--json"]) == 0
    history = printed(capsys)
    assert [message.kind.value for message in history] == KINDS
    system, asked, text, exchange, answer = history
    assert isinstance(exchange, tw.ToolAggregateMessage)
    assert [call.arguments for call in exchange.tool_calls] == [{"city": "Oslo"}]
    assert [result.result for result in exchange.tool_results] == ["8 degrees"]
    assert [m.text for m in (system, asked, text, answer) if isinstance(m, tw.TextMessage)] == [
        NATURAL[0]["content"],
        NATURAL[1]["content"],
        "I look.",
        "No: 8 degrees.",
    ]
    # Messages that were parsed from one reply have one generation id.
    assert text.generation_id == exchange.generation_id != answer.generation_id


def test_one_reply_without_headings_is_of_the_assistant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_json(tmp_path / "reply.txt", 'Hm.\n<tool_call name="f">{"a": 1}</tool_call>\n')
    assert main(["import", file]) == 0
    text, called = printed(capsys)
    assert isinstance(text, tw.TextMessage)
    assert text.text == "Hm."
    assert isinstance(called, tw.ToolCallMessage)
    assert called.tool_calls[0].arguments == {"a": 1}


@pytest.mark.parametrize("form", ["auto", "openai"])
def test_openai_messages_are_detected_by_their_shape(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_json(tmp_path / "openai.json", OPENAI)
    assert main(["import", file, "--format", form]) == 0
    assert printed(capsys) == tw.from_openai(OPENAI)


@pytest.mark.parametrize("form", ["auto", "anthropic"])
def test_anthropic_messages_are_detected_by_their_shape(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_json(tmp_path / "anthropic.json", ANTHROPIC)
    assert main(["import", file, "--format", form]) == 0
    messages: Any = ANTHROPIC["messages"]
    assert printed(capsys) == tw.from_anthropic(messages, system="Be kind.")


def test_what_is_printed_can_be_imported_again(
    tools: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_json(tmp_path / "transcript.json", NATURAL)
    assert main(["import", file, "--tools", tools]) == 0
    lines = capsys.readouterr().out
    again = write_json(tmp_path / "again.jsonl", lines)
    assert main(["import", again, "--tools", tools]) == 0
    assert capsys.readouterr().out == lines


def test_an_imported_chat_can_be_continued(
    tools: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_json(tmp_path / "transcript.md", MARKDOWN)
    url = f"sqlite:///{tmp_path / 'chats.db'}"
    command = ["import", file, "--tools", tools, "--store", url, "--chat", "oslo"]
    assert main(command) == 0
    assert capsys.readouterr().out == "imported 5 messages as chat oslo\n"

    async def go_on() -> None:
        model = ScriptedModel("Bergen is warmer.")
        async with MessageStore(url) as store:
            history = await store.load("oslo")
            assert history.problems == ()
            assert [message.kind.value for message in history.messages] == KINDS
            asked = tw.TextMessage("And Bergen?", role="user")
            result = await Agent(model).run([*history.messages, asked])
            assert result.text == "Bergen is warmer."
            talk = [m for m in result.messages if isinstance(m, tw.TextMessage)]
            await store.write("oslo", messages=[asked, *talk])
            again = await store.load("oslo")
            assert [getattr(message, "text", "") for message in again.messages][-2:] == [
                "And Bergen?",
                "Bergen is warmer.",
            ]
        [request] = model.requests
        assert "8 degrees" in str(request.messages)

    asyncio.run(go_on())

    # An existing chat does not change.
    assert main(command) == 2
    assert "the chat 'oslo' already exists" in capsys.readouterr().err
    history = loaded(url, "oslo")
    assert history is not None
    assert len(history.messages) > len(KINDS)


def test_without_an_id_the_chat_gets_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_json(tmp_path / "openai.json", OPENAI)
    url = f"sqlite:///{tmp_path / 'chats.db'}"
    assert main(["import", file, "--store", url]) == 0
    output = capsys.readouterr().out
    assert output.startswith("imported 3 messages as chat ")
    history = loaded(url, output.split()[-1])
    assert history is not None
    assert [message.kind.value for message in history.messages] == [
        "text", "tools_aggregate", "text",
    ]  # fmt: skip


def test_messages_of_another_chat_are_imported_into_this_chat(tmp_path: Path) -> None:
    imported = tw.TextMessage("Hello.", id="m1", chat_id="there", run_id="r1")
    file = write_json(tmp_path / "message.jsonl", imported.to_json())
    url = f"sqlite:///{tmp_path / 'chats.db'}"
    for chat_id in ("here", "there"):
        assert main(["import", file, "--store", url, "--chat", chat_id]) == 0
        history = loaded(url, chat_id)
        assert history is not None
        [message] = history.messages
        assert (message.id, message.run_id) == ("m1", None)


def test_a_failed_import_stores_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    last = {"kind": "text", "role": "user", "text": "x", "messageId": "m" * 256}
    file = write_json(tmp_path / "long.json", [*NATURAL, last])
    url = f"sqlite:///{tmp_path / 'chats.db'}"
    assert main(["import", file, "--store", url, "--chat", "c"]) == 2
    assert f"toolweave import: {file}: the id of a message must be 1 to" in capsys.readouterr().err
    assert loaded(url, "c") is None

    async def fail() -> None:
        async with MessageStore(url) as store:
            twice = [tw.TextMessage("a"), tw.TextMessage("b", chat_id="another")]
            with pytest.raises(tw.MessageError, match="chat_id of a message"):
                await store.import_chat(twice, "c")
            assert await store.chat("c") is None

    asyncio.run(fail())


@pytest.mark.parametrize(
    ("content", "form", "says"),
    [
        ("[]", "auto", "has no messages"),
        ("", "auto", "has no messages"),
        ("## user\n\n", "auto", "has no messages"),
        ("{}", "auto", 'the member "messages"'),
        ('{"messages": 7}', "auto", "expected a list of messages"),
        ("[{]", "auto", "is not JSON: "),
        ("[" * 100_000, "auto", "is not JSON: "),
        ('{"role": "user", "content": "a"}\n\n{"role": "user"', "auto", "line 3 is not JSON"),
        ('{"messages": []}\n{"messages": []}', "auto", "line 1 is a whole conversation"),
        ('[{"role": "user", "content": "a"}, 7]', "auto", "message 1"),
        ('[{"role": "user", "content": "a"}, {"role": "user"}]', "auto", "message 1 at /content"),
        ('[{"role": "owner", "content": "a"}]', "auto", 'expected "system", "developer", "user"'),
        ('[{"kind": "text", "role": "user"}]', "natural", "message 0 at /text is missing"),
        ('[{"role": "tool", "content": "a"}]', "openai", "message 0 at /tool_call_id"),
        ('[{"role": "system", "content": "a"}]', "anthropic", 'expected "user" or "assistant"'),
        ("Hello.", "openai", "is not JSON; a transcript in the format openai"),
        ("Hello.\n\n# User\nHi.", "auto", "line 1: text above the first heading (line 3)"),
    ],
)
def test_an_invalid_transcript_is_reported_with_its_position(
    content: str, form: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_json(tmp_path / "bad", content)
    database = tmp_path / "chats.db"
    store = ["--store", f"sqlite:///{database}", "--chat", "c"]
    assert main(["import", file, "--format", form, *store]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"toolweave import: {file}")
    assert says in message
    assert not database.exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--chat", "c"], "--chat ID requires --store URL"),
        (["--store", "mysql://x/y"], "SQLite or PostgreSQL"),
        (["--store", "nonsense"], "the URL of the store must be like"),
        (["--store", "sqlite://", "--chat", "c" * 256], "--chat ID must be 1 to 255"),
        (["--store", "sqlite:////no/such/folder/chats.db"], "unable to open"),
        (["--tools", "no/such/file"], "cannot read no/such/file"),
    ],
)
def test_invalid_options_are_reported(
    options: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_json(tmp_path / "transcript.json", NATURAL)
    assert main(["import", file, *options]) == 2
    assert says in capsys.readouterr().err


def test_store_and_json_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["import", "f", "--json", "--store", "sqlite://"])
    assert stop.value.code == 2
    assert "not allowed with" in capsys.readouterr().err


turns = st.lists(
    st.tuples(
        st.sampled_from(["system", "user", "assistant"]),
        st.sampled_from(
            [
                "<f>{}</f>", "<f>{}</f><f>{}</f>", 'A\n<tool_call name="f">{}</tool_call>\nB',
                '<tool_response name="f">x</tool_response>', "```\n<f>{}</f>", "text", "",
            ]
        ),
    ),
    max_size=6,
)  # fmt: skip


@settings(max_examples=effort(100))
@given(turns)
def test_merging_preserves_all_messages(turns: list[tuple[str, str]]) -> None:
    transcript: list[tw.Message] = [tw.TextMessage(text, role=role) for role, text in turns]
    history = tw.parse_history(list(mark_replies(transcript)), ["f"])
    together = merge_results(history)
    for name in ("text", "tool_calls", "tool_results"):
        assert list(members(together, name)) == list(members(history, name))
    # Every result belongs to a call.
    known = {call.id for call in members(together, "tool_calls")}
    wrote = any(role == "assistant" and "<tool_response" in text for role, text in turns)
    assert wrote or {r.tool_call_id for r in members(together, "tool_results")} <= known


def members(history: list[tw.Message], name: str) -> list[Any]:
    found: list[Any] = []
    for message in history:
        value = getattr(message, name, ())
        found += [value] if isinstance(value, str) else value
    return found
