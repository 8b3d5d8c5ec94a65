"""A calculator, replies that use it, and managers of scenes with both."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from coroutine_tests import TEST_TIMEOUT
from toolweave import SceneManager, SceneResult, SceneStep, ToolCall, tool
from toolweave.conversations import Conversation, MemoryConversations
from toolweave.testing import ScriptedModel


class Calculator:
    """Mathematical calculations"""

    def add(self, a: float, b: float) -> float:
        """Add two numbers."""
        return a + b

    def multiply(self, a: float, b: float) -> float:
        """Multiply two numbers."""
        return a * b

    def fail(self) -> None:
        """Fail."""
        raise ValueError("it broke")


CALCULATOR = "Performs mathematical calculations"
NAMES = {"add": "Add", "multiply": "Multiply", "fail": "Fail"}


def call(name: str, arguments: str = "{}") -> str:
    return f'<tool_call name="{name}">{arguments}</tool_call>'


ENTER = call("Calculator")
ADD = call("Add", '{"a": 15, "b": 27}')
WEATHER = call("get_weather", '{"city": "Oslo"}')


def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"8 degrees in {city}"


def manager_of(*replies: Any, is_native: bool = False, **options: Any) -> SceneManager[Any]:
    """A manager of a calculator and of a weather scene, on a scripted model."""
    manager = SceneManager(ScriptedModel(*replies, name="m1", native_tools=is_native), **options)
    manager.scene("Calculator", CALCULATOR).service(Calculator(), methods=NAMES)
    return manager.scene("Weather Report", "Tells the weather").tool(get_weather).manager


def model_of(manager: SceneManager[Any]) -> ScriptedModel:
    model = manager.model
    assert isinstance(model, ScriptedModel)
    return model


async def steps_of(manager: SceneManager[Any], *args: Any, **options: Any) -> list[SceneStep]:
    return [step async for step in manager.stream(*args, **options)]


async def result_of(manager: SceneManager[Any], *args: Any, **options: Any) -> SceneResult[Any]:
    return await asyncio.wait_for(manager.run(*args, **options), TEST_TIMEOUT)


def statuses_of(steps: Iterable[SceneStep]) -> list[tuple[str, str | None]]:
    return [(step.status.value, step.message) for step in steps]


def native(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(f"c_{name}", name, arguments)


DOCUMENTED_STEPS = [
    ("ExecutingScene", "Entering scene: Calculator"),
    ("FunctionRequest", "Executing tool: Add"),
    ("FunctionCompleted", "Tool Add executed: 42"),
    ("Running", "The sum of 15 and 27 is 42."),
    ("Completed", "The sum of 15 and 27 is 42."),
]
"""Statuses and messages of the documented example."""


class WholeNumbers:
    """A calculator for integers."""

    @tool("Add")
    def add(self, a: int, b: int) -> int:
        """Add two numbers."""
        return a + b


class RecordingStore(MemoryConversations):
    """A store that records what was saved, and fails on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.saved: list[Conversation] = []
        self.loaded: list[str] = []
        self.failing: Exception | None = None

    async def load(self, key: str) -> Conversation | None:
        self.loaded.append(key)
        return await super().load(key)

    async def save(self, conversation: Conversation) -> None:
        if self.failing is not None:
            raise self.failing
        self.saved.append(conversation.copy())
        await super().save(conversation)
