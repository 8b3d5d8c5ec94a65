"""Guarantee for journals: the reader has handled all events so far, or is leaving."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calculator_scenes import ENTER
from effort import effort
from executor_events import call
from toolweave import SceneManager, SceneRun, ToolCall, ToolResult
from toolweave.agent import Agent, AgentRun
from toolweave.executor import ToolExecutor, ToolProgress, ToolRun, ToolStarted
from toolweave.natural import NaturalToolUse, ReplyRun
from toolweave.testing import ScriptedModel
from toolweave.tools import ToolContext
from virtual_time import VirtualTimeLoop, run

AnyRun = ToolRun | ReplyRun | AgentRun | SceneRun

KINDS = ("tools", "reply", "agent", "scenes")
COUNT = 5
TIMEOUT = 20.0


async def speak() -> AsyncIterator[int]:
    """Yield numbers."""
    for number in range(COUNT):
        yield number


async def hang() -> AsyncIterator[int]:
    """Yield numbers and never end."""
    for number in range(COUNT):
        yield number
    await asyncio.Event().wait()


class CatchingUpJournal:
    """A journal that waits for the reader, and records the events handled by then."""

    def __init__(self) -> None:
        self.run: AnyRun | None = None
        self.handled: list[Any] = []
        self.seen: list[tuple[str, list[Any]]] = []

    async def started(self, call: ToolCall) -> None:
        assert call.name
        await self._record("started")

    async def finished(self, call: ToolCall, result: ToolResult) -> None:
        assert result.tool_call_id == call.id
        await self._record("finished")

    async def _record(self, what: str) -> None:
        assert self.run is not None
        await self.run.caught_up()
        self.seen.append((what, list(self.handled)))


def begin(kind: str, tool: Callable[..., Any], journal: CatchingUpJournal) -> AnyRun:
    written = f"Wait. <{tool.__name__}/>"
    if kind == "tools":
        tools = ToolExecutor([tool]).open(journal=journal)
        tools.submit(call(tool.__name__))
        tools.close()
        journal.run = tools
    elif kind == "reply":
        use = NaturalToolUse(ScriptedModel(written), [tool])
        journal.run = use.open("Hi!", journal=journal)
    elif kind == "agent":
        agent = Agent(ScriptedModel(written, "Done."), [tool])
        journal.run = agent.open("Hi!", journal=journal)
    else:
        manager = SceneManager(ScriptedModel(ENTER, written, "Done."), streaming=True)
        manager.scene("Calculator", "Calculates").tool(tool)
        journal.run = manager.open("Hi!", journal=journal)
    return journal.run


async def yield_control(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def tool_events(events: list[Any]) -> list[object]:
    """Return "started" for the start of the tool, and the values that it has reported."""
    return [
        "started" if isinstance(event, ToolStarted) else event.value
        for event in events
        if isinstance(event, (ToolStarted, ToolProgress))
    ]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=effort(25), deadline=None)
@given(paces=st.lists(st.integers(0, 9), min_size=1, max_size=6))
def test_a_result_is_recorded_after_all_earlier_events_were_read(
    kind: str, paces: list[int]
) -> None:
    async def main() -> None:
        journal = CatchingUpJournal()
        async with begin(kind, speak, journal) as reading:
            async for event in reading:
                # It is handled some turns of the loop after it was read.
                await yield_control(paces[len(journal.handled) % len(paces)])
                journal.handled.append(event)
        (_, at_start), (_, at_end) = journal.seen
        assert tool_events(at_start) == []
        if kind in ("reply", "agent"):
            assert [event.name for event in at_start if isinstance(event, ToolCall)] == ["speak"]
        if kind != "scenes":
            assert tool_events(at_end) == ["started", *range(COUNT)]
        else:
            # All steps before the result of the tool, and none after it.
            statuses = [step.status for step in journal.handled]
            assert [step.status for step in at_end] == statuses[
                : statuses.index("FunctionCompleted")
            ]

    run(main())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["leaves", "cancels", "is cancelled"])
@settings(max_examples=effort(25), deadline=None)
@given(count=st.integers(1, COUNT + 4), pace=st.integers(0, 9))
def test_a_reader_that_stops_at_any_event_is_not_waited_for(
    kind: str, how: str, count: int, pace: int
) -> None:
    async def main() -> float:
        journal = CatchingUpJournal()

        async def read() -> None:
            async with begin(kind, hang, journal) as reading:
                async for event in reading:
                    journal.handled.append(event)
                    await yield_control(pace)
                    if len(journal.handled) == count and how == "leaves":
                        break
                    if len(journal.handled) == count and how == "cancels":
                        await reading.cancel()

        task = asyncio.ensure_future(read())
        # Where it is to be cancelled, or has come as far as it gets.
        for _ in range(300):
            if task.done() or (how == "is cancelled" and len(journal.handled) == count):
                break
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task], timeout=TIMEOUT)
        assert task.done()
        started = [each for each, _ in journal.seen if each == "started"]
        finished = [each for each, _ in journal.seen if each == "finished"]
        assert len(finished) == len(started) <= 1
        return asyncio.get_running_loop().time()

    loop = VirtualTimeLoop()
    # No wait had to be abandoned.
    assert run(main(), loop) == 0


@pytest.mark.parametrize("kind", ["tools", "reply", "agent"])
def test_caught_up_at_the_moment_of_an_event_waits_for_that_event(kind: str) -> None:
    journal = CatchingUpJournal()
    seen: list[list[object]] = []

    async def show(context: ToolContext) -> None:
        """Report progress, and wait until it was handled."""
        assert journal.run is not None
        context.progress("here")
        await journal.run.caught_up()
        seen.append(tool_events(journal.handled))

    async def main() -> None:
        async with begin(kind, show, journal) as reading:
            async for event in reading:
                await yield_control(5)
                journal.handled.append(event)

    run(main())
    assert seen == [["started", "here"]]


def test_a_run_that_is_only_awaited_does_not_wait_for_a_reader() -> None:
    async def main() -> None:
        journal = CatchingUpJournal()
        tools = begin("tools", speak, journal)
        await tools.wait()
        assert [what for what, _ in journal.seen] == ["started", "finished"]

    run(main())
