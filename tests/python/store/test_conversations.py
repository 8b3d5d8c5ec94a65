"""Conversations in a store: storage, locks across processes, and their use by scenes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculator_scenes import manager_of
from conversation_strategies import conversations
from effort import effort
from toolweave import Conversation, StoreError, TextMessage
from toolweave.store import MessageStore, StoreConversations

TIMEOUT = 30.0

HOLDER = """
import asyncio, sys
from toolweave.store import MessageStore, StoreConversations

async def main():
    async with MessageStore(sys.argv[1]) as store:
        async with StoreConversations(store, lease=float(sys.argv[2])).lock("ann"):
            print("held", flush=True)
            sys.stdin.readline()

asyncio.run(main())
"""


def on(url: str, scenario: Callable[[StoreConversations], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with MessageStore(url, poll=0.02) as store:
            await asyncio.wait_for(scenario(StoreConversations(store, **options)), TIMEOUT)

    asyncio.run(main())


def holder(url: str, lease: float) -> subprocess.Popen[str]:
    """Start a process that holds the lock of `ann` until it reads a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, url, str(lease)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@settings(max_examples=effort(10))
@given(st.lists(conversations, max_size=10))
def test_what_is_loaded_is_what_was_saved(saved: list[Conversation]) -> None:
    async def scenario(kept: StoreConversations) -> None:
        for conversation in saved:
            conversation.key = "ann"
            await kept.save(conversation)
            assert await kept.load("ann") == conversation

    on("sqlite://", scenario)


def test_a_conversation_is_replaced_and_deleted(store_url: str) -> None:
    async def scenario(kept: StoreConversations) -> None:
        assert await kept.load("ann") is None
        await kept.save(Conversation("ann", [TextMessage("Hi!")]))
        await kept.save(Conversation("ann", [TextMessage("Bye!")]))
        found = await kept.load("ann")
        assert found is not None
        assert found.messages == [TextMessage("Bye!")]
        assert await kept.delete("ann")
        assert not await kept.delete("ann")
        assert await kept.load("ann") is None

    on(store_url, scenario)


def test_waiting_tasks_acquire_a_lock_in_order(store_url: str) -> None:
    async def scenario(kept: StoreConversations) -> None:
        order: list[int] = []

        async def use(number: int) -> None:
            async with kept.lock("ann"):
                order.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(use(number) for number in range(5)))
        assert order == [0, 1, 2, 3, 4]

    on(store_url, scenario)


def test_a_lock_holds_between_processes(store_url: str) -> None:
    process = holder(store_url, 30.0)
    assert process.stdin is not None

    async def scenario(kept: StoreConversations) -> None:
        async def use() -> None:
            async with kept.lock("ann"):
                pass

        async with kept.lock("bob"):
            pass  # the locks of other conversations are free
        waiting = asyncio.create_task(use())
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        assert not done
        await asyncio.to_thread(process.communicate, "go\n")
        await asyncio.wait_for(waiting, TIMEOUT)

    on(store_url, scenario)
    assert process.returncode == 0


def test_a_lock_of_a_killed_process_is_free_after_its_lease(store_url: str) -> None:
    process = holder(store_url, 0.2)
    process.kill()
    process.communicate()

    async def scenario(kept: StoreConversations) -> None:
        async with kept.lock("ann"):
            pass

    on(store_url, scenario)


def test_a_holder_that_has_lost_the_lock_overwrites_nothing(store_url: str) -> None:
    now = 1000.0

    async def main() -> None:
        nonlocal now
        async with (
            MessageStore(store_url, clock=lambda: now) as one,
            MessageStore(store_url, clock=lambda: now) as other,
        ):
            first, second = StoreConversations(one), StoreConversations(other)
            async with first.lock("ann"):
                now += 31  # as if the process had been stopped for that long
                async with second.lock("ann"):
                    await second.save(Conversation("ann", summary="second"))
                with pytest.raises(StoreError, match=r"lock .* was lost"):
                    await first.save(Conversation("ann", summary="first"))
            found = await second.load("ann")
            assert found is not None
            assert found.summary == "second"

    asyncio.run(main())


def test_a_lock_is_released_if_its_holder_is_cancelled(store_url: str) -> None:
    async def scenario(kept: StoreConversations) -> None:
        held = asyncio.Event()

        async def use() -> None:
            async with kept.lock("ann"):
                held.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(use())
        await held.wait()
        task.cancel()
        await asyncio.wait([task])
        async with kept.lock("ann"):
            pass

    on(store_url, scenario)


def test_scenes_continue_a_conversation_in_a_store(store_url: str) -> None:
    async def main() -> None:
        for turn, reply in enumerate(["Hello Ann.", "Hello again."]):
            async with MessageStore(store_url) as store:
                kept = StoreConversations(store)
                manager = manager_of(reply, conversations=kept)
                result = await manager.run(f"turn {turn}", conversation="ann")
                assert result.text == reply
                found = await kept.load("ann")
                assert found is not None
                asked = [m.text for m in found.messages if isinstance(m, TextMessage)]
                assert [text for text in asked if text.startswith("turn")] == [
                    f"turn {number}" for number in range(turn + 1)
                ]

    asyncio.run(main())
