"""Conversations: equal after JSON, and isolated from the caller while in a store."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given

from conversation_strategies import conversations
from coroutine_tests import on_a_loop
from toolweave import (
    Conversation,
    ConversationStore,
    Cost,
    MemoryConversations,
    MessageError,
    TextMessage,
)
from toolweave.conversations import Interaction


@given(conversations)
def test_a_conversation_is_the_same_after_json(conversation: Conversation) -> None:
    written = json.dumps(conversation.to_dict())
    read = Conversation.from_dict(json.loads(written))
    assert read == conversation
    assert json.dumps(read.to_dict()) == written


@given(conversations)
def test_a_copy_is_equal_and_independent(conversation: Conversation) -> None:
    before = json.dumps(conversation.to_dict())
    copy = conversation.copy()
    assert copy == conversation
    copy.messages.append(TextMessage("more"))
    copy.metadata["more"] = 1
    copy.pending.append(Interaction("i", "c", "s", "f", {}))
    for call in copy.pending:
        call.arguments["more"] = 1  # type: ignore[index]
    assert json.dumps(conversation.to_dict()) == before


def test_all_but_the_key_may_be_missing() -> None:
    assert Conversation.from_dict({"key": "k"}) == Conversation("k")


def test_the_wire_format_is_unchanged() -> None:
    conversation = Conversation(
        "k",
        [TextMessage("Hi!")],
        cost=Cost(Decimal("0.0000001"), requests=1),
        pending=[Interaction("i1", "c1", "Map", "locate", {"exact": True})],
        scene="Map",
    )
    assert conversation.to_dict() == {
        "key": "k",
        "messages": [{"kind": "text", "role": "user", "text": "Hi!"}],
        "summary": None,
        "cost": {
            "amount": "0.0000001",
            "currency": "USD",
            "requests": 1,
            "inputTokens": 0,
            "outputTokens": 0,
            "cachedInputTokens": 0,
            "estimated": False,
            "unpriced": [],
        },
        "pending": [
            {
                "interactionId": "i1",
                "callId": "c1",
                "scene": "Map",
                "function": "locate",
                "arguments": {"exact": True},
            }
        ],
        "scene": "Map",
        "metadata": {},
    }


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "`key` of a conversation must be a string, got NoneType"),
        (
            {"key": "k", "messages": "Hi"},
            "`messages` of a conversation must be a list of objects, got",
        ),
        (
            {"key": "k", "messages": ["Hi"]},
            "`messages` of a conversation must be a list of objects, got",
        ),
        ({"key": "k", "metadata": []}, "`metadata` of a conversation must be an object, got list"),
        ({"key": "k", "scene": 7}, "`scene` of a conversation must be a string, got int"),
        (
            {"key": "k", "cost": {"requests": "x"}},
            "`requests` must be an integer of at least 0, got 'x'",
        ),
        ({"key": "k", "pending": [{}]}, "`interactionId` of a conversation must be a string"),
    ],
)
def test_an_invalid_conversation_is_refused_with_a_message(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Conversation.from_dict(fields)


def test_a_message_that_cannot_be_read_is_named() -> None:
    read = [{"kind": "text", "role": "user", "text": "Hi!"}, {"kind": "text", "role": 5}]
    with pytest.raises(MessageError) as raised:
        Conversation.from_dict({"key": "k", "messages": read})
    assert raised.value.index == 1


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def make_store(**options: Any) -> tuple[MemoryConversations, Clock]:
    clock = Clock()
    return MemoryConversations(clock=clock, **options), clock


async def known(store: ConversationStore, *keys: str) -> list[bool]:
    return [await store.load(key) is not None for key in keys]


@on_a_loop
async def test_what_was_saved_is_loaded_until_it_is_deleted() -> None:
    store, _ = make_store()
    assert await store.load("k") is None
    await store.save(Conversation("k", summary="first"))
    await store.save(Conversation("k", summary="second"))
    assert await store.load("k") == Conversation("k", summary="second")
    assert [await store.delete("k"), await store.delete("k")] == [True, False]
    assert await store.load("k") is None


@on_a_loop
async def test_stored_conversations_change_only_by_saving() -> None:
    store, _ = make_store()
    mine = Conversation("k", metadata={"seen": []})
    await store.save(mine)
    mine.messages.append(TextMessage("unsaved"))
    mine.metadata["seen"].append(1)
    loaded = await store.load("k")
    assert loaded == Conversation("k", metadata={"seen": []})
    loaded.messages.append(TextMessage("unsaved"))
    loaded.metadata["seen"].append(1)
    assert await store.load("k") == Conversation("k", metadata={"seen": []})


@on_a_loop
async def test_a_conversation_expires_after_it_was_saved() -> None:
    store, clock = make_store(ttl=60.0)
    await store.save(Conversation("k"))
    clock.now += 59
    assert await store.load("k") is not None
    await store.save(Conversation("k"))
    clock.now += 59
    assert await store.load("k") is not None
    clock.now += 1
    assert await store.load("k") is None
    await store.save(Conversation("k"))
    clock.now += 60
    assert await store.delete("k") is False


@on_a_loop
async def test_without_a_ttl_a_conversation_never_expires() -> None:
    store, clock = make_store(ttl=None)
    await store.save(Conversation("k"))
    clock.now += 1e12
    assert await store.load("k") is not None


@on_a_loop
async def test_the_least_recently_used_conversations_are_evicted() -> None:
    store, _ = make_store(max_conversations=2)
    await store.save(Conversation("a"))
    await store.save(Conversation("b"))
    await store.load("a")
    await store.save(Conversation("c"))
    assert await known(store, "a", "b", "c") == [True, False, True]
    for number in range(100):
        await store.save(Conversation(str(number)))
        assert store.count <= 2
    assert await known(store, "98", "99") == [True, True]


@on_a_loop
async def test_expired_conversations_are_evicted_over_time() -> None:
    store, clock = make_store(ttl=10.0)
    for number in range(100):
        await store.save(Conversation(f"old {number}"))
    clock.now += 10
    for number in range(100):
        await store.save(Conversation(f"new {number}"))
    assert store.count == 100


@on_a_loop
async def test_a_lock_serializes_changes_of_one_conversation() -> None:
    store, _ = make_store()

    async def say(number: int) -> None:
        async with store.lock("k"):
            conversation = await store.load("k") or Conversation("k")
            await asyncio.sleep(0)
            conversation.messages.append(TextMessage(str(number)))
            await store.save(conversation)

    await asyncio.gather(*map(say, range(20)))
    conversation = await store.load("k")
    assert conversation is not None
    assert conversation.messages == [TextMessage(str(number)) for number in range(20)]


@on_a_loop
async def test_locks_of_different_keys_are_independent() -> None:
    store, _ = make_store()
    async with store.lock("a"), store.lock("b"):
        pass


@on_a_loop
async def test_a_cancelled_waiter_leaves_the_lock_to_others() -> None:
    store, _ = make_store()

    async def hold() -> None:
        async with store.lock("k"):
            pass

    async with store.lock("k"):
        tasks = [asyncio.create_task(hold()) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.sleep(0)
        assert [task.done() for task in tasks] == [True, False, False]
    await asyncio.gather(*tasks[1:])
    with pytest.raises(KeyError):
        async with store.lock("k"):
            raise KeyError("the lock is given back all the same")
    await hold()


@on_a_loop
async def test_unused_locks_are_removed() -> None:
    store, _ = make_store()
    for number in range(10):
        async with store.lock(str(number)):
            assert len(store._locks) == 1
    assert store._locks == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ttl": 0}, "ttl must be a number above 0, or None, got 0"),
        ({"max_conversations": 0}, "max_conversations must be an integer of at least 1, got 0"),
    ],
)
def test_invalid_options_are_refused_with_a_message(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_store(**options)
