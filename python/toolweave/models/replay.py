"""Replay of recorded replies.

    from toolweave.models import complete
    from toolweave.models.replay import ReplayModel

    model = ReplayModel("tests/replies")
    reply = await complete(model, "What is 15 + 27?")

For demonstrations and tests: the replies of real models, with their original deltas and timing,
without the model. `StreamRecorder` creates the recordings.
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

    from .._core import FunctionContract
    from .._messages import Message, Update
    from ..protocols import ModelOptions

__all__ = ["ReplayModel"]


class ReplayModel:
    """A model that replays recorded replies.

    Tools and options of a request are ignored.

    Args:
        recordings: Replies, or the path of a file or directory with recordings.
        match: Choice of the reply: ``conversation`` for a reply to the same conversation, system
            prompts aside (several replies to one conversation take turns), or ``order`` for the
            next reply, whatever the request.
        speed: Speed relative to the recording; None for no delays.
        max_pause: Maximum delay between two updates, in seconds.
        name: Name of the model in traces; defaults to that of the first recording.
        native_tools: True to declare support for native calls.

    Raises:
        OSError: The file or directory does not exist.
        ValueError: There are no recordings, or one is invalid.
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
            raise ValueError(f"recordings must have at least one reply{where}")
        self._by_key: dict[str, list[RecordedReply]] = {}
        if match == "conversation":
            for reply in self._replies:
                self._by_key.setdefault(_key(reply.messages), []).append(reply)
        self._match = match
        self._counts: dict[str, int] = {}
        self._speed = speed
        self._max_pause = max_pause
        self.name: str = name or self._replies[0].model or "replay"
        """Name of the model in traces."""
        self.native_tools = native_tools
        """True if the model passes for one that makes native calls."""

    def __repr__(self) -> str:
        return f"ReplayModel({self.name}, {len(self._replies)} replies)"

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),  # noqa: ARG002 - the recording is fixed
        options: ModelOptions | None = None,  # noqa: ARG002
    ) -> AsyncIterator[Update]:
        """Stream the recorded reply.

        Raises:
            ModelError: No reply was recorded, or the recorded reply was interrupted.
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
            number = self._next_number("")
            if number >= len(self._replies):
                raise ModelError(
                    f"all {len(self._replies)} recorded replies have been given; "
                    f"the next conversation was: {_summary(messages)}",
                    self.provider,
                )
            return self._replies[number]
        key = _key(messages)
        matching = self._by_key.get(key)
        if matching is None:
            raise ModelError(self._no_match_message(messages), self.provider)
        return matching[self._next_number(key) % len(matching)]

    def _next_number(self, key: str) -> int:
        number = self._counts.get(key, 0)
        self._counts[key] = number + 1
        return number

    def _no_match_message(self, messages: Sequence[Message]) -> str:
        conversation = _summary(messages)
        known = {_summary(reply.messages): None for reply in self._replies}
        near = difflib.get_close_matches(conversation, known, n=3, cutoff=0.0)
        return (
            f"no reply to this conversation was recorded: {conversation}; the nearest of "
            f"{len(self._replies)} that were: {', '.join(near)}"
        )


def _key(messages: Sequence[Message]) -> str:
    """Return the conversation in a canonical form."""
    entries = [entry for entry in to_openai(messages) if entry["role"] != "system"]
    return json.dumps(entries, sort_keys=True)


def _summary(messages: Sequence[Message]) -> str:
    """Return the last entry of a conversation, and the number of entries before it."""
    entries = [entry for entry in to_openai(messages) if entry["role"] != "system"]
    if not entries:
        return "nothing"
    last = entries[-1]
    before = f" after {len(entries) - 1} more" if len(entries) > 1 else ""
    return f"{last['role']} {str(last.get('content'))[:80]!r}{before}"
