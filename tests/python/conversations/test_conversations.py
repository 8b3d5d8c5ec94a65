"""Conversations: the same after JSON, and nobody's but the store's while they are in it."""

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
def test_a_copy_is_equal_and_changes_alone(conversation: Conversation) -> None:
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


def test_the_wire_is_what_it_was() -> None:
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
    ("fields", "said"),
    [
        ({}, "a conversation needs `key`, a str, not NoneType"),
        ({"key": "k", "messages": "Hi"}, "`messages` of a conversation is a list of objects"),
        ({"key": "k", "messages": ["Hi"]}, "`messages` of a conversation is a list of objects"),
        ({"key": "k", "metadata": []}, "a conversation needs `metadata`, an object, not list"),
        ({"key": "k", "scene": 7}, "a conversation needs `scene`, a str, not int"),
        ({"key": "k", "cost": {"requests": "x"}}, "`requests` is a whole number from 0, not 'x'"),
        ({"key": "k", "pending": [{}]}, "a conversation needs `interactionId`, a str"),
    ],
)
def test_what_is_no_conversation_is_refused_in_a_sentence(
    fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
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


def store(**options: Any) -> tuple[MemoryConversations, Clock]:
    clock = Clock()
    return MemoryConversations(clock=clock, **options), clock


async def known(kept: ConversationStore, *keys: str) -> list[bool]:
    return [await kept.load(key) is not None for key in keys]


@on_a_loop
async def test_what_was_saved_is_loaded_until_it_is_deleted() -> None:
    kept, _ = store()
    assert await kept.load("k") is None
    await kept.save(Conversation("k", summary="first"))
    await kept.save(Conversation("k", summary="second"))
    assert await kept.load("k") == Conversation("k", summary="second")
    assert [await kept.delete("k"), await kept.delete("k")] == [True, False]
    assert await kept.load("k") is None


@on_a_loop
async def test_nobody_changes_what_is_stored_but_by_saving() -> None:
    kept, _ = store()
    mine = Conversation("k", metadata={"seen": []})
    await kept.save(mine)
    mine.messages.append(TextMessage("unsaved"))
    mine.metadata["seen"].append(1)
    loaded = await kept.load("k")
    assert loaded == Conversation("k", metadata={"seen": []})
    loaded.messages.append(TextMessage("unsaved"))
    loaded.metadata["seen"].append(1)
    assert await kept.load("k") == Conversation("k", metadata={"seen": []})


@on_a_loop
async def test_a_conversation_is_kept_for_its_time_after_it_was_saved() -> None:
    kept, clock = store(ttl=60.0)
    await kept.save(Conversation("k"))
    clock.now += 59
    assert await kept.load("k") is not None
    await kept.save(Conversation("k"))
    clock.now += 59
    assert await kept.load("k") is not None
    clock.now += 1
    assert await kept.load("k") is None
    await kept.save(Conversation("k"))
    clock.now += 60
    assert await kept.delete("k") is False


@on_a_loop
async def test_without_a_time_a_conversation_is_kept_for_ever() -> None:
    kept, clock = store(ttl=None)
    await kept.save(Conversation("k"))
    clock.now += 1e12
    assert await kept.load("k") is not None


@on_a_loop
async def test_of_too_many_those_go_that_were_used_least_lately() -> None:
    kept, _ = store(max_conversations=2)
    await kept.save(Conversation("a"))
    await kept.save(Conversation("b"))
    await kept.load("a")
    await kept.save(Conversation("c"))
    assert await known(kept, "a", "b", "c") == [True, False, True]
    for number in range(100):
        await kept.save(Conversation(str(number)))
        assert store.count <= 2
    assert await known(kept, "98", "99") == [True, True]


@on_a_loop
async def test_old_conversations_do_not_pile_up() -> None:
    kept, clock = store(ttl=10.0)
    for number in range(100):
        await kept.save(Conversation(f"old {number}"))
    clock.now += 10
    for number in range(100):
        await kept.save(Conversation(f"new {number}"))
    assert store.count == 100


@on_a_loop
async def test_two_that_go_on_with_one_conversation_do_so_one_after_the_other() -> None:
    kept, _ = store()

    async def say(number: int) -> None:
        async with kept.lock("k"):
            conversation = await kept.load("k") or Conversation("k")
            await asyncio.sleep(0)
            conversation.messages.append(TextMessage(str(number)))
            await kept.save(conversation)

    await asyncio.gather(*map(say, range(20)))
    conversation = await kept.load("k")
    assert conversation is not None
    assert conversation.messages == [TextMessage(str(number)) for number in range(20)]


@on_a_loop
async def test_locks_of_other_keys_are_not_waited_for() -> None:
    kept, _ = store()
    async with kept.lock("a"), kept.lock("b"):
        pass


@on_a_loop
async def test_who_stops_waiting_for_a_lock_leaves_it_to_others() -> None:
    kept, _ = store()

    async def hold() -> None:
        async with kept.lock("k"):
            pass

    async with kept.lock("k"):
        tasks = [asyncio.create_task(hold()) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.sleep(0)
        assert [task.done() for task in tasks] == [True, False, False]
    await asyncio.gather(*tasks[1:])
    with pytest.raises(KeyError):
        async with kept.lock("k"):
            raise KeyError("the lock is given back all the same")
    await hold()


@on_a_loop
async def test_locks_that_nobody_uses_are_forgotten() -> None:
    kept, _ = store()
    for number in range(10):
        async with kept.lock(str(number)):
            assert len(kept._locks) == 1
    assert kept._locks == {}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ttl": 0}, "ttl must be a number above 0, or None, got 0"),
        ({"max_conversations": 0}, "max_conversations must be an integer of at least 1, got 0"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        store(**options)
