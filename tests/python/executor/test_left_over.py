"""Finished runs are freed by reference counting, without the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

from toolweave import ToolCall
from toolweave.executor import ToolExecutor


@pytest.mark.parametrize("ending", ["success", "timeout", "progress"])
def test_a_finished_call_is_not_part_of_a_deadlock(ending: str) -> None:
    class Referent:
        """Object that only the tool refers to."""

    def make() -> tuple[ToolExecutor, weakref.ref[Referent]]:
        referent = Referent()

        async def work() -> str:
            await asyncio.sleep(1 if ending == "timeout" else 0)
            return f"{type(referent)}"

        async def yielding() -> Any:
            yield str(referent)
            yield "done"

        tool: Any = yielding if ending == "progress" else work
        tool.__name__ = "work"
        return ToolExecutor([tool], timeout=0.01 if ending == "timeout" else 60), weakref.ref(
            referent
        )

    gc.collect()
    gc.disable()
    try:
        executor, referent = make()
        aggregate = asyncio.run(executor.execute([ToolCall("a", "work", {})]))
        assert len(aggregate.tool_results) == 1
        del executor, aggregate
        assert referent() is None
    finally:
        gc.enable()
