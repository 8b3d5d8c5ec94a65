"""What people are asked, and answer: here, elsewhere, now and later."""

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

WAYS = ["here", "elsewhere"]


def replies(*said: str) -> Any:
    """A model that gives the replies, in order and again from the first."""
    given = 0

    async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
        nonlocal given
        given += 1
        return said[(given - 1) % len(said)]

    return model


async def answer(client: httpx.AsyncClient, chat: str, key: str, **body: Any) -> tuple[int, str]:
    """What became of an answer."""
    answered = await client.post(f"{chat}/answers/{key}", json=body)
    return answered.status_code, answered.json().get("outcome")


async def result(client: httpx.AsyncClient, chat: str) -> Event:
    return await until(client, chat, "tool_result", done=True)


def deleting() -> tuple[Agent, list[str]]:
    deleted: list[str] = []

    @tool(requires_approval=True)
    async def delete(path: str) -> str:
        """Deletes."""
        deleted.append(path)
        return f"{path} is gone"

    model = replies('<delete>{"path": "notes.txt"}</delete>', "Done.")
    return Agent(model, [delete], approver=ask_in_chat), deleted


@pytest.mark.parametrize("way", WAYS)
@on_a_server
async def test_a_call_waits_until_the_user_has_approved_it(tmp_path: Path, way: str) -> None:
    agent, deleted = deleting()
    async with serve_agent(tmp_path, agent) as client, serve(app_of(tmp_path, agent)) as other:
        asked = client if way == "here" else other
        chat = await new_chat(client)
        said = await say(client, chat, "Clean up!")
        # Both know what is to be answered.
        for each in (client, other):
            state = await until(each, chat, "tool_state", state="awaiting_approval")
            while "key" not in state:
                state = await until(
                    each, chat, "tool_state", state["sequenceNumber"], state="awaiting_approval"
                )
        assert not deleted
        shown = (await other.get(chat)).json()
        assert shown["runId"] == said["runId"]
        assert shown["pending"] == [{"key": state["key"], "kind": "approval"}]
        wrong = await asked.post(f"{chat}/answers/{state['key']}", json={"result": "yes"})
        assert wrong.status_code == 400
        assert await answer(asked, chat, state["key"], approved=True) == (200, "resolved")
        end = await finished(client, chat, said["runId"])
        assert (end["stopReason"], deleted) == ("completed", ["notes.txt"])
        assert await answer(asked, chat, state["key"], approved=True) == (200, "duplicate")
        assert await answer(asked, chat, state["key"], approved=False) == (409, "conflict")
        states = [event["state"] for event in await all_events(client, chat) if "state" in event]
        assert states.index("approved") < states.index("running")


@on_a_server
async def test_a_call_that_is_not_approved_does_not_run(tmp_path: Path) -> None:
    agent, deleted = deleting()
    async with serve_agent(tmp_path, agent) as client:
        chat = await new_chat(client)
        said = await say(client, chat, "Clean up!")
        key = await key_of(client, chat, "awaiting_approval")
        assert await answer(client, chat, key, approved=False, reason="It is mine.") == (
            200,
            "resolved",
        )
        told = await result(client, chat)
        assert (told["errorCode"], "It is mine." in told["result"]) == ("denied", True)
        end = await finished(client, chat, said["runId"])
        assert (end["stopReason"], deleted) == ("completed", [])


@on_a_server
async def test_stopping_a_run_withdraws_its_approval_requests(tmp_path: Path) -> None:
    agent, deleted = deleting()
    async with serve_agent(tmp_path, agent) as client:
        chat = await new_chat(client)
        said = await say(client, chat, "Clean up!")
        key = await key_of(client, chat, "awaiting_approval")
        await client.post(f"{chat}/runs/{said['runId']}/stop", json={})
        end = await finished(client, chat, said["runId"])
        assert end["stopReason"] == "cancelled"
        status, outcome = await answer(client, chat, key, approved=True)
        assert (status, outcome) in {(404, "not_found"), (409, "conflict")}
        assert not deleted
        assert (await client.get(chat)).json()["pending"] == []


