"""Timeouts of agent runs: a run is stopped, and its history is valid for the next run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from toolweave import Agent, Message, StopReason, ToolAggregateMessage
from virtual_time import now, run

HOUR = 3600.0


@settings(max_examples=effort(30))
@given(
    seconds=st.lists(st.integers(1, 2000), min_size=1, max_size=6),
    thinking=st.integers(0, 900),
    limit=st.sampled_from([None, 10.0, HOUR]),
)
def test_a_run_ends_at_its_timeout(seconds: list[int], thinking: int, limit: float | None) -> None:
    left = list(seconds)

    async def work(seconds: int) -> str:
        await asyncio.sleep(seconds)
        return f"{seconds}"

    async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
        await asyncio.sleep(thinking)
        return f'<work>{{"seconds": {left.pop(0)}}}</work>' if left else "Done."

    async def main() -> None:
        agent = Agent(model, [work], timeout=None, run_timeout=limit, max_repeats=None)
        result = await agent.run("Work, please.")
        needed = sum(seconds) + thinking * (len(seconds) + 1)
        if limit is None or needed < limit:
            assert result.stop_reason is StopReason.COMPLETED
            assert now() == needed
        elif needed > limit:
            assert result.stop_reason is StopReason.TIMEOUT
            assert limit <= now() <= limit + 1
        for message in result.messages:
            if isinstance(message, ToolAggregateMessage):
                assert len(message.tool_results) == len(message.tool_calls)

    run(main())


def test_the_default_timeout_is_an_hour() -> None:
    async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
        await asyncio.sleep(2 * HOUR)
        return "Late."

    async def main() -> None:
        result = await Agent(model).run("Hello?")
        assert (result.stop_reason, now()) == (StopReason.TIMEOUT, HOUR)

    run(main())


@pytest.mark.parametrize("limit", [0, -1.0, float("nan")])
def test_an_invalid_timeout_is_refused(limit: float) -> None:
    with pytest.raises(ValueError, match="run_timeout must be a number above 0, or None, got"):
        Agent(lambda _: "Hi.", run_timeout=limit)  # type: ignore[arg-type, return-value]
