"""Scenes: named groups of tools between which the model chooses, with every step reported.

A scene has a name, a description and tools. The model enters a scene by calling it as a function,
then calls the tools of the scene until it has an answer:

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

Every run ends with exactly one `Completed` step, which has the stop reason and the totals. Modes,
costs, limits, hooks and client tools are described in ``docs/explanation/scenes.md``.
"""

from __future__ import annotations

from .._public import claim_exports
from ..kinds import SceneStatus, SceneStopReason
from ._actors import Actor
from ._hooks import Answer, Append, Deny, SceneOutcome
from ._manager import Scene, SceneManager
from ._request import ClientResult, SceneContext, SceneMode, SceneRequest, current_context
from ._run import SceneRun
from ._settings import GUARDRAILS
from ._steps import ExecutedTool, SceneResult, SceneStep

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

claim_exports(globals())
