"""Runs of clients of the AI SDK and AG-UI."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx

from chat_servers import (
    QUICK,
    all_events,
    events,
    finished,
    lines,
    new_chat,
    on_a_server,
    say,
    serve,
    serve_agent,
    soon,
    until,
)
from toolweave import Agent, Message, tool
from toolweave.store import MessageStore, RunRecord
from toolweave.web import AgentResponder, ask_in_chat, chat_app


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def model(messages: Sequence[Message]) -> AsyncIterator[str]:
    if "5" in getattr(messages[-1], "text", ""):
        yield "It is "
        yield "5."
    else:
        yield 'Let me see. <add>{"a": 2, "b": 3}</add>'


def bodies_of(chat_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the same question as a request of the AI SDK and of AG-UI."""
    parts = [{"type": "text", "text": "What is 2 + 3?"}]
    ai_sdk = {"id": chat_id, "messages": [{"id": "m1", "role": "user", "parts": parts}]}
    message = {"id": "m1", "role": "user", "content": "What is 2 + 3?"}
    ag_ui = {"threadId": chat_id, "runId": "theirs", "messages": [message]}
    return ai_sdk, ag_ui


async def stream(
    client: httpx.AsyncClient, method: str, path: str, **more: Any
) -> list[dict[str, Any]]:
    """Read the payloads of a stream to its end."""
    async with client.stream(method, path, **more) as response:
        assert response.status_code == 200, (await response.aread()).decode()
        return [json.loads(line.data) async for line in lines(response) if line.data != "[DONE]"]


def types(payloads: Sequence[dict[str, Any]]) -> list[str]:
    return [payload["type"] for payload in payloads]


@on_a_server
async def test_use_chat_posts_its_chat_and_reads_the_answer(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(model, [add])) as client:
        body, _ = bodies_of("theirs")
        received = await stream(client, "POST", "/ai-sdk/chat", json=body)
        assert types(received)[:2] == ["start", "start-step"]
        assert types(received)[-1] == "finish"
        assert "tool-input-available" in types(received)
        assert [each["output"] for each in received if each["type"] == "tool-output-available"] == [
            "5"
        ]
        text = "".join(each["delta"] for each in received if each["type"] == "text-delta")
        assert text == "Let me see. It is 5."
        # Sent again, as after a lost connection, it returns the same run.
        assert await stream(client, "POST", "/ai-sdk/chat", json=body) == received
        # The chat is like any other.
        history = (await client.get("/chats/theirs/messages")).json()["messages"]
        assert history[0]["messageId"] == "m1"
        for path in ("/chats/theirs/stream", "/ai-sdk/chat/theirs/stream"):
            assert (await client.get(path)).status_code == 204


@on_a_server
async def test_a_chat_that_does_not_exist_has_nothing_to_resume(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(model)) as client:
        for path in ("/chats/new/stream", "/ai-sdk/chat/new/stream"):
            answer = await client.get(path)
            assert (answer.status_code, answer.content) == (204, b"")
        # Other formats have no such request.
        for format_ in ("ag-ui", "ai-sdk", "native"):
            path = f"/chats/new/events?format={format_}"
            assert (await client.get(path)).status_code == 404
        # The request has not created the chat.
        assert (await client.get("/chats")).json()["chats"] == []


