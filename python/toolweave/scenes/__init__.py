"""Scenes: a model chooses what to do, does it with tools, and every step of it can be seen.

A scene is a name, what it is for, and the tools for that. The model enters one by calling it as a
function, and calls its tools until it has an answer:

    >>> import asyncio
    >>> from toolweave.testing import ScriptedModel
    >>> class Calculator:
    ...     def add(self, a: int, b: int) -> int:
    ...         "Adds two numbers."
    ...         return a + b
    >>> model = ScriptedModel(
    ...     "<Calculator/>", '<Add>{"a": 15, "b": 27}</Add>', "The sum of 15 and 27 is 42."
    ... )
    >>> manager = SceneManager(model)
    >>> scene = manager.scene("Calculator", "Performs mathematical calculations")
    >>> scene = scene.service(Calculator(), methods={"add": "Add"}).actor("Be brief.")
    >>> async def main() -> None:
    ...     async for step in manager.stream("What is 15 + 27?"):
    ...         print(f"{step.status}: {step.message}")
    >>> asyncio.run(main())
    ExecutingScene: Entering scene: Calculator
    FunctionRequest: Executing tool: Add
    FunctionCompleted: Tool Add executed: 42
    Running: The sum of 15 and 27 is 42.
    Completed: The sum of 15 and 27 is 42.

The last step is always `Completed`, and the only one, with the stop reason and the totals. Modes,
costs, limits, hooks and tools that the client runs are described in ``docs/scenes.md``.
"""

from __future__ import annotations

from ..kinds import SceneStatus, SceneStopReason
from .actors import Actor
from .hooks import Answer, Append, Deny, SceneOutcome
from .manager import SceneManager
from .options import GUARDRAILS
from .request import ClientResult, SceneContext, SceneMode, SceneRequest, current_context
from .run import SceneRun
from .scene import Scene
from .steps import ExecutedTool, SceneResult, SceneStep

__all__ = [
    "GUARDRAILS",
    "Actor",
    "Answer",
    "Append",
    "ClientResult",
    "Deny",
    "ExecutedTool",
    "Scene",
    "SceneContext",
    "SceneManager",
    "SceneMode",
    "SceneOutcome",
    "SceneRequest",
    "SceneResult",
    "SceneRun",
    "SceneStatus",
    "SceneStep",
    "SceneStopReason",
    "current_context",
]
