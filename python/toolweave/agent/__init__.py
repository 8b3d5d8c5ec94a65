"""Agents: models that call tools and read the results until they have an answer.

    >>> import asyncio
    >>> from toolweave.testing import ScriptedModel
    >>> def add(a: int, b: int) -> int:
    ...     return a + b
    >>> model = ScriptedModel('<add>{"a": 2, "b": 3}</add>', "It is 5.")
    >>> agent = Agent(model, [add], instructions="Be brief.")
    >>> result = asyncio.run(agent.run("What is 2 + 3?"))
    >>> result.text, result.stop_reason.value
    ('It is 5.', 'completed')

`Agent.stream` yields events as they happen. `Agent.open` returns an `AgentRun`, which has all
messages so far even if the run is cancelled or the model fails.
"""

from __future__ import annotations

from .._public import claim_exports
from ._agent import Agent
from ._handoff import Handoff, HandoffEvent
from ._history import HistoryProcessor
from ._limits import UsageLimits
from ._result import AgentResult, RunnableAgent
from ._run import AgentEvent, AgentRun

__all__ = [
    "Agent",
    "AgentEvent",
    "AgentResult",
    "AgentRun",
    "Handoff",
    "HandoffEvent",
    "HistoryProcessor",
    "RunnableAgent",
    "UsageLimits",
]

claim_exports(globals())
