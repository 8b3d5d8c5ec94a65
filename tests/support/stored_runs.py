"""Open stores, and a run with known writes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from toolweave import (
    Message,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolResult,
    UsageMessage,
)
from toolweave.store import MessageStore

TEST_TIMEOUT = 60.0
"""Seconds until a waiting test fails."""

OWNER = "server-1"


def with_store(
    url: str, scenario: Callable[[MessageStore], Awaitable[None]], **options: Any
) -> None:
    """Run a scenario on an open store."""

    async def main() -> None:
        async with MessageStore(url, **options) as store:
            await asyncio.wait_for(scenario(store), TEST_TIMEOUT)

    asyncio.run(main())


def driver_url(url: str) -> str:
    """Return the URL of an async engine of SQLAlchemy."""
    return url.replace("sqlite:", "sqlite+aiosqlite:").replace("postgresql:", "postgresql+asyncpg:")


def text(delta: str, message_id: str = "m", **more: Any) -> dict[str, Any]:
    return {"kind": "text", "messageId": message_id, "delta": delta, **more}


BOOK = ToolCall("call_0", "book", {"table": 4})
FETCH = ToolCall("call_1", "fetch", {"page": 10**30}, index=1)
BOOKED = ToolResult("call_0", "book", "booked", duration=0.5)
FETCHED = ToolResult("call_1", "fetch", "404", error_code="tool_error")


def of_reply(kind: str, generation: str, **own: Any) -> dict[str, Any]:
    """Return an event of a reply of the run `r`."""
    return {"kind": kind, "runId": "r", "generationId": generation, "role": "assistant", **own}


def called(*calls: ToolCall, generation: str) -> dict[str, Any]:
    message_fields = ToolAggregateMessage(calls, ()).to_dict()["toolCalls"]
    return of_reply(
        "tools_call", generation, messageId=f"{generation}.calls", toolCalls=message_fields
    )


def answered(result: ToolResult, generation: str) -> dict[str, Any]:
    message_fields = ToolAggregateMessage(
        [ToolCall(result.tool_call_id, "", {})], [result]
    ).to_dict()
    message_id = f"{generation}.calls_result_{result.tool_call_id}"
    own = {**message_fields["toolResults"][0], "messageId": message_id, "done": True}
    return {**of_reply("tool_result", generation, **own), "role": "tool"}


def reply(generation: str) -> list[dict[str, Any]]:
    """Return the writes of a reply with a text, two calls and their results."""
    owned = {"generation_id": generation}
    text_message = TextMessage(
        "Let me see.",
        role="assistant",
        id=f"{generation}.0",
        generation_id=generation,
        run_id="r",
        chat_id="c",
    )
    aggregate = ToolAggregateMessage(
        [BOOK, FETCH],
        [BOOKED, FETCHED],
        id=f"{generation}.calls",
        generation_id=generation,
        run_id="r",
        chat_id="c",
    )
    usage = UsageMessage(
        7, 5, id=f"{generation}.usage", generation_id=generation, run_id="r", chat_id="c"
    )
    used = {"messageId": usage.id, "inputTokens": 7, "outputTokens": 5, "cachedInputTokens": 0}

    def text_event(delta: str, **more: Any) -> dict[str, Any]:
        return of_reply("text", generation, messageId=f"{generation}.0", delta=delta, **more)

    return [
        {"events": [text_event("Let me")]},
        {
            "events": [
                text_event(" see."),
                text_event("", done=True),
                called(BOOK, generation=generation),
            ]
        },
        {"started": [BOOK], **owned},
        {"events": [called(FETCH, generation=generation)], "started": [FETCH], **owned},
        {"finished": [(FETCH, FETCHED)], **owned},
        {"events": [answered(FETCHED, generation)]},
        {"finished": [(BOOK, BOOKED)], **owned},
        {"events": [answered(BOOKED, generation), of_reply("usage", generation, **used)]},
        {
            "events": [{**aggregate.to_dict(), "done": True}],
            "messages": [text_message, aggregate, usage],
        },
    ]


def asked() -> dict[str, Any]:
    """Return the first write of a run."""
    question = TextMessage("A table, please.", id="u", chat_id="c")
    return {
        "messages": [question],
        "events": [
            text("A table, please.", "u", role="user", done=True),
            {"kind": "run", "runId": "r", "status": "started"},
        ],
    }


async def begin(store: MessageStore, *, lease: float = 30.0) -> None:
    """Start the run `r` in the chat `c`."""
    await store.create_chat("c")
    await store.start_run("c", "r", owner=OWNER, lease=lease, **asked())


async def perform_writes(store: MessageStore, writes: list[dict[str, Any]]) -> None:
    """Perform writes of the run."""
    for each in writes:
        await store.write("c", run_id="r", owner=OWNER, **each)


def results_of(messages: tuple[Message, ...]) -> dict[tuple[str | None, str], ToolResult]:
    """Return the results in a history, by reply and call."""
    return {
        (message.generation_id, result.tool_call_id): result
        for message in messages
        if isinstance(message, ToolAggregateMessage)
        for result in message.tool_results
    }
