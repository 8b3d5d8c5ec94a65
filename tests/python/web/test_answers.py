"""Approvals, questions and deferred results, answered at any server and at any time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from chat_servers import (
    Event,
    all_events,
    app_of,
    finished,
    new_chat,
    on_a_server,
    say,
    serve,
    serve_agent,
    text_of,
    until,
)
from toolweave import Agent, Deferred, Message, ToolContext, tool
from toolweave.web import ask_in_chat
from toolweave.web._runs import ChatRuns

WAYS = ["here", "elsewhere"]


def replies(*texts: str) -> Any:
    """Return a model that repeats the replies in order."""
    given = 0

    async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
        nonlocal given
        given += 1
        return texts[(given - 1) % len(texts)]

    return model


async def answer(client: httpx.AsyncClient, chat: str, key: str, **body: Any) -> tuple[int, str]:
    """Post an answer, and return the status and the outcome."""
    response = await client.post(f"{chat}/answers/{key}", json=body)
    return response.status_code, response.json().get("outcome")


async def result(client: httpx.AsyncClient, chat: str) -> Event:
    return await until(client, chat, "tool_result", done=True)


def deleting_agent() -> tuple[Agent, list[str]]:
    deleted: list[str] = []

    @tool(requires_approval=True)
    async def delete(path: str) -> str:
        """Delete a file."""
        deleted.append(path)
        return f"{path} is gone"

    model = replies('<delete>{"path": "notes.txt"}</delete>', "Done.")
    return Agent(model, [delete], approver=ask_in_chat), deleted


@pytest.mark.parametrize("way", WAYS)
@on_a_server
async def test_a_call_waits_until_the_user_has_approved_it(tmp_path: Path, way: str) -> None:
    agent, deleted = deleting_agent()
    async with serve_agent(tmp_path, agent) as client, serve(app_of(tmp_path, agent)) as other:
        answering = client if way == "here" else other
        chat = await new_chat(client)
        accepted = await say(client, chat, "Clean up!")
        # Both servers publish the request.
        for each in (client, other):
            state = await until(each, chat, "tool_state", state="awaiting_approval")
            while "key" not in state:
                state = await until(
                    each, chat, "tool_state", state["sequenceNumber"], state="awaiting_approval"
                )
        assert not deleted
        shown = (await other.get(chat)).json()
        assert shown["runId"] == accepted["runId"]
        assert shown["pending"] == [{"key": state["key"], "kind": "approval"}]
        wrong = await answering.post(f"{chat}/answers/{state['key']}", json={"result": "yes"})
        assert wrong.status_code == 400
        assert await answer(answering, chat, state["key"], approved=True) == (200, "resolved")
        end = await finished(client, chat, accepted["runId"])
        assert (end["stopReason"], deleted) == ("completed", ["notes.txt"])
        assert await answer(answering, chat, state["key"], approved=True) == (200, "duplicate")
        assert await answer(answering, chat, state["key"], approved=False) == (409, "conflict")
        states = [event["state"] for event in await all_events(client, chat) if "state" in event]
        assert states.index("approved") < states.index("running")


@on_a_server
async def test_a_call_that_is_not_approved_does_not_run(tmp_path: Path) -> None:
    agent, deleted = deleting_agent()
    async with serve_agent(tmp_path, agent) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Clean up!")
        key = await key_of(client, chat, "awaiting_approval")
        assert await answer(client, chat, key, approved=False, reason="It is mine.") == (
            200,
            "resolved",
        )
        received = await result(client, chat)
        assert (received["errorCode"], "It is mine." in received["result"]) == ("denied", True)
        end = await finished(client, chat, accepted["runId"])
        assert (end["stopReason"], deleted) == ("completed", [])


@on_a_server
async def test_stopping_a_run_withdraws_its_approval_requests(tmp_path: Path) -> None:
    agent, deleted = deleting_agent()
    async with serve_agent(tmp_path, agent) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Clean up!")
        key = await key_of(client, chat, "awaiting_approval")
        await client.post(f"{chat}/runs/{accepted['runId']}/stop", json={})
        end = await finished(client, chat, accepted["runId"])
        assert end["stopReason"] == "cancelled"
        status, outcome = await answer(client, chat, key, approved=True)
        assert (status, outcome) in {(404, "not_found"), (409, "conflict")}
        assert not deleted
        assert (await client.get(chat)).json()["pending"] == []


@pytest.mark.parametrize("way", WAYS)
@on_a_server
async def test_a_tool_asks_and_continues_with_the_answer(tmp_path: Path, way: str) -> None:
    async def order(context: ToolContext) -> str:
        """Order drinks."""
        first = await context.ask("What?", {"type": "string"})
        second = await context.ask("How many?", {"type": "integer"})
        return f"{second} {first}"

    agent = Agent(replies("<order>{}</order>", "Done."), [order])
    async with serve_agent(tmp_path, agent) as client, serve(app_of(tmp_path, agent)) as other:
        answering = client if way == "here" else other
        chat = await new_chat(client)
        accepted = await say(client, chat, "Order!")
        question = await until(answering, chat, "tool_state", question="What?")
        assert question["schema"] == {"type": "string"}
        mismatch = await answering.post(f"{chat}/answers/{question['key']}", json={"result": 7})
        assert mismatch.status_code == 422
        assert "string" in mismatch.json()["error"]["message"]
        assert await answer(answering, chat, question["key"], result="teas") == (200, "resolved")
        question = await until(answering, chat, "tool_state", question="How many?")
        assert await answer(answering, chat, question["key"], result=2) == (200, "resolved")
        assert (await result(client, chat))["result"] == "2 teas"
        assert (await finished(client, chat, accepted["runId"]))["stopReason"] == "completed"


@on_a_server
async def test_a_question_can_be_answered_with_an_error(tmp_path: Path) -> None:
    async def order(context: ToolContext) -> str:
        """Order drinks."""
        return str(await context.ask("What?"))

    agent = Agent(replies("<order>{}</order>", "Done."), [order])
    async with serve_agent(tmp_path, agent) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Order!")
        key = await key_of(client, chat, "awaiting_answer")
        await answer(client, chat, key, result="I would rather not", isError=True)
        received = await result(client, chat)
        assert (received["isError"], "rather not" in received["result"]) == (True, True)
        await finished(client, chat, accepted["runId"])


def booking_agent() -> tuple[Agent, list[list[str]]]:
    """Return an agent with deferred bookings, and the requests that its model gets."""
    requests: list[list[str]] = []

    async def book(table: int) -> Deferred:
        """Book a table."""
        return Deferred(f"booking/{table}", note="by phone")

    async def model(messages: Sequence[Message]) -> str:
        texts = [getattr(message, "text", "") for message in messages]
        requests.append(texts)
        if "confirmed" in texts[-1]:
            return "It is booked."
        return 'I ask. <book>{"table": 1}</book><book>{"table": 2}</book>'

    return Agent(model, [book]), requests


@pytest.mark.parametrize("way", WAYS)
@on_a_server
async def test_the_last_late_result_starts_a_run(tmp_path: Path, way: str) -> None:
    (agent, _), (twin, _) = booking_agent(), booking_agent()
    async with serve_agent(tmp_path, agent) as client, serve(app_of(tmp_path, twin)) as other:
        answering = client if way == "here" else other
        chat = await new_chat(client)
        accepted = await say(client, chat, "Book!")
        end = await finished(client, chat, accepted["runId"])
        assert end["stopReason"] == "deferred"
        pending = (await other.get(chat)).json()["pending"]
        assert sorted(each["key"] for each in pending) == ["booking/1", "booking/2"]
        assert await answer(answering, chat, "booking/1", result="one is confirmed") == (
            200,
            "resolved",
        )
        # The result is published, but no run starts while another result is pending.
        last = (await result(client, chat))["sequenceNumber"]
        assert "runId" not in (await client.get(chat)).json()
        assert await answer(answering, chat, "booking/2", result="two is confirmed") == (
            200,
            "resolved",
        )
        started = await until(client, chat, "run", last, status="started")
        end = await finished(client, chat, started["runId"])
        assert end["stopReason"] == "completed"
        received = await all_events(client, chat)
        assert received == await all_events(other, chat)
        assert text_of(received) == "I ask. It is booked."
        results = [event["result"] for event in received if event["kind"] == "tool_result"]
        assert results == ["one is confirmed", "two is confirmed"]
        assert await answer(answering, chat, "booking/2", result="two is confirmed") == (
            200,
            "duplicate",
        )
        history = (await client.get(f"{chat}/messages")).json()["messages"]
        [calls] = [
            each["message"] for each in history if each["message"]["kind"] == "tools_aggregate"
        ]
        assert [each["result"] for each in calls["toolResults"]] == results


@on_a_server
async def test_deferred_results_that_come_during_the_run_also_start_the_next_run(
    tmp_path: Path,
) -> None:
    go = asyncio.Event()

    async def book() -> Deferred:
        """Book a table."""
        return Deferred("booking")

    async def wait() -> str:
        """Wait."""
        await asyncio.wait_for(go.wait(), 20)
        return "waited"

    async def model(messages: Sequence[Message]) -> str:
        text = getattr(messages[-1], "text", "")
        return "It is booked." if "confirmed" in text else "<book>{}</book><wait>{}</wait>"

    async with serve_agent(tmp_path, Agent(model, [book, wait])) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Book!")
        await until(client, chat, "tool_state", state="deferred")
        assert await answer(client, chat, "booking", result="confirmed") == (200, "resolved")
        go.set()
        end = await finished(client, chat, accepted["runId"])
        assert end["stopReason"] == "deferred"
        after = end["sequenceNumber"]
        started = await until(client, chat, "run", after, status="started")
        end = await finished(client, chat, started["runId"])
        received = await all_events(client, chat)
        assert text_of(received) == "It is booked."
        results = sorted(event["result"] for event in received if event["kind"] == "tool_result")
        assert results == ["confirmed", "waited"]


@on_a_server
async def test_a_result_that_comes_while_another_server_answers_starts_no_further_run(
    tmp_path: Path,
) -> None:
    go = asyncio.Event()

    async def book() -> Deferred:
        """Book a table."""
        return Deferred("booking")

    async def model(messages: Sequence[Message]) -> str:
        text = getattr(messages[-1], "text", "")
        if "wait" in text:
            await asyncio.wait_for(go.wait(), 20)
        return "<book>{}</book>" if "Book" in text else "Fine."

    one, two = Agent(model, [book]), Agent(model, [book])
    async with serve_agent(tmp_path, one) as client, serve(app_of(tmp_path, two)) as other:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Book!")
        await finished(client, chat, accepted["runId"])
        accepted = await say(other, chat, "Please wait.")
        assert await answer(client, chat, "booking", result="confirmed") == (200, "resolved")
        go.set()
        await finished(client, chat, accepted["runId"])
        for _ in range(2):
            accepted = await say(client, chat, "Well?")
            end = await finished(client, chat, accepted["runId"])
            assert end["stopReason"] == "completed"
            await asyncio.sleep(0.02)
        received = await all_events(client, chat)
        assert [each["status"] for each in received if each["kind"] == "run"] == [
            "started",
            "finished",
        ] * 4


@on_a_server
async def test_a_result_that_comes_right_after_a_run_starts_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check that follows the run is late: the answer's own run has ended by then."""
    late, checked = asyncio.Event(), asyncio.Event()
    resume = ChatRuns.resume

    async def resume_late(runs: ChatRuns, *args: Any, **options: Any) -> str | None:
        if checked.is_set():
            return await resume(runs, *args, **options)
        checked.set()
        await asyncio.wait_for(late.wait(), 20)
        return await resume(runs, *args, **options)

    monkeypatch.setattr(ChatRuns, "resume", resume_late)
    agent, requests = booking_agent()
    async with serve_agent(tmp_path, agent) as client:
        chat = await new_chat(client)
        await finished(client, chat, (await say(client, chat, "Book!"))["runId"])
        await checked.wait()
        for key in ("booking/1", "booking/2"):
            assert await answer(client, chat, key, result="It is confirmed.") == (200, "resolved")
        started = await until(client, chat, "run", (await result(client, chat))["sequenceNumber"])
        end = await finished(client, chat, started["runId"])
        late.set()
        await asyncio.sleep(0.1)
        assert "runId" not in (await client.get(chat)).json()
        assert (await all_events(client, chat))[-1] == end
    assert len(requests) == 2


@on_a_server
async def test_keys_of_one_chat_are_unknown_in_another(tmp_path: Path) -> None:
    agent, _ = booking_agent()
    async with serve_agent(tmp_path, agent) as client:
        # Two chats with the same keys and the same agent.
        chats = [await new_chat(client), await new_chat(client)]
        for chat in chats:
            accepted = await say(client, chat, "Book!")
            assert (await finished(client, chat, accepted["runId"]))["stopReason"] == "deferred"
        await answer(client, chats[0], "booking/1", result="confirmed")
        await answer(client, chats[0], "booking/2", result="confirmed")
        await until(client, chats[0], "text", delta="It is booked.")
        pending = (await client.get(chats[1])).json()["pending"]
        assert len(pending) == 2
        assert await answer(client, chats[0], "no/such", result=1) == (404, "not_found")


async def key_of(client: httpx.AsyncClient, chat: str, state: str) -> str:
    """Return the key that a chat waits for."""
    event = await until(client, chat, "tool_state", state=state)
    while "key" not in event:
        event = await until(client, chat, "tool_state", event["sequenceNumber"], state=state)
    key: str = event["key"]
    return key
