"""What a journal may rely on: whoever reads has come as far as the run, or is leaving."""

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
PATIENCE = 20.0


async def speak() -> AsyncIterator[int]:
    """Counts."""
    for number in range(COUNT):
        yield number


async def hang() -> AsyncIterator[int]:
    """Counts, and does not end."""
    for number in range(COUNT):
        yield number
    await asyncio.Event().wait()


class Catching:
    """A journal that waits for the reader, and knows what had been handled by then."""

    def __init__(self) -> None:
        self.run: AnyRun | None = None
        self.handled: list[Any] = []
        self.seen: list[tuple[str, list[Any]]] = []

    async def started(self, call: ToolCall) -> None:
        assert call.name
        await self._note("started")

    async def finished(self, call: ToolCall, result: ToolResult) -> None:
        assert result.tool_call_id == call.id
        await self._note("finished")

    async def _note(self, what: str) -> None:
        assert self.run is not None
        await self.run.caught_up()
        self.seen.append((what, list(self.handled)))


def begin(kind: str, tool: Callable[..., Any], journal: Catching) -> AnyRun:
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


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def told(events: list[Any]) -> list[object]:
    """Whether the tool was told to start, and what it has shown."""
    return [
        "started" if isinstance(event, ToolStarted) else event.value
        for event in events
        if isinstance(event, (ToolStarted, ToolProgress))
    ]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=effort(25), deadline=None)
@given(paces=st.lists(st.integers(0, 9), min_size=1, max_size=6))
def test_a_result_is_written_when_all_before_it_was_read_however_slow_the_reader_is(
    kind: str, paces: list[int]
) -> None:
    async def main() -> None:
        journal = Catching()
        async with begin(kind, speak, journal) as reading:
            async for event in reading:
                # It is handled some turns of the loop after it was read.
                await turns(paces[len(journal.handled) % len(paces)])
                journal.handled.append(event)
        (_, at_start), (_, at_end) = journal.seen
        assert told(at_start) == []
        if kind in ("reply", "agent"):
            assert [event.name for event in at_start if isinstance(event, ToolCall)] == ["speak"]
        if kind != "scenes":
            assert told(at_end) == ["started", *range(COUNT)]
        else:
            # All that was told before the tool answered, and nothing of what came behind it.
            statuses = [step.status for step in journal.handled]
            assert [step.status for step in at_end] == statuses[
                : statuses.index("FunctionCompleted")
            ]

    run(main())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["leaves", "cancels", "is cancelled"])
@settings(max_examples=effort(25), deadline=None)
@given(count=st.integers(1, COUNT + 4), pace=st.integers(0, 9))
def test_a_reader_who_stops_at_any_event_is_waited_for_by_nobody(
    kind: str, how: str, count: int, pace: int
) -> None:
    async def main() -> float:
        journal = Catching()

        async def read() -> None:
            async with begin(kind, hang, journal) as reading:
                async for event in reading:
                    journal.handled.append(event)
                    await turns(pace)
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
        await asyncio.wait([task], timeout=PATIENCE)
        assert task.done()
        started = [each for each, _ in journal.seen if each == "started"]
        finished = [each for each, _ in journal.seen if each == "finished"]
        assert len(finished) == len(started) <= 1
        return asyncio.get_running_loop().time()

    loop = VirtualTimeLoop()
    # Nothing had to be given up.
    assert run(main(), loop) == 0


@pytest.mark.parametrize("kind", ["tools", "reply", "agent"])
def test_who_catches_up_in_the_same_moment_is_no_earlier_than_the_event(kind: str) -> None:
    journal = Catching()
    seen: list[list[object]] = []

    async def show(context: ToolContext) -> None:
        """Shows something, and waits until that was handled."""
        assert journal.run is not None
        context.progress("here")
        await journal.run.caught_up()
        seen.append(told(journal.handled))

    async def main() -> None:
        async with begin(kind, show, journal) as reading:
            async for event in reading:
                await turns(5)
                journal.handled.append(event)

    run(main())
    assert seen == [["started", "here"]]


def test_a_run_whose_end_alone_is_waited_for_does_not_wait_for_a_reader() -> None:
    async def main() -> None:
        journal = Catching()
        tools = begin("tools", speak, journal)
        await tools.wait()
        assert [what for what, _ in journal.seen] == ["started", "finished"]

    run(main())
