"""Types of chat clients: read by mypy and pyright, never run."""

from __future__ import annotations

import httpx
from typing_extensions import assert_type

from toolweave.client import (
    AnswerOutcome,
    AsyncChatClient,
    AsyncChatEvents,
    ChatClient,
    ChatEvents,
    MessageReceipt,
)
from toolweave.exceptions import ChatRequestError
from toolweave.lifecycle import StreamReducer


def blocking() -> None:
    with ChatClient("http://127.0.0.1:8000", http_client=httpx.Client()) as client:
        chat = client.start(metadata={"title": "Tea"})
        assert_type(chat, str)
        receipt = client.send(chat, "Hi!")
        assert_type(receipt, MessageReceipt)
        with client.follow(chat, reducer=StreamReducer()) as events:
            assert_type(events, ChatEvents)
            for event in events:
                if event["kind"] == "text":
                    assert_type(event["delta"], str)
        assert_type(events.last_sequence_number, int)
        assert_type(client.approve(chat, "key", False, reason="No."), AnswerOutcome)
        assert_type(client.stop(chat, receipt.run_id), bool)


async def concurrent() -> None:
    async with AsyncChatClient("http://127.0.0.1:8000", retries=3) as client:
        try:
            receipt = await client.send(await client.start(chat_id="c"))
        except ChatRequestError as error:
            assert_type(error.status, "int | None")
            assert_type(error.code, str)
            raise
        assert_type(receipt.message_id, "str | None")
        events = client.follow("c", after=receipt.sequence_number, further_runs=True)
        assert_type(events, AsyncChatEvents)
        async for event in events:
            if event["kind"] == "run":
                assert_type(event["runId"], str)
        assert_type(await client.answer("c", "key", {"size": 42}, is_error=False), AnswerOutcome)
