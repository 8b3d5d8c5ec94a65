"""The model of the playground, which replays scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import TextMessage, ToolAggregateMessage
from ..kinds import Role
from ..models import closing
from ..models.replay import ReplayModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from .._core import FunctionContract
    from .._messages import Message, Update
    from ..protocols import ModelOptions
    from .scenarios import Scenario

MAX_PAUSE = 0.15
"""Maximum pause between two pieces of a recorded reply, in seconds: the recorded models ran on one
busy processor."""


def pace(speed: float | None) -> str:
    """Describe the pace of recorded replies.

    Args:
        speed: Multiple of the recorded pace; None for no pauses.
    """
    if speed is None:
        return "played without pauses"
    times = "" if speed == 1 else f"at {speed:g} times their pace, "
    return f"played {times}with pauses shortened to at most {MAX_PAUSE / speed:.2g} s"


class ScenarioModel:
    """A model that replays the replies of a scenario.

    Args:
        scenario: The scenario.
        messages_so_far: Callback for the conversation so far, whose results affect replies.
        speed: Multiple of the recorded pace; None for no pauses.
        turn: Number of replies that were given before.
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
        """Name of the recorded model."""

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Stream the next reply of the scenario."""
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
    """Return the number of replies with calls since the last user message."""
    return len(_replies(messages))


def _results(messages: Sequence[Message]) -> list[str]:
    """Return the results of the last reply."""
    for calls in _replies(messages).values():
        return [result.result for message in reversed(calls) for result in message.tool_results]
    return []


def _replies(messages: Sequence[Message]) -> dict[str, list[ToolAggregateMessage]]:
    """Return the calls since the last user message by reply, the latest first."""
    found: dict[str, list[ToolAggregateMessage]] = {}
    for number, message in enumerate(reversed(messages)):
        if isinstance(message, TextMessage) and message.role is Role.USER:
            break
        if isinstance(message, ToolAggregateMessage):
            found.setdefault(message.generation_id or f"{number}", []).append(message)
    return found
