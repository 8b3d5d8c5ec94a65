"""Process that selects among tools by asking about each, and prints the cost of a selection.

python -m endpoint.selection '{"model": "http", "port": 12345, "tools": 6, "times": 20}'
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from endpoint.probe import Spent, Stalls
from endpoint.readers import model_of, question
from registry import document
from toolweave.registry import ToolRegistry
from toolweave.selection import CallLimiter, SelectionPolicy, ToolSelector

TIMEOUT = 60.0


async def measured(spec: dict[str, Any]) -> dict[str, float]:
    """Run the benchmark of a specification.

    Raises:
        AssertionError: A tool was not scored.
    """
    tools = spec["tools"]
    policy = SelectionPolicy(
        strategy="each", prefilter=None, early_stop=None, max_concurrency=tools, timeout=TIMEOUT
    )
    registry = ToolRegistry.loads(document(tools))
    async with model_of(spec["model"], f"http://127.0.0.1:{spec['port']}/v1") as model:
        selector = ToolSelector(registry, model, policy, cache_ttl=0, limiter=CallLimiter(tools))

        async def select() -> None:
            selection = await asyncio.wait_for(selector.select(question("score")), TIMEOUT)
            scored = [score for score in selection.ranking if score.score == 75]
            assert len(scored) == tools, selection

        for _ in range(3):  # imports at first use, and connections
            await select()
        before = Spent.now()
        for _ in range(spec["times"]):
            await select()
        spent = Spent.now().since(before)
        stalls = Stalls()
        for _ in range(spec["times"]):
            await select()
        stalls.stop()
    times = spec["times"]
    return {
        "user": spent.user / times,
        "system": spent.system / times,
        "took": spent.at / times,
        "stall": stalls.working,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measured(json.loads(sys.argv[1])))))
