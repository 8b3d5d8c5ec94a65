"""A run that is over holds nothing: what it had goes with it, without the garbage collector."""

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
    class Kept:
        """Something that only the tool holds."""

    def made() -> tuple[ToolExecutor, weakref.ref[Kept]]:
        kept = Kept()

        async def work() -> str:
            await asyncio.sleep(1 if ending == "timeout" else 0)
            return f"{type(kept)}"

        async def tell() -> Any:
            yield str(kept)
            yield "done"

        tool: Any = tell if ending == "progress" else work
        tool.__name__ = "work"
        return ToolExecutor([tool], timeout=0.01 if ending == "timeout" else 60), weakref.ref(kept)

    gc.collect()
    gc.disable()
    try:
        executor, kept = made()
        aggregate = asyncio.run(executor.execute([ToolCall("a", "work", {})]))
        assert len(aggregate.tool_results) == 1
        del executor, aggregate
        assert kept() is None
    finally:
        gc.enable()
