"""Recorded replies, given again.

    from toolweave.models import complete
    from toolweave.models.replay import ReplayModel

    model = ReplayModel("tests/replies")
    reply = await complete(model, "What is 15 + 27?")

For demonstrations and tests: what real models wrote, with their habits and in their pieces, without
the model. `StreamRecorder` makes the recordings.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import math
import os
from typing import TYPE_CHECKING, Literal

from .._checks import (
    check_choice,
    check_flag,
    check_items,
    check_number,
    check_text,
)
from .._core import to_openai
from ..exceptions import ModelError
from .recording import RecordedReply, load

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from .. import FunctionContract, Message, Update
    from ..protocols import ModelOptions


class ReplayModel:
    """A model that gives recorded replies.

    Tools and options change nothing: what was recorded is said as it was.

    Args:
        recordings: The replies, or a file or folder of them.
        match: Which one answers: that to the same ``conversation``, system prompts aside (several
            to one conversation take turns), or the next one in ``order``, whatever was asked.
        speed: How many times as fast as it was recorded; None for at once.
        max_pause: The longest pause between two pieces, in seconds.
        name: What traces call the model; that of the first recording if not given.
        native_tools: Whether it passes for one that makes native calls.

    Raises:
        OSError: There is no such file or folder.
        ValueError: There is nothing to replay, or it cannot be read.
    """

    provider = "replay"

    def __init__(
        self,
        recordings: Iterable[RecordedReply] | str | os.PathLike[str],
        *,
        match: Literal["conversation", "order"] = "conversation",
        speed: float | None = None,
        max_pause: float = 0.5,
        name: str | None = None,
        native_tools: bool = False,
    ) -> None:
        check_choice("match", match, ("conversation", "order"))
        check_number("speed", speed, above=0, most=math.inf, none=True)
        check_number("max_pause", max_pause, least=0, most=math.inf)
        check_text("name", name, none=True)
        check_flag("native_tools", native_tools)
        where = ""
        if isinstance(recordings, (str, os.PathLike)):
            where = f"; there is none in {os.fspath(recordings)}"
            recordings = load(recordings)
        wanted = "recorded replies, or the path of a file with them"
        self._replies: list[RecordedReply] = list(
            check_items("recordings", recordings, RecordedReply, wanted)
        )
        if not self._replies:
            raise ValueError(f"a replay needs at least one recorded reply{where}")
        self._by_key: dict[str, list[RecordedReply]] = {}
        if match == "conversation":
            for reply in self._replies:
                self._by_key.setdefault(_key(reply.messages), []).append(reply)
        self._match = match
        self._given: dict[str, int] = {}
        self._speed = speed
        self._max_pause = max_pause
        self.name: str = name or self._replies[0].model or "replay"
        """Name of the model in traces."""
        self.native_tools = native_tools
        """Whether it passes for one that makes native calls."""

    def __repr__(self) -> str:
        return f"ReplayModel({self.name}, {len(self._replies)} replies)"

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),  # noqa: ARG002 - what was recorded is said
        options: ModelOptions | None = None,  # noqa: ARG002
    ) -> AsyncIterator[Update]:
        """Gives the recorded reply.

        Raises:
            ModelError: None was recorded, or it had broken off.
        """
        reply = self._find(messages)
        before = 0.0
        times = reply.times or (0.0,) * len(reply.updates)
        for number, update in enumerate(reply.updates):
            at = times[number] if number < len(times) else before
            pause = 0.0 if self._speed is None else (at - before) / self._speed
            before = at
            await asyncio.sleep(min(max(pause, 0.0), self._max_pause))
            yield update
        if reply.error is not None:
            error = reply.error
            raise ModelError(
                str(error), error.provider, error.status, error.retry_after, error.transient
            )

    def _find(self, messages: Sequence[Message]) -> RecordedReply:
        if self._match == "order":
            number = self._take("")
            if number >= len(self._replies):
                raise ModelError(
                    f"all {len(self._replies)} recorded replies have been given; "
                    f"the next conversation was: {_shown(messages)}",
                    self.provider,
                )
            return self._replies[number]
        key = _key(messages)
        fitting = self._by_key.get(key)
        if fitting is None:
            raise ModelError(self._nothing_fits(messages), self.provider)
        return fitting[self._take(key) % len(fitting)]

    def _take(self, key: str) -> int:
        number = self._given.get(key, 0)
        self._given[key] = number + 1
        return number

    def _nothing_fits(self, messages: Sequence[Message]) -> str:
        asked = _shown(messages)
        known = {_shown(reply.messages): None for reply in self._replies}
        near = difflib.get_close_matches(asked, known, n=3, cutoff=0.0)
        return (
            f"no reply to this conversation was recorded: {asked}; the nearest of "
            f"{len(self._replies)} that were: {', '.join(near)}"
        )


def _key(messages: Sequence[Message]) -> str:
    """The conversation in a form that is the same for all ways to say it."""
    said = [entry for entry in to_openai(messages) if entry["role"] != "system"]
    return json.dumps(said, sort_keys=True)


def _shown(messages: Sequence[Message]) -> str:
    """The end of a conversation, and how much came before it."""
    said = [entry for entry in to_openai(messages) if entry["role"] != "system"]
    if not said:
        return "nothing"
    last = said[-1]
    before = f" after {len(said) - 1} more" if len(said) > 1 else ""
    return f"{last['role']} {str(last.get('content'))[:80]!r}{before}"
