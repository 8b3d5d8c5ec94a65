"""The server of the playground: the page, the headless conversation, and shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import io
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.parse
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from toolweave import TextMessage, ToolAggregateMessage, ToolCall, ToolRegistry, ToolResult
from toolweave._demo import headless
from toolweave._demo.responder import Settings
from toolweave._demo.scenarios import pace, scenarios
from toolweave._demo.screens import LineKind, PlainScreen
from toolweave._demo.server import ServerError, serving, suggestions
from toolweave.cli import main
from toolweave.client import ChatClient
from toolweave.exceptions import ChatRequestError
from toolweave.store import MessageStore
from toolweave.testing import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FAST = Settings(speed=None)
TEST_TIMEOUT = 60.0


def ask(client: ChatClient, chat_id: str, text: str) -> list[dict[str, Any]]:
    """Post a message and return the events of its turn."""
    return follow(client, chat_id, client.send(chat_id, text).sequence_number - 1)


def follow(client: ChatClient, chat_id: str, after: int) -> list[dict[str, Any]]:
    """Return the events of a chat after one of them, until no run is active."""
    with client.follow(chat_id, after=after) as events:
        return [dict(event) for event in events]


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == kind]


def prompt_of(name: str) -> str:
    return next(scenario.prompt for scenario in scenarios() if scenario.name == name)


def test_the_page_is_served_with_its_suggestions() -> None:
    async def look() -> tuple[str, dict[str, Any]]:
        async with serving(FAST, None) as server:

            def read(path: str) -> str:
                with urllib.request.urlopen(
                    f"{server.url}{path}", timeout=TEST_TIMEOUT
                ) as response:
                    text: str = response.read().decode()
                    return text

            page = await asyncio.to_thread(read, "/")
            return page, json.loads(await asyncio.to_thread(read, "/playground.json"))

    page, settings = asyncio.run(asyncio.wait_for(look(), TEST_TIMEOUT))
    assert "<html" in page.lower()
    assert [each["text"] for each in settings["suggestions"]] == [
        each.prompt for each in scenarios()
    ]
    labels = [each["label"] for each in settings["suggestions"]]
    assert "Broken arguments, repaired (written by hand)" in labels
    assert settings["about"].endswith(f"that the page suggests, {pace(FAST.speed)}")


def test_a_deferred_result_is_resolved_over_http_and_the_chat_continues() -> None:
    def talk(url: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        with ChatClient(url) as client:
            chat_id = client.start()
            before = ask(client, chat_id, prompt_of("deferred"))
            [waits] = [each for each in of(before, "tool_state") if each["state"] == "deferred"]
            assert client.answer(chat_id, waits["key"], "On Tuesday.") == "resolved"
            # The answer starts a new run.
            return before, follow(client, chat_id, before[-1]["sequenceNumber"])

    async def both() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        async with serving(FAST, None) as server:
            return await asyncio.to_thread(talk, server.url)

    before, after = asyncio.run(asyncio.wait_for(both(), TEST_TIMEOUT))
    assert before[-1]["stopReason"] == "deferred"
    assert after[-1]["stopReason"] == "completed"
    text = "".join(event["delta"] for event in of(after, "text"))
    assert "has come: On Tuesday." in text


def test_results_of_scenes_are_emitted_once_and_with_the_reply_of_their_call() -> None:
    async def look() -> list[dict[str, Any]]:
        async with serving(FAST, None) as server:

            def talk() -> list[dict[str, Any]]:
                with ChatClient(server.url) as client:
                    return ask(client, client.start(), prompt_of("scenes"))

            return await asyncio.to_thread(talk)

    events = asyncio.run(look())
    calls = [
        (event["generationId"], call["toolCallId"])
        for event in of(events, "tools_call")
        for call in event["toolCalls"]
    ]
    results = [
        (event["generationId"], event["toolCallId"])
        for event in of(events, "tool_result")
        if event["done"]
    ]
    assert results == calls
    assert len(calls) == 3


def test_a_live_model_answers_with_the_users_tools() -> None:
    registry = ToolRegistry.loads(
        '<Tools><Movie><Tool name="a"><example>A?</example><prompt>a</prompt>'
        '<returnStruc>{"score": "integer between 0 and 100"}</returnStruc></Tool>'
        '<Tool name="b"><prompt>b</prompt>'
        '<returnStruc>{"score": "integer between 0 and 100"}</returnStruc></Tool></Movie></Tools>'
    )
    own = Settings(registry=registry)
    model = ScriptedModel('{"a": {"score": 90}, "b": {"score": 1}}', "Hello.", name="mine")
    assert [(each.label, each.text) for each in suggestions(own, model)] == [("a of Movie", "A?")]
    without = [each.label for each in suggestions(own, None)]
    assert without[0] == "a of Movie"
    assert len(without) == len(scenarios())
    live = [each.label for each in suggestions(Settings(), model)]
    assert live[:2] == ["A call", "Three calls, answered out of order"]
    assert not any("written by hand" in label for label in live)

    async def talk() -> list[dict[str, Any]]:
        async with serving(own, model) as server:

            def converse() -> list[dict[str, Any]]:
                with ChatClient(server.url) as client:
                    return ask(client, client.start(), "Hi!")

            return await asyncio.to_thread(converse)

    events = asyncio.run(asyncio.wait_for(talk(), TEST_TIMEOUT))
    [selection] = of(events, "selection")
    assert selection["tool"] == "a"
    assert "".join(event["delta"] for event in of(events, "raw")) == "Hello."


def test_without_a_terminal_one_conversation_is_played_and_checked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    for name in headless.SCENARIOS_PLAYED:
        assert f"    user {prompt_of(name)}" in out
    assert "the connection is dropped; the next resumes after event " in out
    assert "answered over HTTP: {'approved': True} (resolved)" in out
    assert "answered over HTTP: {'result': 'small'} (resolved)" in out
    assert out.splitlines()[-1].endswith("as stored")
    titles = [line for line in out.splitlines() if line.startswith("== ")]
    assert f"replies {pace(headless.SPEED)}" in titles[0]
    [choosing] = [line for line in titles if "registry" in line]
    assert "the scores are written by hand" in choosing
    # Events read before the disconnect are not sent again.
    assert out.count("    call ReadStation") >= 3
    assert out.count('{"city": "Oslo"}') == 1


def test_a_failed_conversation_is_reported_with_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_: object) -> None:
        raise ChatRequestError("the server hung up", None, "unreachable")

    monkeypatch.setattr(headless.HeadlessConversation, "run", run)
    assert main(["demo"]) == 1
    assert "failed the server hung up" in capsys.readouterr().out


def test_received_events_are_compared_with_the_store() -> None:
    call = ToolCall("c", "Add", {})
    result = ToolResult("c", "Add", "3")
    own = {"generationId": "g", "role": "assistant"}

    async def checked() -> tuple[list[str], ...]:
        async with MessageStore("sqlite://") as store:
            chat = await store.create_chat()
            drafts: list[Any] = [
                {"kind": "text", "messageId": "g.0", "delta": "Hi", "done": True, **own},
                {
                    "kind": "tools_aggregate",
                    "messageId": "g.calls",
                    "done": True,
                    "toolCalls": [{"toolCallId": "c", "name": "Add", "index": 0, "arguments": {}}],
                    "toolResults": [
                        {"toolCallId": "c", "name": "Add", "result": "3", "isError": False}
                    ],
                    **own,
                },
            ]
            written = await store.write(
                chat.chat_id,
                events=drafts,
                messages=[
                    TextMessage("Hi", role="assistant", id="g.0", generation_id="g"),
                    ToolAggregateMessage([call], [result], id="g.calls", generation_id="g"),
                ],
            )
            events = [dict(event) for event in written.events]
            other = [{**events[0], "delta": "Ho"}, events[1]]
            return (
                await headless.check(store, chat.chat_id, events),
                await headless.check(store, chat.chat_id, events[:1]),
                await headless.check(store, chat.chat_id, events[1:]),
                await headless.check(store, chat.chat_id, other),
            )

    right, short, late, wrong = asyncio.run(checked())
    assert right == []
    assert short == ["the 1 received events differ from the 2 in the store"]
    assert late[0].startswith("the sequence numbers must be 1, 2, 3, ..., got ")
    assert any("the text g.0 differs from the received one" in each for each in wrong)


def test_a_server_that_refuses_is_reported() -> None:
    async def talk() -> None:
        async with serving(FAST, None) as server:
            with ChatClient(server.url) as client:
                with pytest.raises(ChatRequestError, match="404"):
                    await asyncio.to_thread(client.stop, "nothing", "run")
                with pytest.raises(ChatRequestError, match="404"):
                    await asyncio.to_thread(follow, client, "nothing", 0)

    asyncio.run(asyncio.wait_for(talk(), TEST_TIMEOUT))


def test_requests_with_another_host_name_are_rejected() -> None:
    async def look() -> tuple[int, int]:
        async with serving(FAST, None) as server:

            def status(host: str) -> int:
                address = urllib.parse.urlsplit(server.url).netloc
                connection = http.client.HTTPConnection(address, timeout=TEST_TIMEOUT)
                with contextlib.closing(connection):
                    connection.request("GET", "/healthz", headers={"Host": host})
                    return connection.getresponse().status

            return await asyncio.to_thread(status, "localhost"), await asyncio.to_thread(
                status, "evil.example"
            )

    assert asyncio.run(asyncio.wait_for(look(), TEST_TIMEOUT)) == (200, 400)


def test_a_port_in_use_and_an_invalid_store_are_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["demo", "--port", str(port)]) == 2
    assert f"cannot listen at 127.0.0.1, port {port}: " in capsys.readouterr().err
    assert main(["demo", "--port", "0", "--store", "nonsense"]) == 2
    assert "cannot open the store: " in capsys.readouterr().err

    async def twice() -> None:
        async with serving(Settings(host="no.such.host.invalid"), None):
            pass

    with pytest.raises(ServerError, match=r"cannot listen at no\.such\.host\.invalid"):
        asyncio.run(twice())


@contextmanager
def server(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `toolweave demo` as a process, and yield it with its URL."""
    command = [sys.executable, "-m", "toolweave", "demo", "--port", "0", "--no-browser", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("toolweave demo: http://127.0.0.1:"), line
            yield process, line.split()[-1].rstrip("/")
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another thing there")
def test_ctrl_c_ends_the_server_cleanly_and_a_store_is_kept(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'chats.db'}"
    with server("--store", url, "--speed", "1000") as (process, address):
        with ChatClient(address) as client:
            chat_id = client.start()
            events = ask(client, chat_id, prompt_of("call"))
        assert events[-1]["stopReason"] == "completed"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TEST_TIMEOUT)
        assert process.returncode == 0, err
        assert "Traceback" not in err
        assert out.endswith("stopped\n")
    with server("--store", url) as (_, address), ChatClient(address) as client:
        assert follow(client, chat_id, 0) == events


