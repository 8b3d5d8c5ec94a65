"""History processors: what a request sends, and what stays stored."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import toolweave as tw
from coroutine_tests import on_a_loop
from toolweave.agent import Agent
from toolweave.exceptions import MessageError
from toolweave.testing import ScriptedModel
from toolweave.tools import RunContext

CALL = tw.ToolCall("c1", "add", {"a": 1, "b": 2})
RESULT = tw.ToolResult("c1", "add", "3")
SEPARATE: list[tw.Message] = [
    tw.TextMessage("1 + 2?"),
    tw.ToolCallMessage([CALL]),
    tw.ToolResultMessage([RESULT]),
    tw.TextMessage("It is 3.", role="assistant"),
]


def add(a: int, b: int) -> int:
    return a + b


@on_a_loop
async def test_processors_change_what_is_sent_and_not_what_is_stored() -> None:
    seen: list[tuple[int, int]] = []

    def hide(messages: list[tw.Message]) -> list[tw.Message]:
        messages.reverse()  # its own copy
        return [
            m.__replace__(text="***") if isinstance(m, tw.TextMessage) else m
            for m in reversed(messages)
        ]

    async def count(context: RunContext[Any], messages: list[tw.Message]) -> list[tw.Message]:
        await asyncio.sleep(0)
        seen.append((context.iterations, len(messages)))
        return messages

    model = ScriptedModel('<add>{"a": 1, "b": 2}</add>', "It is 3.")
    agent = Agent(model, [add], instructions="Be brief.", history_processors=[hide, count])
    result = await agent.run("My card is 1234.")
    assert [each.text for each in result.messages if isinstance(each, tw.TextMessage)] == [
        "My card is 1234.",
        "It is 3.",
    ]
    assert [request.messages[1].text for request in model.requests] == ["***", "***"]
    assert model.requests[0].messages[0].text.startswith("Be brief.")
    assert seen == [(1, 1), (2, 2)]


@pytest.mark.parametrize(
    ("cut", "error"),
    [
        (lambda m: m[2:], r"got the result of 'add' \(c1\) in message 0 without its call"),
        (lambda m: [*m[:2], m[3]], r"got the call of 'add' \(c1\) in message 1 without its result"),
        (lambda m: [m[0], m[2], m[1], m[3]], r"got the result of 'add' \(c1\) in message 1"),
    ],
)
@on_a_loop
async def test_a_call_stays_with_its_result(cut: Any, error: str) -> None:
    agent = Agent(ScriptedModel(), [add], history_processors=[cut])
    run = agent.open("And?", history=SEPARATE)
    with pytest.raises(MessageError, match=error):
        await run.wait()
    assert run.messages[:-1] == tuple(SEPARATE)


@on_a_loop
async def test_a_call_whose_result_is_deferred_may_stay_alone() -> None:
    model = ScriptedModel("Wait.")
    agent = Agent(model, [add], history_processors=[lambda messages: messages[1:]])
    result = await agent.run("And?", history=SEPARATE[:2])
    assert result.text == "Wait."


@pytest.mark.parametrize(
    ("returned", "error", "text"),
    [
        (None, TypeError, "'<lambda>' must return messages, got None"),
        ([], ValueError, "'<lambda>' must keep a message, got none"),
        (7, TypeError, "the result of history processor '<lambda>'"),
    ],
)
@on_a_loop
async def test_a_processor_must_return_messages(
    returned: Any, error: type[Exception], text: str
) -> None:
    agent = Agent(ScriptedModel(), history_processors=[lambda _: returned])
    with pytest.raises(error, match=text):
        await agent.run("Hi!")


def test_processors_are_a_list_of_functions() -> None:
    with pytest.raises(TypeError, match="put a single one in a list"):
        Agent(ScriptedModel(), history_processors=add)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"history_processors\[0\] must be a function"):
        Agent(ScriptedModel(), history_processors=[7])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


@on_a_loop
async def test_a_summary_is_made_once_and_kept_while_it_suffices() -> None:
    summarizer = ScriptedModel("They count.", "They still count.")
    calls = [f'<add>{{"a": {n}, "b": 2}}</add>' for n in range(3)]
    model = ScriptedModel(*calls, "Done.")
    agent = Agent(
        model,
        [add],
        history_processors=[tw.Summarizer(summarizer, max_messages=6, keep=2)],
    )
    history = [tw.TextMessage(f"Number {n}") for n in range(6)]
    result = await agent.run("Add!", history=history)
    assert result.messages[:6] == tuple(history)
    assert all("They" in request.messages[0].text for request in model.requests)
    assert len(summarizer.requests) == 1


@on_a_loop
async def test_a_processor_is_cancelled_with_its_run() -> None:
    started = asyncio.Event()

    async def hang(messages: list[tw.Message]) -> list[tw.Message]:
        started.set()
        await asyncio.sleep(60)
        return messages

    run = Agent(ScriptedModel(), history_processors=[hang]).open("Hi!")
    waiting = asyncio.create_task(run.wait())
    await started.wait()
    await run.cancel()
    assert (await waiting).stop_reason is tw.StopReason.CANCELLED
