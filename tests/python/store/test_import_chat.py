"""Import of chats from existing messages."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolweave as tw
from effort import effort
from stored_runs import with_store
from toolweave.store import MessageStore

EXCHANGE = tw.ToolAggregateMessage(
    [tw.ToolCall("call_0", "f", {"a": 1})], [tw.ToolResult("call_0", "f", "one")]
)


def test_an_imported_chat_is_like_any_other(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        messages = [tw.TextMessage("Go on.", id="m1"), EXCHANGE]
        chat = await store.import_chat(messages, "c", user_id="ann", metadata={"from": "file"})
        assert (chat.chat_id, chat.user_id, chat.metadata) == ("c", "ann", {"from": "file"})
        await store.write("c", messages=[tw.TextMessage("Done.", role="assistant")])
        history = await store.load("c")
        assert history.problems == ()
        assert [each.sequence_number for each in history.stored] == [1, 2, 3]
        first, exchange, _ = history.messages
        assert first.id == "m1"
        assert isinstance(exchange, tw.ToolAggregateMessage)
        assert exchange.tool_results == EXCHANGE.tool_results
        unnamed = await store.import_chat(messages)
        assert len((await store.load(unnamed.chat_id)).messages) == 2

    with_store(store_url, scenario)


@pytest.mark.parametrize(
    ("messages", "chat_id", "error", "says"),
    [
        ([tw.TextMessage("a"), tw.TextMessage("b", chat_id="d")], "c", tw.MessageError, "chat_id"),
        ([tw.TextMessage("a", id="x"), tw.TextMessage("b", id="x")], "c", tw.MessageError, "'x'"),
        (
            [tw.TextMessage("a"), "b"],
            "c",
            TypeError,
            "a message must be a message of toolweave, got str",
        ),
        ([], "", ValueError, "chat_id must be 1 to"),
        ([tw.TextMessage("a")], "taken", tw.StoreError, "the chat 'taken' already exists"),
    ],
)
def test_a_failed_import_leaves_nothing(
    messages: list[tw.Message], chat_id: str, error: type[Exception], says: str, store_url: str
) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.import_chat([tw.TextMessage("first")], "taken")
        with pytest.raises(error, match=says):
            await store.import_chat(messages, chat_id)
        assert [chat.chat_id for chat in await store.chats()] == ["taken"]
        assert len((await store.load("taken")).messages) == 1

    with_store(store_url, scenario)


@settings(max_examples=effort(20))
@given(st.lists(st.sampled_from([tw.TextMessage("a"), tw.TextMessage("b"), EXCHANGE]), max_size=5))
def test_what_is_imported_is_loaded_in_its_order(messages: list[tw.Message]) -> None:
    async def scenario() -> None:
        async with MessageStore("sqlite://") as store:
            await store.import_chat(messages, "c")
            loaded = (await store.load("c")).messages
        assert [each.__replace__(id=None, chat_id=None) for each in loaded] == messages

    asyncio.run(scenario())
