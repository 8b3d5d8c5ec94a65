"""Results that are too large for the store: everything that can be saved is saved."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chat_servers import QUICK, TEST_TIMEOUT
from effort import effort
from toolweave import (
    Agent,
    Message,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    tool,
)
from toolweave.store import MessageStore
from toolweave.testing import ScriptedModel
from toolweave.web import AgentResponder
from toolweave.web._channels import ChatChannels
from toolweave.web._runs import ChatRuns

LIMIT = 8_000
"""Maximum length of a message's JSON: the limit of a store, scaled down."""

LONG = {"size": 1, "text": "y" * 2 * LIMIT}

Event = dict[str, Any]


@tool
async def fetch(size: int, text: str) -> str:
    """Fetch a text.

    Args:
        size: Length of the result.
        text: Text to repeat.
    """
    return (text * size)[:size]


async def chat_with(
    store: MessageStore,
    model: ScriptedModel,
    count: int,
    tools: Sequence[Any] = (fetch,),
) -> tuple[str, list[Event], str | None]:
    """Run a chat several times; return its id, its events, and the last stop reason."""
    channels = ChatChannels(store, QUICK)
    agent = Agent(model, list(tools))
    runs = ChatRuns(store, channels, AgentResponder(agent), QUICK)
    chat = (await store.create_chat()).chat_id
    async with channels.open(chat) as channel:
        seen = 0
        for number in range(count):
            await runs.start(chat, [TextMessage("Go on.", id=f"question{number}")], None)
            while entries := await channel.read(seen):
                seen = entries[-1].sequence_number
    await runs.close()
    events: list[Event] = [dict(event) for event in await store.events(chat, limit=None)]
    return chat, events, events[-1].get("stopReason")


def calls_of(sizes: Sequence[tuple[int, str]]) -> list[Any]:
    return [
        ToolCall(f"call{number}", "fetch", {"size": size, "text": text})
        for number, (size, text) in enumerate(sizes)
    ]


def results_in(messages: Sequence[Message]) -> dict[str, str]:
    return {
        result.tool_call_id: result.result
        for message in messages
        if isinstance(message, ToolAggregateMessage)
        for result in message.tool_results
        if not result.is_error
    }


TEXTS = st.sampled_from(["x", '"', "\n", "é", "\U0001f680", "\x01"])
SIZES = st.one_of(
    st.integers(0, 3 * LIMIT), st.integers(LIMIT - 1200, LIMIT), st.integers(LIMIT // 8, LIMIT // 2)
)


def test_results_of_any_size_and_sum_are_stored_published_and_read_alike(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @settings(max_examples=effort(10), deadline=None)
    @given(sizes=st.lists(st.tuples(SIZES, TEXTS), min_size=1, max_size=6))
    @example(sizes=[(7, "x"), *[(LIMIT // 3, "x")] * 4])
    @example(sizes=[(7, "x"), (LIMIT + 1, "x")])
    def law(sizes: list[tuple[int, str]]) -> None:
        async def main() -> None:
            model = ScriptedModel(calls_of(sizes), "Done.", "Again.", native_tools=True)
            async with MessageStore("sqlite://", max_message_bytes=LIMIT) as store:
                chat, events, stop_reason = await chat_with(store, model, 2)
                stored = await store.load(chat)
            assert stop_reason == "completed"
            assert stored.problems == ()
            expected = {f"call{at}": (text * size)[:size] for at, (size, text) in enumerate(sizes)}
            known = results_in(stored.messages)
            received = {
                event["toolCallId"]: event["result"]
                for event in events
                if event["kind"] == "tool_result" and event["done"]
            }
            assert known == received
            assert known.keys() == expected.keys()
            # The next request of the same run, and that of the next run.
            assert all(results_in(each.messages) == known for each in model.requests[1:])
            for call_id, text in expected.items():
                found = known[call_id]
                if found != text:
                    assert len(json.dumps(text, ensure_ascii=False).encode()) > LIMIT - 2500
                    beginning, _, notice = found.rpartition("\n[truncated: ")
                    assert text.startswith(beginning)
                    assert notice.endswith(f" of {len(text)} characters left out]")

        asyncio.run(asyncio.wait_for(main(), TEST_TIMEOUT))

    with caplog.at_level(logging.WARNING):
        law()
    assert caplog.records == []


def test_only_the_text_that_cannot_be_saved_is_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        long = "a" * (2 * LIMIT)
        model = ScriptedModel(calls_of([(7, "x")]), long, "Done.", native_tools=True)
        async with MessageStore("sqlite://", max_message_bytes=LIMIT) as store:
            chat, events, stop_reason = await chat_with(store, model, 2)
            stored = await store.load(chat)
        assert stop_reason == "completed"
        ends = [event["stopReason"] for event in events if event.get("status") == "finished"]
        assert ends == ["error", "completed"]
        assert results_in(stored.messages) == {"call0": "xxxxxxx"}
        assert results_in(model.requests[-1].messages) == {"call0": "xxxxxxx"}

    with caplog.at_level(logging.ERROR):
        asyncio.run(asyncio.wait_for(main(), TEST_TIMEOUT))
    assert [
        record.getMessage() for record in caplog.records if "athrow" in str(record.exc_info)
    ] == []


def test_a_call_that_is_too_long_does_not_affect_finished_calls(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        returned = asyncio.Event()

        @tool
        async def pay(amount: int) -> str:
            """Pay.

            Args:
                amount: Amount to pay.
            """
            returned.set()
            return f"{amount} paid"

        async def reply() -> AsyncIterator[ToolCall]:
            yield ToolCall("call", "pay", {"amount": 7})
            # A native call is complete once another begins.
            yield ToolCall("next", "fetch", {"size": 1, "text": "x"})
            await returned.wait()
            yield ToolCall("long", "fetch", LONG)

        model = ScriptedModel(reply(), "Done.", native_tools=True)
        async with MessageStore("sqlite://", max_message_bytes=LIMIT) as store:
            chat, events, _ = await chat_with(store, model, 2, [pay, fetch])
            rows = [json.loads(line) async for line in store.export_chat(chat)]
        ends = [event["stopReason"] for event in events if event.get("status") == "finished"]
        assert ends == ["error", "completed"]
        calls = [row for row in rows if row["type"] == "tool_call"]
        assert ("call", "done") in [(row["call_id"], row["status"]) for row in calls]
        assert "long" not in [row["call_id"] for row in calls]
        received = [event["result"] for event in events if event["kind"] == "tool_result"]
        assert received[0] == "7 paid"

    with caplog.at_level(logging.ERROR):
        asyncio.run(asyncio.wait_for(main(), TEST_TIMEOUT))
    assert "athrow" not in caplog.text
    assert "could not be stopped" not in caplog.text
