"""Pages of a chat: consistent with the whole chat, at the cost of a page."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text as sql

from damaged_histories import calls, damaged, names, results
from effort import effort
from stored_runs import BOOK, BOOKED, FETCH, FETCHED, with_store
from toolweave import (
    Message,
    TextMessage,
    ToolAggregateMessage,
    ToolCallMessage,
    ToolResultMessage,
)
from toolweave.store import MessageStore

loose = st.lists(
    st.builds(TextMessage, names)
    | st.builds(ToolCallMessage, calls)
    | st.builds(ToolResultMessage, results),
    max_size=12,
)


chats = st.lists(st.tuples(damaged | loose, st.sets(st.integers(1, 12), max_size=3)), max_size=8)


@settings(max_examples=effort(8))
@given(chats, st.data())
def test_a_page_is_a_part_of_the_whole(
    chats: list[tuple[list[Message], set[int]]], data: st.DataObject
) -> None:
    async def scenario(store: MessageStore) -> None:
        for messages, unreadable in chats:
            chat = (await store.create_chat()).chat_id
            await store.write(chat, messages=messages)
            async with store.database.engine.begin() as connection:
                for number in unreadable:
                    statement = sql(
                        "UPDATE messages SET message_json = '{' "
                        "WHERE chat_id = :chat AND sequence_number = :at"
                    )
                    await connection.execute(statement, {"chat": chat, "at": number})
            whole = await store.load(chat)
            for _ in range(4):
                after = data.draw(st.integers(-1, len(messages) + 1))
                limit = data.draw(st.none() | st.integers(0, len(messages) + 1))
                assert await store.load(chat, after=after, limit=limit) == whole.page(after, limit)

    with_store("sqlite://", scenario)


def test_calls_and_results_far_apart_are_matched(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        between = [TextMessage(str(number)) for number in range(400)]
        call, result = ToolCallMessage([BOOK], id="call"), ToolResultMessage([BOOKED], id="result")
        await store.write("c", messages=[*between, call, *between, result, *between])
        whole = await store.load("c")
        for after in (390, 400, 401, 795, 801, 802):
            assert await store.load("c", after=after, limit=10) == whole.page(after, 10)

    with_store(store_url, scenario)


async def steps_of(store: MessageStore, chat_id: str, after: int) -> int:
    """Return the approximate number of SQLite's virtual machine steps for a page."""
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        return 0

    async with store.database.engine.connect() as connection:
        driver: Any = (await connection.get_raw_connection()).driver_connection
        await driver.set_progress_handler(step, 10)
    history = await store.load(chat_id, after=after, limit=20)
    assert len(history.stored) == 20
    return 10 * count


@pytest.mark.parametrize("is_open", [False, True])
def test_the_last_page_costs_what_the_first_one_does(is_open: bool) -> None:
    aggregate = ToolAggregateMessage([BOOK, FETCH], [BOOKED] if is_open else [BOOKED, FETCHED])

    async def scenario(store: MessageStore) -> None:
        costs: list[int] = []
        for length in (40, 4000):
            chat = (await store.create_chat()).chat_id
            await store.write(
                chat,
                messages=[
                    aggregate.__replace__(id=str(number))
                    if number % 20 == 0
                    else TextMessage("Hi!", id=str(number))
                    for number in range(length)
                ],
            )
            costs += [await steps_of(store, chat, at) for at in (0, length - 20)]
        assert max(costs[:2] + costs[3:]) < 2 * min(costs), costs
        # Only an open call makes SQLite scan further rows, without reading them.
        assert costs[2] < (20 * 4000 if is_open else 2 * min(costs)), costs

    with_store("sqlite://", scenario)