@pytest.mark.parametrize("way", WAYS)
@on_a_server
async def test_a_tool_asks_and_continues_with_the_answer(tmp_path: Path, way: str) -> None:
    async def order(context: ToolContext) -> str:
        """Orders."""
        first = await context.ask("What?", {"type": "string"})
        second = await context.ask("How many?", {"type": "integer"})
        return f"{second} {first}"

    agent = Agent(replies("<order>{}</order>", "Done."), [order])
    async with serve_agent(tmp_path, agent) as client, serve(app_of(tmp_path, agent)) as other:
        asked = client if way == "here" else other
        chat = await new_chat(client)
        said = await say(client, chat, "Order!")
        question = await until(asked, chat, "tool_state", question="What?")
        assert question["schema"] == {"type": "string"}
        unfit = await asked.post(f"{chat}/answers/{question['key']}", json={"result": 7})
        assert unfit.status_code == 422
        assert "string" in unfit.json()["error"]["message"]
        assert await answer(asked, chat, question["key"], result="teas") == (200, "resolved")
        question = await until(asked, chat, "tool_state", question="How many?")
        assert await answer(asked, chat, question["key"], result=2) == (200, "resolved")
        assert (await result(client, chat))["result"] == "2 teas"
        assert (await finished(client, chat, said["runId"]))["stopReason"] == "completed"


@on_a_server
async def test_a_question_can_be_answered_with_an_error(tmp_path: Path) -> None:
    async def order(context: ToolContext) -> str:
        """Orders."""
        return str(await context.ask("What?"))

    agent = Agent(replies("<order>{}</order>", "Done."), [order])
    async with serve_agent(tmp_path, agent) as client:
        chat = await new_chat(client)
        said = await say(client, chat, "Order!")
        key = await key_of(client, chat, "awaiting_answer")
        await answer(client, chat, key, result="I would rather not", isError=True)
        told = await result(client, chat)
        assert (told["isError"], "rather not" in told["result"]) == (True, True)
        await finished(client, chat, said["runId"])


def booking() -> tuple[Agent, list[list[str]]]:
    """An agent whose bookings are confirmed later, and what its model was sent."""
    heard: list[list[str]] = []

    async def book(table: int) -> Deferred:
        """Books."""
        return Deferred(f"booking/{table}", note="by phone")

    async def model(messages: Sequence[Message]) -> str:
        texts = [getattr(message, "text", "") for message in messages]
        heard.append(texts)
        if "confirmed" in texts[-1]:
            return "It is booked."
        return 'I ask. <book>{"table": 1}</book><book>{"table": 2}</book>'

    return Agent(model, [book]), heard


