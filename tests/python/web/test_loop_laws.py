"""No request blocks the event loop for long, whatever it sends or asks for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from chat_servers import new_chat, on_a_server, say, serve, serve_agent
from loop_watchdog import Watchdog, many
from toolweave import Agent, Message, ToolCall
from toolweave.store import MessageStore
from toolweave.web import AgentResponder, WebLimits, chat_app

JSON = {"content-type": "application/json"}
LIMITS = WebLimits(batch=0.005, shutdown_grace=0.0, requests=None)
# Bodies are near both limits: many values of medium length rather than a few long ones.
VALUES = many(LIMITS.max_body_values) - 1000
BYTES = many(LIMITS.max_transcript_bytes) - 1000


async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
    return "Yes."


def use_chat() -> dict[str, Any]:
    number = VALUES // 12
    parts = [{"type": "text", "text": "é" * ((BYTES // number - 80) // 6)}]
    messages = [{"id": f"m{each}", "role": "user", "parts": parts} for each in range(number)]
    return {"id": "c", "messages": messages}


def use_chat_of_tools() -> dict[str, Any]:
    number = VALUES // 14
    part = {
        "type": "dynamic-tool",
        "toolName": "F",
        "state": "output-available",
        "output": "x" * 40,
    }
    parts = [{**part, "toolCallId": f"c{each}", "input": {}} for each in range(number)]
    messages = {"role": "user", "parts": [{"type": "text", "text": "Go on."}]}
    return {
        "id": "c",
        "messages": [{"id": "a", "role": "assistant", "parts": parts}, {**messages, "id": "b"}],
    }


def ag_ui() -> dict[str, Any]:
    number = VALUES // 8
    text = "é" * ((BYTES // number - 60) // 6)
    messages = [{"id": f"m{each}", "role": "user", "content": text} for each in range(number)]
    known = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    return {"threadId": "t", "runId": "r", "messages": messages, **known}


def ag_ui_of_tools() -> dict[str, Any]:
    number = VALUES // 20
    call = {"type": "function", "function": {"name": "F", "arguments": "{}"}}
    messages = [
        {"id": f"m{each}", "role": "assistant", "toolCalls": [{**call, "id": f"c{each}"}]}
        for each in range(number)
    ]
    last = {"id": "last", "role": "user", "content": "Go on."}
    known = {"tools": [], "context": [], "state": {"a": [{}] * 1000}, "forwardedProps": {}}
    return {"threadId": "t", "runId": "r", "messages": [*messages, last], **known}


TRANSCRIPTS = {
    "useChat": ("/ai-sdk/chat", use_chat()),
    "useChat with tools": ("/ai-sdk/chat", use_chat_of_tools()),
    "AG-UI": ("/ag-ui", ag_ui()),
    "AG-UI with tools": ("/ag-ui", ag_ui_of_tools()),
}


@pytest.mark.parametrize(("path", "body"), TRANSCRIPTS.values(), ids=list(TRANSCRIPTS))
@on_a_server
async def test_a_transcript(
    tmp_path: Path, loop_watchdog: Watchdog, path: str, body: Mapping[str, Any]
) -> None:
    content = json.dumps(body).encode()
    loop_watchdog.input(len(content))
    async with serve_agent(tmp_path, Agent(model), limits=LIMITS) as client:
        answer = await client.post(path, content=content, headers=JSON)
        assert answer.status_code == 200, answer.text[:500]
        assert "Yes." in answer.text


@on_a_server
async def test_long_messages_and_answers(tmp_path: Path, loop_watchdog: Watchdog) -> None:
    size = many(LIMITS.max_body_bytes)
    loop_watchdog.input(size)
    values: list[Any] = [{"a": "x" * 8}] * (VALUES // 3)
    bodies = ({"result": values}, {"result": "é" * (size // 6 - 100)}, {"x": values})
    store = MessageStore(f"sqlite:///{tmp_path / 'chats.db'}", poll=0.02)
    async with serve(chat_app(store, AgentResponder(Agent(model)), limits=LIMITS)) as client:
        chat = await new_chat(client)
        await say(client, chat, "word\n" * (many(LIMITS.max_message_bytes) // 5))
        for number, body in enumerate(bodies):
            content = json.dumps(body).encode()
            assert len(content) <= size
            question = f"k{number}"
            await store.add_pending(
                chat.rpartition("/")[2],
                question,
                kind="question",
                call=ToolCall("c", "F", {}),
                schema={"items": {"required": ["a"]}},
            )
            # The second answer is compared with the first.
            paths = ("answers/unknown", f"answers/{question}", f"answers/{question}", "messages")
            for path in paths:
                answer = await client.post(f"{chat}/{path}", content=content, headers=JSON)
                assert answer.status_code in {200, 400, 404}, answer.text[:500]


@pytest.mark.parametrize("form", ["native", "ai-sdk", "ag-ui"])
@pytest.mark.parametrize(("number", "length"), [(4_000, 36), (60, 45_000)])
@on_a_server
async def test_a_replay(
    tmp_path: Path, loop_watchdog: Watchdog, form: str, number: int, length: int
) -> None:
    messages = {"kind": "text", "messageId": "m", "runId": "r", "generationId": "g", "index": 0}
    events = [{**messages, "delta": "word <é> " * (length // 9)} for _ in range(many(number))]
    # The amount that is read or sent at once.
    loop_watchdog.input(min(128, len(events)) * len(json.dumps(events[0])))
    store = MessageStore(f"sqlite:///{tmp_path / 'chats.db'}", poll=0.02)
    async with serve(chat_app(store, AgentResponder(Agent(model)), limits=LIMITS)) as client:
        chat = await new_chat(client)
        run = {"kind": "run", "runId": "r"}
        started = {**run, "status": "started"}
        await store.start_run(chat.rpartition("/")[2], "r", owner="o", events=[started])
        await store.write(chat.rpartition("/")[2], events=events, run_id="r")
        ended = {**run, "status": "finished", "stopReason": "completed"}
        await store.finish_run("r", "o", "completed", events=[ended])
        read = 0
        async with client.stream("GET", f"{chat}/events?format={form}") as answer:
            async for piece in answer.aiter_raw():
                read += len(piece)
        assert answer.status_code == 200
        assert read > sum(len(each["delta"]) for each in events)
