"""Progress of tools in a scene: its steps, and the same events as for agents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from coroutine_tests import TEST_TIMEOUT, on_a_loop
from effort import effort
from toolweave import Agent, SceneManager, SceneStatus, ToolContext
from toolweave.lifecycle import StreamEventMapper
from toolweave.testing import ScriptedModel

shown = st.lists(
    st.one_of(
        st.integers(),
        st.text(max_size=5),
        st.dictionaries(st.text(max_size=3), st.booleans(), max_size=2),
        st.builds(object),
    ),
    max_size=4,
)


def counting_tool(values: list[Any], how: str) -> Any:
    """Return a tool that reports values, by yielding them or by its context."""
    if how == "yields":

        async def count() -> AsyncIterator[Any]:
            for value in values:
                yield value
            yield "done"

        return count

    async def report(context: ToolContext) -> str:
        for value in values:
            context.progress(value)
        return "done"

    report.__name__ = "count"
    return report


def results(events: list[Any]) -> list[tuple[Any, Any, Any]]:
    return [
        (each["toolCallId"] is not None, each["result"], each["done"])
        for each in events
        if each["kind"] == "tool_result"
    ]


@settings(deadline=None, max_examples=effort(25))
@given(shown, st.sampled_from(["yields", "tells"]))
def test_progress_in_a_scene_is_mapped_like_progress_of_an_agent(
    values: list[Any], how: str
) -> None:
    async def main() -> None:
        manager = SceneManager(ScriptedModel("<S/>", "<count/>", "Counted."))
        manager.scene("S").tool(counting_tool(values, how))
        run = manager.open("Go.")
        mapper, steps = StreamEventMapper("chat", run_id="r"), []
        events: list[Any] = []
        async for step in run:
            steps.append(step)
            events += mapper.map(step, generation_id=run.generation_id)
        # The last value of a generator is its result, which is known only when the generator ends.
        count = len(values) + (how == "yields")
        progress = [step for step in steps if step.status is SceneStatus.FUNCTION_PROGRESS]
        (done,) = [step for step in steps if step.status is SceneStatus.FUNCTION_COMPLETED]
        assert [(s.scene, s.function, s.call_id) for s in progress] == [
            ("S", "count", done.call_id)
        ] * count
        assert all(step.cost is None and step.to_dict() for step in progress)

        agent = Agent(ScriptedModel("<count/>", "Counted."), [counting_tool(values, how)])
        other, of_agent = StreamEventMapper("chat", run_id="r"), []
        async with agent.open("Go.") as reference:
            async for each in reference:
                of_agent += other.map(each, generation_id=reference.generation_id)
        assert results(events) == results(of_agent)
        assert len(results(events)) == count + 1

    asyncio.run(main())


@on_a_loop
async def test_progress_is_emitted_while_the_tool_runs() -> None:
    more = asyncio.Event()

    async def wait() -> AsyncIterator[str]:
        yield "half"
        await more.wait()
        yield "done"

    manager = SceneManager(ScriptedModel("<S/>", "<wait/>", "Done."))
    manager.scene("S").tool(wait)
    seen: list[str | None] = []
    async for step in manager.stream("Go."):
        seen.append(step.message)
        if step.status is SceneStatus.FUNCTION_PROGRESS:
            more.set()
    assert seen[1:3] == ["Executing tool: wait", "half"]
    assert seen[-3:] == ["Tool wait executed: done", "Done.", "Done."]


@on_a_loop
async def test_a_slow_reader_misses_progress_and_nothing_else() -> None:
    flooded = asyncio.Event()

    async def flood() -> AsyncIterator[int]:
        for number in range(20_000):
            yield number
        flooded.set()

    manager = SceneManager(ScriptedModel("<S/>", "<flood/>", "Done."))
    manager.scene("S").tool(flood)
    run = manager.open("Go.")
    async for _ in run:
        break
    await asyncio.wait_for(flooded.wait(), TEST_TIMEOUT)
    rest = [step async for step in run]
    assert len(rest) < 10_000
    assert rest[-1].message == "Done."
    assert [s.status for s in rest].count(SceneStatus.FUNCTION_COMPLETED) == 1
