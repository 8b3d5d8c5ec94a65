"""Agents: a model that calls tools and reads the results until it has its answer.

    >>> import asyncio
    >>> from toolweave.testing import ScriptedModel
    >>> def add(a: int, b: int) -> int:
    ...     return a + b
    >>> model = ScriptedModel('<add>{"a": 2, "b": 3}</add>', "It is 5.")
    >>> agent = Agent(model, [add], instructions="Be brief.")
    >>> result = asyncio.run(agent.run("What is 2 + 3?"))
    >>> result.text, result.stop_reason.value
    ('It is 5.', 'completed')

`Agent.stream` shows everything as it happens. `Agent.open` gives an `AgentRun`, which has all
messages so far however the run ends, be it by cancellation or an error of the model.
"""

from __future__ import annotations

from .agent import Agent
from .run import AgentEvent, AgentResult, AgentRun

__all__ = ["Agent", "AgentEvent", "AgentResult", "AgentRun"]
