"""The model of the playground, which tells a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import TextMessage, ToolAggregateMessage
from ..kinds import Role
from ..models import closing
from ..models.replay import ReplayModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from .. import FunctionContract, Message, Update
    from ..protocols import ModelOptions
    from .scenarios import Scenario

MAX_PAUSE = 0.15
"""The longest pause between two pieces of a recorded reply, in seconds: the recorded models ran on
one processor that was busy with other things."""


def pace(speed: float | None) -> str:
    """The pace of recorded replies in words, for the reader.

    Args:
        speed: How many times as fast as they were recorded; None for at once.
    """
    if speed is None:
        return "played without pauses"
    times = "" if speed == 1 else f"at {speed:g} times their pace, "
    return f"played {times}with pauses shortened to at most {MAX_PAUSE / speed:.2g} s"


class ScenarioModel:
    """A model that says what a scenario has it say.

    Args:
        scenario: The scenario.
        messages_so_far: The conversation so far, with the results that a reply may depend on.
        speed: How many times as fast as it was recorded; None for at once.
        turn: How far the scenario was told before.
    """

    native_tools = False
    provider = "replay"

    def __init__(
        self,
        scenario: Scenario,
        messages_so_far: Callable[[], Sequence[Message]],
        *,
        speed: float | None,
        turn: int = 0,
    ) -> None:
        self._scenario = scenario
        self._messages = messages_so_far
        self._speed = speed
        self._turn = turn
        self.name: str = scenario.turns[0][0].model or "script"
        """The model whose replies they are."""

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Gives the reply that comes next in the scenario."""
        reply = self._scenario.reply(self._turn, _results(self._messages()))
        self._turn += 1
        replay = ReplayModel(
            [reply],
            match="order",
            speed=self._speed,
            max_pause=MAX_PAUSE / (self._speed or 1),
        )
        async with closing(replay.stream(messages, tools=tools, options=options)) as updates:
            async for update in updates:
                yield update


def position(messages: Sequence[Message]) -> int:
    """How often a model has called tools since the user spoke."""
    return len(_replies(messages))


def _results(messages: Sequence[Message]) -> list[str]:
    """The results that the next reply is about."""
    for calls in _replies(messages).values():
        return [result.result for message in reversed(calls) for result in message.tool_results]
    return []


def _replies(messages: Sequence[Message]) -> dict[str, list[ToolAggregateMessage]]:
    """The calls since the user spoke by reply, the last ones first."""
    found: dict[str, list[ToolAggregateMessage]] = {}
    for number, message in enumerate(reversed(messages)):
        if isinstance(message, TextMessage) and message.role is Role.USER:
            break
        if isinstance(message, ToolAggregateMessage):
            found.setdefault(message.generation_id or f"{number}", []).append(message)
    return found
