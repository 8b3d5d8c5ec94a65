"""Stopping runs: by the user from any process, by the server, and by failures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from chat_servers import (
    QUICK,
    Event,
    all_events,
    app_of,
    finished,
    new_chat,
    on_a_server,
    say,
    serve,
    serve_agent,
    soon,
    text_of,
    until,
)
from servers import dialects
from servers.sse import Answer, Do, serving
from toolweave import Agent, Message
from toolweave.exceptions import ModelError
from toolweave.models.openai import OpenAIModel
from toolweave.store import MessageStore
from toolweave.web import AgentResponder, chat_app

CALL = "<wait>{}</wait>"


def results(received: Sequence[Event]) -> list[tuple[str, Any]]:
    return [
        (event["toolCallId"], event.get("errorCode"))
        for event in received
        if event["kind"] == "tool_result" and event["done"]
    ]


@on_a_server
async def test_stopping_closes_the_connection_to_the_model(tmp_path: Path) -> None:
    hold = Answer([dialects.delta(content="Once upon a "), Do.HOLD])
    async with serving(hold) as provider:
        model = OpenAIModel("m", base_url=f"{provider.url}/v1", api_key="sk", max_retries=0)
        async with model, serve_agent(tmp_path, Agent(model)) as client:
            chat = await new_chat(client)
            accepted = await say(client, chat, "A story!")
            await until(client, chat, "text", role="assistant")
            stop = await client.post(f"{chat}/runs/{accepted['runId']}/stop", json={})
            assert stop.status_code == 202
            assert stop.json() == {"runId": accepted["runId"], "stopping": True}
            await provider.client_left()
            end = await finished(client, chat, accepted["runId"])
            assert end["stopReason"] == "cancelled"
            # The text until then is kept.
            assert text_of(await all_events(client, chat)) == "Once upon a "
            history = (await client.get(f"{chat}/messages")).json()["messages"]
            assert [each["message"].get("text") for each in history][:2] == [
                "A story!",
                "Once upon a ",
            ]
            again = await client.post(f"{chat}/runs/{accepted['runId']}/stop", json={})
            assert again.json()["stopping"] is False


@on_a_server
async def test_any_process_can_stop_a_run_and_its_tools(tmp_path: Path) -> None:
    entered, left = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        """Wait."""
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
        return f"{CALL}\n{CALL}"

    agent = Agent(model, [wait])
    async with serve_agent(tmp_path, agent) as client, serve(app_of(tmp_path, agent)) as other:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Wait!")
        await soon(entered)
        assert (
            await other.post(f"{chat}/runs/{accepted['runId']}/stop", json={})
        ).status_code == 202
        await soon(left)
        end = await finished(other, chat, accepted["runId"])
        assert end["stopReason"] == "cancelled"
        received = await all_events(other, chat)
        assert received == await all_events(client, chat)
        assert [code for _, code in results(received)] == ["interrupted", "interrupted"]
        # Every call has a result, so that the chat can be continued.
        history = (await client.get(f"{chat}/messages")).json()["messages"]
        [calls] = [
            each["message"] for each in history if each["message"]["kind"] == "tools_aggregate"
        ]
        assert len(calls["toolCalls"]) == len(calls["toolResults"]) == 2


@on_a_server
async def test_a_run_of_another_chat_cannot_be_stopped_here(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
        await soon(go)
        return "Yes."

    async with serve_agent(tmp_path, Agent(model)) as client:
        chat, other = await new_chat(client), await new_chat(client)
        accepted = await say(client, chat, "Well?")
        refused = await client.post(f"{other}/runs/{accepted['runId']}/stop", json={})
        assert refused.status_code == 404
        go.set()
        end = await finished(client, chat, accepted["runId"])
        assert end["stopReason"] == "completed"


@on_a_server
async def test_clients_read_the_text_of_model_errors_and_of_no_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    failures: list[Exception] = [
        ModelError("the model is overloaded", "somebody", 529),
        RuntimeError("password=hunter2"),
    ]

    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:  # noqa: ARG001
        yield "I think"
        raise failures.pop(0)

    async with serve_agent(tmp_path, Agent(model)) as client:
        chat = await new_chat(client)
        with caplog.at_level(logging.CRITICAL):
            for text in ("the model is overloaded", "The model has failed."):
                accepted = await say(client, chat, "Well?")
                end = await finished(client, chat, accepted["runId"])
                assert (end["stopReason"], end["error"]) == ("error", text)
                error = await until(client, chat, "error", runId=accepted["runId"])
                assert error["message"] == text
        received = await all_events(client, chat)
        assert text_of(received) == "I thinkI think"
        assert "hunter2" not in str(received)


@on_a_server
async def test_a_run_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
        await asyncio.Event().wait()
        raise AssertionError

    limits = QUICK.__class__(run_timeout=0.05, requests=None)
    async with serve_agent(tmp_path, Agent(model), limits=limits) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Well?")
        end = await finished(client, chat, accepted["runId"])
        assert (end["stopReason"], end["error"]) == (
            "error",
            "The run took longer than 0.05 seconds.",
        )


@on_a_server
async def test_a_run_that_cannot_be_saved_stops_its_model_and_its_tools(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    entered, left = asyncio.Event(), asyncio.Event()
    asked = 0

    async def wait() -> None:
        """Wait."""
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:  # noqa: ARG001
        nonlocal asked
        asked += 1
        yield CALL
        await soon(entered)
        # Longer than the store accepts.
        yield "x" * 50_000
        await asyncio.Event().wait()

    store = MessageStore(f"sqlite:///{tmp_path / 'chats.db'}", max_message_bytes=20_000)
    app = chat_app(store, AgentResponder(Agent(model, [wait])), limits=QUICK)
    with caplog.at_level(logging.CRITICAL):
        async with serve(app) as client:
            chat = await new_chat(client)
            accepted = await say(client, chat, "Well?")
            end = await finished(client, chat, accepted["runId"])
            assert (end["stopReason"], end["error"]) == (
                "error",
                "The run was stopped, since it could not be saved.",
            )
            assert left.is_set()
            assert asked == 1
            assert text_of(await all_events(client, chat)) == ""


@on_a_server
async def test_a_run_whose_chat_is_deleted_by_another_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    left, go = asyncio.Event(), asyncio.Event()

    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:  # noqa: ARG001
        try:
            yield "One"
            await soon(go)
            yield "Two"
            await asyncio.Event().wait()
        finally:
            left.set()

    with caplog.at_level(logging.CRITICAL):
        async with serve_agent(tmp_path, Agent(model)) as client:
            chat = await new_chat(client)
            await say(client, chat, "Well?")
            assert (await client.delete(chat)).status_code == 409
            async with MessageStore(f"sqlite:///{tmp_path / 'chats.db'}") as store:
                assert await store.delete_chat(chat.rpartition("/")[2])
            go.set()
            await soon(left)
            assert (await client.get(chat)).status_code == 404


@on_a_server
async def test_a_server_that_shuts_down_ends_its_streams_and_interrupts_its_runs(
    tmp_path: Path,
) -> None:
    left = asyncio.Event()

    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:  # noqa: ARG001
        try:
            yield "One"
            await asyncio.Event().wait()
        finally:
            left.set()

    agent = Agent(model)
    async with serve_agent(tmp_path, agent) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Well?")
        reading = asyncio.ensure_future(all_events(client, chat))
        await until(client, chat, "text", role="assistant")
    # The server has exited, although a client was still reading.
    assert left.is_set()
    await asyncio.wait([reading])
    assert reading.exception() is not None or text_of(reading.result()) == "One"
    async with serve(app_of(tmp_path, agent)) as other:
        end = await finished(other, chat, accepted["runId"])
        assert end["stopReason"] == "interrupted"
        history = (await other.get(f"{chat}/messages")).json()["messages"]
        assert history[1]["message"]["text"] == "One"


@on_a_server
async def test_a_server_that_shuts_down_waits_for_runs_within_the_grace_period(
    tmp_path: Path,
) -> None:
    stopping = asyncio.Event()

    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:  # noqa: ARG001
        yield "One, "
        await soon(stopping)
        yield "two."

    agent = Agent(model)
    limits = QUICK.__class__(batch=0.005, shutdown_grace=20.0, requests=None)
    app = app_of(tmp_path, agent, limits=limits)
    async with app.router.lifespan_context(app):
        async with serve(app_of(tmp_path, agent)) as client:
            chat = await new_chat(client)
        # The run belongs to the first server.
        import httpx

        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://chats") as inside:
            accepted = await say(inside, chat, "Count!")
        asyncio.get_running_loop().call_later(0.05, stopping.set)
    async with serve(app_of(tmp_path, agent)) as client:
        end = await finished(client, chat, accepted["runId"])
        assert end["stopReason"] == "completed"
        assert text_of(await all_events(client, chat)) == "One, two."