@on_a_server
async def test_the_active_run_is_resumed_from_its_start(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def slow(messages: Sequence[Message]) -> AsyncIterator[str]:  # noqa: ARG001
        yield "One, "
        await soon(go)
        yield "two."

    async with serve_agent(tmp_path, Agent(slow)) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Count!")
        await until(client, chat, "text", role="assistant")
        async with client.stream("GET", f"{chat}/stream") as response:
            assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
            received = []
            async for line in lines(response):
                received.append(line.data)
                if "One" in line.data:
                    go.set()
        assert received[-1] == "[DONE]"
        text = "".join(json.loads(each).get("delta", "") for each in received[:-1])
        assert text == "One, two."
        await finished(client, chat, accepted["runId"])


@on_a_server
async def test_clients_of_ag_ui_post_their_thread_and_read_the_run(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(model, [add])) as client:
        _, body = bodies_of("theirs")
        received = await stream(client, "POST", "/ag-ui", json=body)
        assert received[0] == {**received[0], "type": "RUN_STARTED", "threadId": "theirs"}
        assert received[0]["runId"] == received[-1]["runId"] == "theirs"
        assert types(received)[-1] == "RUN_FINISHED"
        assert [each["content"] for each in received if each["type"] == "TOOL_CALL_RESULT"] == ["5"]


@on_a_server
async def test_any_format_can_be_resumed_after_any_event(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(model, [add])) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "What is 2 + 3?")
        end = await finished(client, chat, accepted["runId"])
        for name in ("ai-sdk", "ag-ui"):
            whole: list[tuple[int | None, str]] = []
            async with client.stream("GET", f"{chat}/events?format={name}") as response:
                whole += [(line.id, line.data) async for line in lines(response)]
            marks = [number for number, _ in whole if number is not None]
            assert marks == sorted(set(marks))
            for cursor in marks[:-1]:
                address = f"{chat}/events?format={name}&after={cursor}"
                async with client.stream("GET", address) as response:
                    rest = [(line.id, line.data) async for line in lines(response)]
                start = [number for number, _ in whole].index(cursor) + 1
                assert rest == whole[start:]
            last = end["sequenceNumber"]
            gone = await client.get(f"{chat}/events?format={name}&after={last}")
            assert gone.status_code == 204


class SlowStore(MessageStore):
    """A store that returns the active run only once it has ended."""

    slow = False

    async def active_run(self, chat_id: str) -> RunRecord | None:
        while (run := await super().active_run(chat_id)) is not None and self.slow:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        return run


@on_a_server
async def test_an_approval_is_answered_with_its_run_even_if_the_run_has_ended(
    tmp_path: Path,
) -> None:
    store = SlowStore(f"sqlite:///{tmp_path / 'chats.db'}", poll=0.02)
    careful = tool(requires_approval=True)(add)
    agent = Agent(model, [careful], approver=ask_in_chat)
    async with serve(chat_app(store, AgentResponder(agent), limits=QUICK)) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "What is 2 + 3?")
        key = ""
        async for event in events(client, chat):
            if key := event.get("key", ""):
                break
        store.slow = True
        approval = {"id": key, "approved": True}
        part = {"type": "tool-add", "state": "approval-responded", "approval": approval}
        message = {"id": "m", "role": "assistant", "parts": [part]}
        body = {"id": chat.rpartition("/")[2], "messages": [message]}
        received = await stream(client, "POST", "/ai-sdk/chat", json=body)
        assert types(received)[-1] == "finish"
        runs = [
            event["runId"] for event in await all_events(client, chat) if event["kind"] == "run"
        ]
        assert runs == [accepted["runId"]] * 2
        body["messages"] = [{**message, "parts": [part] * 101}]
        answer = await client.post("/ai-sdk/chat", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_long")


@on_a_server
async def test_invalid_requests_of_other_clients_are_rejected(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(model)) as client:
        for path, body in (
            ("/ai-sdk/chat", {}),
            ("/ai-sdk/chat", {"id": "c", "messages": []}),
            ("/ai-sdk/chat", {"id": "c", "messages": [{"role": "user"}]}),
            ("/ag-ui", {"threadId": "t", "runId": "r", "messages": "x"}),
        ):
            answer = await client.post(path, json=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (422, "unusable")
        version = {"x-ai-sdk-version": "four"}
        body, _ = bodies_of("c")
        answer = await client.post("/ai-sdk/chat", json=body, headers=version)
        assert answer.status_code == 422
        body, _ = bodies_of("a/b")
        assert (await client.post("/ai-sdk/chat", json=body)).status_code == 400
        # No chat was created.
        assert (await client.get("/chats")).json() == {"chats": []}
