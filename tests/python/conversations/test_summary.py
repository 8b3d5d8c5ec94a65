"""Summaries: messages that are replaced, messages that stay, and failures of the model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coroutine_tests import on_a_loop
from toolweave import (
    FinishUpdate,
    Message,
    ModelError,
    ModelOptions,
    ReasoningMessage,
    Role,
    Summarizer,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallMessage,
    ToolResult,
    ToolResultMessage,
    UnknownMessage,
    UsageMessage,
    UsageUpdate,
    estimate_tokens,
)
from toolweave.summary import SUMMARY, ShortenedConversation
from toolweave.testing import ScriptedModel

SYSTEM, USER, ASSISTANT = Role.SYSTEM, Role.USER, Role.ASSISTANT


def text(content: str, role: Role = USER, **envelope: Any) -> TextMessage:
    return TextMessage(content, role=role, **envelope)


def called(*ids: str, result: str | None = "found") -> ToolAggregateMessage:
    results = [] if result is None else [ToolResult(each, "find", result) for each in ids]
    return ToolAggregateMessage([ToolCall(each, "find", {"id": each}) for each in ids], results)


def calls(*ids: str) -> ToolCallMessage:
    return ToolCallMessage([ToolCall(each, "find", {"id": each}) for each in ids])


def results(*ids: str) -> ToolResultMessage:
    return ToolResultMessage([ToolResult(each, "find", "found") for each in ids])


IMAGE = UnknownMessage("image", {"url": "data:image/png;base64,AAAA"})
TALK: list[Message] = [text(f"word {at}", (USER, ASSISTANT)[at % 2]) for at in range(10)]


async def shorten(
    messages: Sequence[Message], *replies: Any, **options: Any
) -> tuple[ShortenedConversation | None, str]:
    """Return the result, and the messages that the model has read."""
    model = ScriptedModel(*replies or ["The summary."], name="small")
    shortened = await Summarizer(model, **options).shorten(messages)
    read = [message.text for request in model.requests for message in request.messages[1:]]  # type: ignore[union-attr]
    return shortened, "\n\n".join(read)


def retained(shortened: ShortenedConversation | None) -> list[Message]:
    """Return the messages without the summary."""
    assert shortened is not None
    assert shortened.summary is not None
    summaries = [
        message
        for message in shortened.messages
        if getattr(message, "text", "") == (f"{SUMMARY}\n{shortened.summary}")
    ]
    assert [message.role for message in summaries] == [SYSTEM]
    return [message for message in shortened.messages if message is not summaries[0]]


ids = st.sampled_from(["c1", "c2", "c3", "c4"])
some_ids = st.lists(ids, min_size=1, max_size=2, unique=True)
conversations = st.lists(
    st.one_of(
        st.tuples(st.just("text"), st.sampled_from([USER, ASSISTANT, SYSTEM])),
        st.tuples(st.sampled_from(["calls", "results", "called", "open"]), some_ids),
        st.tuples(st.sampled_from(["thought", "usage", "image"]), st.none()),
    ),
    max_size=25,
)


def built(entries: list[tuple[str, Any]]) -> list[Message]:
    """Return messages of which no two are equal."""
    messages: list[Message] = []
    for at, (kind, what) in enumerate(entries):
        message: Message = {
            "text": lambda what=what: text("said", what),
            "calls": lambda what=what: calls(*what),
            "results": lambda what=what: results(*what),
            "called": lambda what=what: called(*what),
            "open": lambda what=what: called(*what, result=None),
            "thought": lambda: ReasoningMessage("thought"),
            "usage": lambda: UsageMessage(5, 5),
            "image": lambda: IMAGE,
        }[kind]()
        messages.append(message.__replace__(id=str(at)))
    return messages


def counts(message: Message) -> bool:
    return message.role is not SYSTEM and not isinstance(message, (UsageMessage, UnknownMessage))


@given(conversations, st.integers(1, 10), st.integers(0, 5))
def test_a_summary_keeps_instructions_and_separates_no_call_from_its_result(
    entries: list[tuple[str, Any]], most: int, keep: int
) -> None:
    messages = built(entries)
    keep = min(keep, most - 1)

    @on_a_loop
    async def check() -> None:
        shortened, _ = await shorten(messages, max_messages=most, keep=keep)
        counted = [message for message in messages if counts(message)]
        if shortened is None:
            return
        assert len(counted) > most
        stayed = retained(shortened)
        assert stayed == [message for message in messages if message in stayed]
        assert len(messages) - len(stayed) == shortened.summarized > 0
        assert all(message in stayed for message in counted[len(counted) - keep :])
        for message in messages:
            if isinstance(message, UnknownMessage) or message.role is SYSTEM:
                assert message in stayed
        users = [message for message in messages if message.role is USER and counts(message)]
        assert all(message in stayed for message in users[-1:])
        # A result stays with its call, and goes with it; a call without one stays.
        waiting: dict[str, Message] = {}
        for message in messages:
            waiting.update((call.id, message) for call in getattr(message, "tool_calls", ()))
            for result in getattr(message, "tool_results", ()):
                call = waiting.pop(result.tool_call_id, message)
                if message in stayed and call not in stayed:
                    raise AssertionError(f"{message} without {call}")
        assert all(message in stayed for message in waiting.values())

    check()


@on_a_loop
async def test_old_messages_become_a_summary_after_the_instructions() -> None:
    talk = [text("Be brief.", SYSTEM), *TALK]
    shortened, read = await shorten(talk, max_messages=9, keep=3)
    assert shortened is not None
    assert list(shortened.messages) == [
        talk[0],
        text(f"{SUMMARY}\nThe summary.", SYSTEM),
        *TALK[-3:],
    ]
    assert (shortened.summary, shortened.summarized, shortened.error) == ("The summary.", 7, None)
    assert read == "\n\n".join(f"{('User', 'Assistant')[at % 2]}: word {at}" for at in range(7))


@on_a_loop
async def test_a_short_conversation_is_not_summarized() -> None:
    model = ScriptedModel()
    assert await Summarizer(model, max_messages=10).shorten(TALK) is None
    assert await Summarizer(model, max_messages=None, max_tokens=10_000).shorten(TALK) is None
    assert await Summarizer(model).shorten("Hi!") is None
    assert not Summarizer(model, max_messages=10).is_due(TALK)
    assert Summarizer(model, max_messages=9).is_due(TALK)
    assert model.requests == []


@on_a_loop
async def test_a_few_messages_with_many_tokens_are_summarized() -> None:
    talk = [text("a " * 500), text("b", ASSISTANT), text("c")]
    tokens = estimate_tokens(talk)
    assert (await shorten(talk, max_messages=None, max_tokens=tokens, keep=1))[0] is None
    shortened, read = await shorten(talk, max_messages=20, max_tokens=tokens - 1, keep=1)
    assert retained(shortened) == [talk[2]]
    assert "a a a" in read


@on_a_loop
async def test_calls_and_results_are_summarized_with_their_content() -> None:
    talk = [text("Find it."), calls("c1"), results("c1"), called("c2"), *TALK[1:6]]
    failed = ToolResult("c9", "send", "no route", is_error=True)
    talk.insert(4, ToolAggregateMessage([ToolCall("c9", "send", {"to": "zoë"})], [failed]))
    _, read = await shorten(talk, max_messages=5, keep=2)
    for line in (
        'Assistant called the tool find: {"id": "c1"}',
        "The tool find answered: found",
        'Assistant called the tool send: {"to": "zoë"}',
        "The tool send failed: no route",
    ):
        assert line in read


@on_a_loop
async def test_a_long_result_is_truncated_with_a_note() -> None:
    talk = [called("c1", result="x" * 50_000 + "the end"), *TALK]
    _, read = await shorten(talk, max_messages=5, keep=2)
    assert "[46007 characters left out]" in read
    assert "the end\n" in read
    assert len(read) < 6_000


@on_a_loop
async def test_a_cut_between_a_call_and_its_result_moves_before_the_call() -> None:
    talk = [*TALK[:4], calls("c1", "c2"), results("c1"), text("wait", ASSISTANT), results("c2")]
    shortened, _ = await shorten([*talk, text("thanks")], max_messages=5, keep=2)
    assert retained(shortened) == [*talk[4:], text("thanks")]


@on_a_loop
async def test_a_cut_moves_before_all_calls_that_overlap() -> None:
    talk = [calls("c1"), text("a"), calls("c2"), results("c1"), text("b"), results("c2")]
    shortened, _ = await shorten([*TALK, *talk, text("thanks")], max_messages=5, keep=3)
    assert retained(shortened) == [*talk, text("thanks")]


@on_a_loop
async def test_a_pending_call_stays_and_messages_around_it_are_summarized() -> None:
    waiting = called("c1", result=None)
    shortened, _ = await shorten([*TALK[:3], waiting, *TALK[3:]], max_messages=5, keep=2)
    assert retained(shortened) == [waiting, *TALK[-2:]]


@on_a_loop
async def test_the_messages_of_one_reply_stay_together() -> None:
    reply = [
        ReasoningMessage("Hm.", generation_id="g"),
        text("I look it up.", ASSISTANT, generation_id="g"),
        called("c1").__replace__(generation_id="g"),
        UsageMessage(5, 5, generation_id="g"),
    ]
    shortened, _ = await shorten([*TALK, *reply, text("And?")], max_messages=5, keep=2)
    assert retained(shortened) == [*reply, text("And?")]


@on_a_loop
async def test_the_latest_message_of_the_user_stays_though_much_came_after_it() -> None:
    rounds = [called(f"c{at}") for at in range(12)]
    shortened, read = await shorten([*TALK[:3], *rounds], max_messages=10, keep=2)
    assert retained(shortened) == [TALK[2], *rounds[-2:]]
    assert "word 2" not in read
    assert shortened is not None
    assert shortened.messages[1] == TALK[2]


@on_a_loop
async def test_content_of_other_kinds_is_not_summarized() -> None:
    shortened, read = await shorten([TALK[0], IMAGE, *TALK[1:]], max_messages=5, keep=2)
    assert retained(shortened) == [IMAGE, *TALK[-2:]]
    assert "image" not in read


@on_a_loop
async def test_reasoning_and_usage_are_dropped() -> None:
    talk = [TALK[0], ReasoningMessage("a secret"), UsageMessage(77, 77), *TALK[1:]]
    shortened, read = await shorten(talk, max_messages=5, keep=2)
    assert retained(shortened) == TALK[-2:]
    assert "secret" not in read
    assert "77" not in read


@on_a_loop
async def test_a_summary_includes_the_previous_one() -> None:
    first, _ = await shorten([text("Be brief.", SYSTEM), *TALK], max_messages=5, keep=2)
    assert first is not None
    again = [*first.messages, *TALK]
    second, read = await shorten(again, "All of it.", max_messages=5, keep=2)
    assert read.startswith("Summary of what was before: The summary.\n\nUser: word 8")
    assert second is not None
    assert [message.text for message in second.messages if message.role is SYSTEM] == [  # type: ignore[union-attr]
        "Be brief.",
        f"{SUMMARY}\nAll of it.",
    ]


@on_a_loop
async def test_a_summary_alone_is_not_summarized_again() -> None:
    summary = text(f"{SUMMARY}\n{'long ' * 500}", SYSTEM)
    shortened, _ = await shorten([summary, TALK[0]], max_messages=None, max_tokens=10, keep=0)
    assert shortened is None


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (ModelError("overloaded", "acme", 503), "overloaded"),
        (["Half a", ModelError("gone")], "gone"),
        (
            ["Half a", FinishUpdate("length")],
            "the summary of the conversation was cut off (length)",
        ),
        ([" \n"], "the summary of the conversation is empty"),
    ],
)
@on_a_loop
async def test_a_model_that_fails_leaves_the_conversation_and_is_reported(
    reply: Any, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "toolweave.summary"):
        shortened, _ = await shorten(TALK, reply, max_messages=5)
    assert shortened is not None
    assert shortened.messages == tuple(TALK)
    assert (shortened.summary, shortened.summarized, shortened.usage) == (None, 0, None)
    assert str(shortened.error) == message
    assert [record.getMessage() for record in caplog.records] == ["a summary could not be made"]


@on_a_loop
async def test_the_usage_of_a_summary_is_reported_or_estimated() -> None:
    counted, _ = await shorten(TALK, ["Sum.", UsageUpdate(70, 3, 20)], max_messages=5)
    assert counted is not None
    assert counted.usage is not None
    assert (counted.usage.input_tokens, counted.usage.cached_input_tokens) == (70, 20)
    assert counted.estimated is False
    guessed, _ = await shorten(TALK, "Sum.", max_messages=5)
    assert guessed is not None
    assert guessed.usage is not None
    assert guessed.usage.input_tokens > 100
    assert guessed.estimated is True


@on_a_loop
async def test_the_application_can_set_the_instructions() -> None:
    model = ScriptedModel("Sum.")
    options = ModelOptions(max_tokens=100)
    summarizer = Summarizer(model, max_messages=5, instructions="In one line.", options=options)
    await summarizer.shorten([{"role": "user", "content": f"{at}"} for at in range(6)])
    assert model.requests[0].messages[0] == text("In one line.", SYSTEM)
    assert model.requests[0].options is options


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_messages": 0}, "max_messages must be an integer of at least 1, or None, got 0"),
        ({"max_tokens": -1}, "max_tokens must be an integer of at least 1, or None, got -1"),
        ({"max_messages": None}, "max_messages, max_tokens, or both must be given, got neither"),
        ({"keep": -1}, "keep must be an integer of at least 0, got -1"),
        ({"max_messages": 4}, "keep must be below max_messages, 4, got 4"),
    ],
)
def test_invalid_options_are_refused_with_a_message(options: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        Summarizer(ScriptedModel(), **options)