def test_without_the_extras_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [*sys.modules]:
        if name.startswith(("toolweave._demo.server", "uvicorn")):
            monkeypatch.delitem(sys.modules, name)
    import toolweave._demo

    monkeypatch.delattr(toolweave._demo, "server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["demo"]) == 2
    assert "pip install 'toolweave[demo]'" in capsys.readouterr().err


def test_events_are_shown_as_lines() -> None:
    out = io.StringIO()
    view = headless.View(PlainScreen(out))
    call = {"toolCallId": "c", "name": "Add", "index": 0, "arguments": {"a": 1}}
    ranking = [{"tool": "a", "score": 50}, {"tool": "b", "error": "no reply"}, {"tool": "c"}]
    for event in (
        {"kind": "run", "status": "started"},
        {"kind": "reasoning", "delta": "hm", "done": True},
        {"kind": "text", "delta": "one\n\ntw"},
        {"kind": "text", "delta": "o"},
        {
            "kind": "tools_call",
            "toolCalls": [{**call, "repairs": [{"kind": "type", "path": "/a"}]}],
        },
        {"kind": "tool_state", "toolCallId": "c", "state": "awaiting_approval"},
        {"kind": "tool_state", "toolCallId": "c", "state": "denied", "reason": "too much"},
        {"kind": "tool_result", "toolCallId": "c", "result": "1\x1b[31m", "isError": False}
        | {"done": False},
        {"kind": "tool_result", "toolCallId": "c", "result": "x" * 500, "isError": False}
        | {"done": True},
        {"kind": "selection", "ranking": ranking, "tool": "a"},
        {"kind": "error", "message": "oh"},
        {"kind": "newer", "anything": 1},
        {"kind": "run", "status": "finished", "stopReason": "error", "error": "broken"},
    ):
        view.show_event(event)
    view.write(LineKind.END, "the end")
    assert out.getvalue().splitlines() == [
        "  thinks hm",
        "    text one",
        "    text two",
        '    call Add 1  {"a": 1}',
        "repaired Add 1  type /a",
        "    note Add 1 is denied: too much",
        "   works Add 1  1\\x1b[31m",
        f"  result Add 1  {'x' * 199}…",
        f"    note {'#' * 10:>20}    50  a",
        f"    note {'':>20} no reply  b",
        f"    note {'':>20}     -  c",
        "    note selected: a",
        "  failed oh",
        "    note the run has ended, error: broken",
        "",
        "the end",
    ]
