"""A chat over HTTP, from the user's message to the last event."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from chat_servers import (
    QUICK,
    all_events,
    app_of,
    events,
    finished,
    new_chat,
    numbers,
    on_a_server,
    say,
    serve,
    serve_agent,
    soon,
    text_of,
    until,
)
from toolweave import Agent, Message
from toolweave.store import MessageStore, StoredMessage
from toolweave.web import AgentResponder, chat_app

CALL = '<add>{"a": 2, "b": 3}</add>'


def script(*replies: str) -> Any:
    """Return a model that gives the replies in order."""
    waiting = list(replies)

    async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
        return waiting.pop(0)

    return model


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@on_a_server
async def test_a_message_is_answered_and_all_events_are_in_order(tmp_path: Path) -> None:
    agent = Agent(script(f"Let me see. {CALL}", "It is 5."), [add])
    async with serve_agent(tmp_path, agent) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "What is 2 + 3?", messageId="m1")
        received = await all_events(client, chat)
        assert accepted == {
            "chatId": chat.rpartition("/")[2],
            "runId": received[0]["runId"],
            "messageId": "m1",
            "sequenceNumber": 1,
        }
        assert numbers(received) == list(range(1, len(received) + 1))
        assert text_of(received, "user") == "What is 2 + 3?"
        assert text_of(received) == "Let me see. It is 5."
        assert received[-1]["kind"] == "run"
        assert received[-1]["stopReason"] == "completed"
        [result] = [event for event in received if event["kind"] == "tool_result"]
        assert (result["result"], result["isError"]) == ("5", False)
        order = [event["kind"] for event in received]
        assert order.index("tools_call") < order.index("tool_result")
        assert order.index("tool_result") < order.index("tools_aggregate")

        history = (await client.get(f"{chat}/messages")).json()["messages"]
        assert [stored["sequenceNumber"] for stored in history] == [1, 2, 3, 4]
        assert [stored["message"]["kind"] for stored in history] == [
            "text",
            "text",
            "tools_aggregate",
            "text",
        ]


@on_a_server
async def test_the_next_message_is_answered_with_the_history(tmp_path: Path) -> None:
    requests: list[list[str]] = []

    async def model(messages: Sequence[Message]) -> str:
        requests.append([getattr(message, "text", "") for message in messages])
        return f"Answer {len(requests)}"

    async with serve_agent(tmp_path, Agent(model)) as client:
        chat = await new_chat(client)
        for text in ("One?", "Two?"):
            accepted = await say(client, chat, text)
            await finished(client, chat, accepted["runId"])
    assert requests == [["One?"], ["One?", "Answer 1", "Two?"]]


@on_a_server
async def test_a_message_is_answered_once_even_if_the_lookup_is_late(tmp_path: Path) -> None:
    class Late(MessageStore):
        """A store that does not find a message the first time."""

        late = False

        async def message(self, chat_id: str, message_id: str) -> StoredMessage | None:
            found = await super().message(chat_id, message_id)
            found, self.late = None if self.late else found, False
            return found

    async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
        return "Yes."

    store = Late(f"sqlite:///{tmp_path / 'chats.db'}", poll=0.02)
    async with serve(chat_app(store, AgentResponder(Agent(model)), limits=QUICK)) as client:
        chat = await new_chat(client)
        first = await say(client, chat, "Well?", messageId="m1")
        await finished(client, chat, first["runId"])
        store.late = True
        assert await say(client, chat, "Well?", messageId="m1") == first
        assert text_of(await all_events(client, chat)) == "Yes."


@on_a_server
async def test_the_same_message_again_gets_the_same_answer(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
        await soon(go)
        return "Yes."

    agent = Agent(model)
    async with serve_agent(tmp_path, agent) as client, serve(app_of(tmp_path, agent)) as other:
        chat = await new_chat(client)
        first = await say(client, chat, "Well?", messageId="m1")
        again = await asyncio.gather(
            *(say(each, chat, "Well?", messageId="m1") for each in (client, other) * 3)
        )
        assert again == [first] * 6
        go.set()
        await finished(client, chat, first["runId"])
        assert await say(other, chat, "Well?", messageId="m1") == first
        another = await client.post(f"{chat}/messages", json={"text": "What?", "messageId": "m1"})
        assert another.status_code == 409
        assert another.json()["error"]["code"] == "id_taken"
        received = await all_events(client, chat)
    assert [event["kind"] for event in received].count("run") == 2


@on_a_server
async def test_messages_that_come_at_once_start_one_run(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
        await soon(go)
        return "Yes."

    agent = Agent(model)
    async with serve_agent(tmp_path, agent) as client, serve(app_of(tmp_path, agent)) as other:
        chat = await new_chat(client)
        answers = await asyncio.gather(
            *(
                each.post(f"{chat}/messages", json={"text": "Well?", "messageId": "m1"})
                for each in (client, other) * 4
            )
        )
        assert {answer.status_code for answer in answers} == {202}
        assert len({answer.json()["runId"] for answer in answers}) == 1
        busy = await other.post(f"{chat}/messages", json={"text": "And?"})
        assert busy.status_code == 409
        assert busy.json()["error"]["code"] == "chat_busy"
        go.set()


@on_a_server
async def test_a_disconnect_does_not_cancel_a_run(tmp_path: Path) -> None:
    go = asyncio.Event()

    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:  # noqa: ARG001
        yield "One, "
        await soon(go)
        yield "two."

    async with serve_agent(tmp_path, Agent(model)) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Count!")
        # Disconnect in the middle.
        await until(client, chat, "text", role="assistant")
        go.set()
        end = await finished(client, chat, accepted["runId"])
        assert end["stopReason"] == "completed"
        assert text_of(await all_events(client, chat)) == "One, two."


@on_a_server
async def test_an_idle_chat_is_replayed_and_then_has_no_content(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(script("Yes."))) as client:
        chat = await new_chat(client)
        assert (await client.get(f"{chat}/events")).status_code == 204
        assert (await client.get(f"{chat}/stream")).status_code == 204
        accepted = await say(client, chat, "Well?")
        await finished(client, chat, accepted["runId"])
        received = await all_events(client, chat)
        assert await all_events(client, chat, after=2) == received[2:]
        last = received[-1]["sequenceNumber"]
        assert (await client.get(f"{chat}/events?after={last}")).status_code == 204
        header = {"Last-Event-ID": str(last)}
        assert (await client.get(f"{chat}/events?after=0", headers=header)).status_code == 204
        assert (await client.get(f"{chat}/events?after={last + 1}")).status_code == 409
        assert (await client.get(f"{chat}/stream")).status_code == 204


@on_a_server
async def test_continuing_needs_a_history(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(script("One", "Two"))) as client:
        chat = await new_chat(client)
        nothing = await client.post(f"{chat}/messages", json={})
        assert nothing.status_code == 409
        accepted = await say(client, chat, "Well?")
        await finished(client, chat, accepted["runId"])
        more = await client.post(f"{chat}/messages", json={})
        assert more.status_code == 202
        assert "messageId" not in more.json()
        await finished(client, chat, more.json()["runId"])
        assert text_of(await all_events(client, chat)) == "OneTwo"


@on_a_server
async def test_a_follower_gets_events_of_further_runs(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(script("One", "Two"))) as client:
        chat = await new_chat(client)
        following = events(client, chat, follow=True)
        reading = asyncio.ensure_future(anext(following))
        accepted = await say(client, chat, "Well?")
        received = [await reading]
        await finished(client, chat, accepted["runId"])
        accepted = await say(client, chat, "And?")
        async for event in following:
            received.append(event)
            if event["runId"] == accepted["runId"] and event.get("status") == "finished":
                break
        await following.aclose()
        assert received == await all_events(client, chat)
