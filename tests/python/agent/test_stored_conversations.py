"""Conversations that a store keeps for an agent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import toolweave as tw
from coroutine_tests import collect, on_a_loop
from toolweave.agent import Agent
from toolweave.conversations import MemoryConversations
from toolweave.costs import Budget, Price
from toolweave.exceptions import ModelError
from toolweave.testing import ScriptedModel


def texts(messages: Any) -> list[str]:
    return [each.text for each in messages if isinstance(each, tw.TextMessage)]


async def stored(store: MemoryConversations, key: str = "ann-1") -> list[str]:
    conversation = await store.load(key)
    assert conversation is not None
    return texts(conversation.messages)


@on_a_loop
async def test_a_conversation_goes_on_where_it_ended() -> None:
    model = ScriptedModel("Hello.", "Ann.")
    agent = Agent(model)
    first = await agent.run("I am Ann.", conversation="ann-1", history=["Once upon a time"])
    second = await agent.run("Who am I?", conversation="ann-1", history=["not used"])
    assert texts(second.messages) == [
        "Once upon a time", "I am Ann.", "Hello.", "Who am I?", "Ann."
    ]  # fmt: skip
    assert texts(second.new_messages) == ["Who am I?", "Ann."]
    assert len(first.messages) == 3
    assert await agent.forget("ann-1")
    assert not await agent.forget("ann-1")


@on_a_loop
async def test_runs_without_a_key_store_nothing() -> None:
    store = MemoryConversations()
    await Agent(ScriptedModel("Hello."), conversations=store).run("Hi!")
    assert store.count == 0


@on_a_loop
async def test_a_failed_run_is_stored() -> None:
    store = MemoryConversations()
    agent = Agent(ScriptedModel(["Let me", ModelError("gone", "acme")]), conversations=store)
    with pytest.raises(ModelError, match="gone"):
        await agent.run("Hi!", conversation="ann-1")
    assert (await stored(store))[0] == "Hi!"


@on_a_loop
async def test_a_cancelled_run_is_stored_and_releases_the_conversation() -> None:
    store = MemoryConversations()
    started = asyncio.Event()

    async def hang() -> None:
        started.set()
        await asyncio.sleep(60)

    model = ScriptedModel("Well. <hang/>", "Yes?")
    agent = Agent(model, [hang], conversations=store)
    task = asyncio.create_task(agent.run("Hi!", conversation="ann-1"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await stored(store) == ["Hi!", "Well. "]
    result = await agent.run("Still there?", conversation="ann-1")
    assert result.text == "Yes?"


@on_a_loop
async def test_leaving_the_stream_stores_the_conversation() -> None:
    store = MemoryConversations()
    agent = Agent(ScriptedModel(["Well, ", "hello."]), conversations=store)
    stream = agent.stream("Hi!", conversation="ann-1")
    await anext(stream)
    await stream.aclose()
    assert await stored(store) == ["Hi!", "Well, "]


@on_a_loop
async def test_runs_of_a_conversation_are_serialized() -> None:
    agent = Agent(ScriptedModel(["a", "b"], ["c", "d"], ["e", "f"]))
    runs = [agent.run(f"{n}", conversation="ann-1") for n in range(3)]
    results = await asyncio.gather(*runs)
    assert [len(each.messages) for each in results] == [2, 4, 6]
    assert texts(results[-1].messages) == ["0", "ab", "1", "cd", "2", "ef"]


@pytest.mark.parametrize("how", ["cancel", "timeout"])
@on_a_loop
async def test_a_run_that_waits_for_its_turn_can_be_stopped(how: str) -> None:
    store = MemoryConversations()
    agent = Agent(ScriptedModel("Hello."), conversations=store, run_timeout=0.05)
    async with store.lock("ann-1"):
        run = agent.open("Hi!", conversation="ann-1")
        waiting = asyncio.create_task(run.wait())
        await asyncio.sleep(0)
        if how == "cancel":
            await run.cancel()
        result = await waiting
    assert result.stop_reason.value == {"cancel": "cancelled"}.get(how, how)
    assert store.count == 0
    # The lock was not lost.
    assert (await agent.run("Hi!", conversation="ann-1")).text == "Hello."


@on_a_loop
async def test_a_conversation_belongs_to_its_user() -> None:
    agent = Agent(ScriptedModel("Hello.", "Again."))
    await agent.run("Hi!", conversation="ann-1", user="ann")
    for other in ("bob", None):
        with pytest.raises(PermissionError, match="'ann-1' belongs to another user"):
            await agent.run("Hi!", conversation="ann-1", user=other)
    result = await agent.run("Hi!", conversation="ann-1", user="ann")
    assert len(result.messages) == 4


@on_a_loop
async def test_a_budget_of_the_conversation_counts_earlier_runs() -> None:
    model = ScriptedModel(*[[f"{n}", tw.UsageUpdate(4, 1)] for n in range(3)])
    prices = {"scripted": Price(1, 1, per=1)}
    agent = Agent(model, prices=prices, budget=Budget(9, "conversation"))
    reasons = [(await agent.run("Hi!", conversation="a")).stop_reason.value for _ in range(3)]
    assert reasons == ["completed", "completed", "budget"]


@on_a_loop
async def test_a_long_history_is_summarized_and_stored_so() -> None:
    store = MemoryConversations()
    summarizer = tw.Summarizer(ScriptedModel("They count."), max_messages=4, keep=2)
    agent = Agent(ScriptedModel("Five."), conversations=store, summarizer=summarizer)
    history = [tw.TextMessage(f"Number {n}") for n in range(5)]
    result = await agent.run("And?", conversation="ann-1", history=history)
    summary = "[Previous conversation summary]\nThey count."
    assert await stored(store) == [summary, "Number 3", "Number 4", "And?", "Five."]
    assert texts(result.new_messages) == ["And?", "Five."]
    conversation = await store.load("ann-1")
    assert conversation is not None
    assert conversation.summary == "They count."


@on_a_loop
async def test_a_store_that_fails_raises_to_the_reader() -> None:
    class Broken(MemoryConversations):
        async def save(self, conversation: tw.Conversation) -> None:
            raise OSError(f"disk full: {conversation.key}")

    agent = Agent(ScriptedModel("Hello.", ModelError("gone", "acme")), conversations=Broken())
    run = agent.open("Hi!", conversation="ann-1")
    with pytest.raises(OSError, match="disk full"):
        await collect(run)
    assert texts(run.messages) == ["Hi!", "Hello."]
    # The first error is the one to see.
    with pytest.raises(ModelError, match="gone"):
        await agent.run("Hi!", conversation="ann-1")


@on_a_loop
async def test_a_conversation_needs_a_message() -> None:
    with pytest.raises(ValueError, match="input or the conversation must have a message"):
        await Agent(ScriptedModel()).run(None, conversation="ann-1")
