"""Loaded histories are valid for providers, whatever was stored, and repairs are reported."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text as sql

from damaged_histories import damaged
from effort import effort
from stored_runs import BOOK, BOOKED, FETCH, FETCHED, with_store
from toolweave import (
    ChatNotFoundError,
    Message,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallMessage,
    ToolResult,
    ToolResultMessage,
    UnknownMessage,
    to_anthropic,
    to_openai,
)
from toolweave.store import History, MessageStore

HI = TextMessage("Hi!", id="hi")
CALLS = ToolCallMessage([BOOK, FETCH], id="calls")
RESULTS = ToolResultMessage([BOOKED, FETCHED], id="results")
LATE = ToolResultMessage([FETCHED], id="late")


def all_loaded(chats: Iterable[Iterable[Message]], url: str = "sqlite://") -> list[History]:
    """Write chats with these messages, and return their loaded histories."""
    found: list[History] = []

    async def scenario(store: MessageStore) -> None:
        for messages in chats:
            chat = await store.create_chat()
            await store.write(chat.chat_id, messages=messages)
            found.append(await store.load(chat.chat_id))

    with_store(url, scenario)
    return found


def loaded(*messages: Message, url: str = "sqlite://") -> History:
    """Write a chat with these messages, and return its loaded history."""
    return all_loaded([messages], url)[0]


def kinds(history: History) -> list[tuple[str, str, str | None]]:
    return [(each.kind, each.message_id, each.tool_call_id) for each in history.problems]


@settings(max_examples=effort(25))
@given(st.lists(damaged, max_size=8))
def test_providers_accept_every_loaded_history(chats: list[list[Message]]) -> None:
    for messages, history in zip(chats, all_loaded(chats), strict=True):
        to_openai(history.messages, dangling="raise")
        to_anthropic(history.messages, dangling="raise")
        assert [m for m in history.messages if isinstance(m, TextMessage)] == [
            each.message
            for each in history.stored
            if isinstance(each.message, TextMessage) and each.message.role != "tool"
        ]
        # Every omitted message is reported.
        reported = {problem.sequence_number for problem in history.problems}
        left = {each.sequence_number for each in history.stored}
        for number, message in enumerate(messages, 1):
            moved = isinstance(message, ToolResultMessage)
            assert number in left or number in reported or moved


@settings(max_examples=effort(10))
@given(st.lists(damaged, max_size=8))
def test_a_valid_history_is_loaded_unchanged(chats: list[list[Message]]) -> None:
    once = all_loaded(chats)
    again = all_loaded([history.messages for history in once])
    assert [history.messages for history in again] == [history.messages for history in once]
    assert [history.problems for history in again] == [()] * len(chats)


def test_calls_with_their_results_stay_as_they_are(store_url: str) -> None:
    history = loaded(HI, CALLS, RESULTS, HI.__replace__(id="bye"), url=store_url)
    assert history.messages == (HI, CALLS, RESULTS, HI.__replace__(id="bye"))
    assert history.problems == ()


def test_separated_results_are_moved_to_their_calls() -> None:
    history = loaded(CALLS, HI, RESULTS)
    aggregate = ToolAggregateMessage([BOOK, FETCH], [BOOKED, FETCHED], id="calls")
    assert history.messages == (aggregate, HI)
    assert history.problems == ()


def test_a_call_without_a_result_is_interrupted() -> None:
    history = loaded(CALLS, LATE)
    assert kinds(history) == [("interrupted", "calls", "call_0")]
    [message] = history.messages
    assert isinstance(message, ToolAggregateMessage)
    assert [result.error_code for result in message.tool_results] == ["interrupted", "tool_error"]
    assert "before it started" in message.tool_results[0].result


def test_orphan_and_duplicate_results_are_omitted() -> None:
    history = loaded(LATE, CALLS, RESULTS, LATE.__replace__(id="later"))
    assert kinds(history) == [
        ("orphan_result", "late", "call_1"),
        ("duplicate_result", "later", "call_1"),
    ]
    assert history.messages == (CALLS, RESULTS)


def test_an_id_that_repeats_means_its_last_call() -> None:
    second = ToolCallMessage([BOOK], id="again")
    history = loaded(ToolCallMessage([BOOK], id="first"), second, ToolResultMessage([BOOKED]))
    assert kinds(history) == [("interrupted", "first", "call_0")]
    assert history.messages[1] == second


def test_messages_of_unknown_kinds_are_stored_but_not_sent() -> None:
    image = UnknownMessage("image", {"url": "x"}, id="image")
    history = loaded(HI, image)
    assert history.messages == (HI,)
    assert [each.message for each in history.stored] == [HI, image]
    assert kinds(history) == [("unknown", "image", None)]


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"kind":"text"}', "\\x00"])
def test_a_row_that_cannot_be_read_is_named(store_url: str, damage: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        await store.write("c", messages=[HI, CALLS, RESULTS])
        statement = sql("UPDATE messages SET message_json = :damage WHERE id = 'calls'")
        async with store.database.engine.begin() as connection:
            await connection.execute(statement, {"damage": damage})
        history = await store.load("c")
        assert history.messages == (HI,)
        assert kinds(history)[0] == ("unreadable", "calls", None)
        assert {kind for kind, _, _ in kinds(history)[1:]} == {"orphan_result"}
        assert "message 2 ('calls')" in history.problems[0].message

    with_store(store_url, scenario)


def test_a_page_of_a_history_is_reconciled_like_the_whole(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        await store.write("c", messages=[HI, CALLS, LATE, HI.__replace__(id="bye"), LATE])
        whole = await store.load("c")
        pages = [await store.load("c", after=after, limit=1) for after in (0, 1, 3)]
        assert [page.messages for page in pages] == [(m,) for m in whole.messages]
        assert [page.stored for page in pages] == [(each,) for each in whole.stored]
        assert (await store.load("c", after=9)).messages == ()

    with_store(store_url, scenario)


def test_values_that_json_libraries_change_are_kept(store_url: str) -> None:
    values: list[Any] = [
        10**40,
        -(10**30),
        0.1,
        1e300,
        "\ud83d\ude00 \u0000 é",
        {"z": 1, "a": [None]},
    ]
    message = TextMessage(
        "\u0000 é 😀", id="m", metadata={"values": values[:4], "order": values[5]}
    )

    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c", metadata={"n": 10**40, "nul": "\u0000"})
        event = {"kind": "mine", "n": 10**40, "z": 1, "a": "\u0000"}
        written = await store.write("c", messages=[message], events=[event])
        assert (await store.load("c")).messages == (message,)
        [found] = await store.events("c")
        assert found == written.events[0]
        assert list(found)[4:] == ["n", "z", "a"]
        chat = await store.chat("c")
        assert chat is not None
        assert chat.metadata == {"n": 10**40, "nul": "\u0000"}

    with_store(store_url, scenario)


@pytest.mark.parametrize(
    "use",
    [
        lambda store, name: store.create_chat(name),
        lambda store, name: store.create_chat("d", user_id=name),
        lambda store, name: store.write("c", messages=[TextMessage("x", id=name)]),
        lambda store, name: store.start_run("c", name, owner="me"),
        lambda store, name: store.start_run("c", "r", owner=name),
        lambda store, name: store.add_pending("c", name, kind="deferred", call=BOOK),
    ],
)
def test_ids_that_databases_reject_are_refused(
    use: Callable[[MessageStore, str], Awaitable[object]],
) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        for name in ("", "x" * 256, "a\nb", "a\0b", "\ud800"):
            with pytest.raises(ValueError, match=r"characters long|control character|surrogates"):
                await use(store, name)
        chat = await store.chat("c")
        assert chat is not None
        assert chat.last_message == 0
        assert await store.active_run("c") is None

    with_store("sqlite://", scenario)


def test_an_invalid_id_matches_nothing(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        for name in ("", "x" * 256, "a\0b", "\ud800"):
            assert await store.chat(name) is None
            assert await store.chats(user_id=name) == []
            assert await store.events(name) == []
            assert (await store.load(name)).messages == ()
            assert await store.run(name) is None
            assert await store.resolve(name, 1, chat_id="c") == "not_found"
            assert not await store.delete_chat(name)
            with pytest.raises(ChatNotFoundError):
                await store.write(name, messages=[HI])

    with_store(store_url, scenario)


def test_calls_with_any_name_and_id_are_stored(store_url: str) -> None:
    call = ToolCall("\0 é", "\0", {"\0": "\0"})

    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        await store.write("c", messages=[ToolCallMessage([call])], started=[call])
        await store.write("c", finished=[(call, ToolResult(call.id, call.name, "\0"))])
        [message] = (await store.load("c")).messages
        assert isinstance(message, ToolAggregateMessage)
        assert message.tool_results == (ToolResult(call.id, call.name, "\0"),)
        key = await store.add_pending("c", kind="question", call=call, question="\0?")
        assert (await store.pending("c"))[0].call == call
        assert await store.resolve(key, "\0", chat_id="c") == "resolved"
        found = await store.resolution(key, chat_id="c")
        assert found is not None
        assert found.value == "\0"

    with_store(store_url, scenario)