@pytest.mark.parametrize("way", WAYS)
@on_a_server
async def test_the_last_late_result_starts_a_run(tmp_path: Path, way: str) -> None:
    (agent, _), (twin, _) = booking(), booking()
    async with serve_agent(tmp_path, agent) as client, serve(app_of(tmp_path, twin)) as other:
        asked = client if way == "here" else other
        chat = await new_chat(client)
        said = await say(client, chat, "Book!")
        end = await finished(client, chat, said["runId"])
        assert end["stopReason"] == "deferred"
        pending = (await other.get(chat)).json()["pending"]
        assert sorted(each["key"] for each in pending) == ["booking/1", "booking/2"]
        assert await answer(asked, chat, "booking/1", result="one is confirmed") == (
            200,
            "resolved",
        )
        # Its result is told, but nothing goes on while another is awaited.
        last = (await result(client, chat))["sequenceNumber"]
        assert "runId" not in (await client.get(chat)).json()
        assert await answer(asked, chat, "booking/2", result="two is confirmed") == (
            200,
            "resolved",
        )
        started = await until(client, chat, "run", last, status="started")
        end = await finished(client, chat, started["runId"])
        assert end["stopReason"] == "completed"
        told = await all_events(client, chat)
        assert told == await all_events(other, chat)
        assert text_of(told) == "I ask. It is booked."
        results = [event["result"] for event in told if event["kind"] == "tool_result"]
        assert results == ["one is confirmed", "two is confirmed"]
        assert await answer(asked, chat, "booking/2", result="two is confirmed") == (
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
        """Books."""
        return Deferred("booking")

    async def wait() -> str:
        """Waits."""
        await asyncio.wait_for(go.wait(), 20)
        return "waited"

    async def model(messages: Sequence[Message]) -> str:
        text = getattr(messages[-1], "text", "")
        return "It is booked." if "confirmed" in text else "<book>{}</book><wait>{}</wait>"

    async with serve_agent(tmp_path, Agent(model, [book, wait])) as client:
        chat = await new_chat(client)
        said = await say(client, chat, "Book!")
        await until(client, chat, "tool_state", state="deferred")
        assert await answer(client, chat, "booking", result="confirmed") == (200, "resolved")
        go.set()
        end = await finished(client, chat, said["runId"])
        assert end["stopReason"] == "deferred"
        after = end["sequenceNumber"]
        started = await until(client, chat, "run", after, status="started")
        end = await finished(client, chat, started["runId"])
        told = await all_events(client, chat)
        assert text_of(told) == "It is booked."
        results = sorted(event["result"] for event in told if event["kind"] == "tool_result")
        assert results == ["confirmed", "waited"]


@on_a_server
async def test_a_result_that_comes_while_another_server_answers_starts_no_further_run(
    tmp_path: Path,
) -> None:
    go = asyncio.Event()

    async def book() -> Deferred:
        """Books."""
        return Deferred("booking")

    async def model(messages: Sequence[Message]) -> str:
        text = getattr(messages[-1], "text", "")
        if "wait" in text:
            await asyncio.wait_for(go.wait(), 20)
        return "<book>{}</book>" if "Book" in text else "Fine."

    one, two = Agent(model, [book]), Agent(model, [book])
    async with serve_agent(tmp_path, one) as client, serve(app_of(tmp_path, two)) as other:
        chat = await new_chat(client)
        said = await say(client, chat, "Book!")
        await finished(client, chat, said["runId"])
        said = await say(other, chat, "Please wait.")
        assert await answer(client, chat, "booking", result="confirmed") == (200, "resolved")
        go.set()
        await finished(client, chat, said["runId"])
        for _ in range(2):
            said = await say(client, chat, "Well?")
            end = await finished(client, chat, said["runId"])
            assert end["stopReason"] == "completed"
            await asyncio.sleep(0.02)
        told = await all_events(client, chat)
        assert [each["status"] for each in told if each["kind"] == "run"] == [
            "started",
            "finished",
        ] * 4


@on_a_server
async def test_keys_of_one_chat_are_unknown_in_another(tmp_path: Path) -> None:
    agent, _ = booking()
    async with serve_agent(tmp_path, agent) as client:
        # The same keys, and the same agent.
        chats = [await new_chat(client), await new_chat(client)]
        for chat in chats:
            said = await say(client, chat, "Book!")
            assert (await finished(client, chat, said["runId"]))["stopReason"] == "deferred"
        await answer(client, chats[0], "booking/1", result="confirmed")
        await answer(client, chats[0], "booking/2", result="confirmed")
        await until(client, chats[0], "text", delta="It is booked.")
        pending = (await client.get(chats[1])).json()["pending"]
        assert len(pending) == 2
        assert await answer(client, chats[0], "no/such", result=1) == (404, "not_found")


async def key_of(client: httpx.AsyncClient, chat: str, state: str) -> str:
    """What a chat waits for."""
    event = await until(client, chat, "tool_state", state=state)
    while "key" not in event:
        event = await until(client, chat, "tool_state", event["sequenceNumber"], state=state)
    key: str = event["key"]
    return key
