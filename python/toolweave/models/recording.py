"""Replies of models, written down as they came.

A recording is a JSON file of one reply or a list of them, for people to read and to keep under
version control:

    {
      "model": "qwen2.5-coder-1.5b",
      "messages": [{"kind": "text", "role": "user", "text": "What is 15 + 27?"}],
      "deltas": ["I", "'ll", " add", {"usage": {"input_tokens": 12, "output_tokens": 3}}],
      "delta_ms": [3848, 4036, 4568, 4570],
      "finish_reason": "stop"
    }

A delta is text, or an object with one of ``reasoning``, ``tool_call`` and ``usage``. Instead of
``messages`` there may be a ``prompt``, the text of the user, and a ``system`` prompt.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .._checks import check_callable
from .._core import (
    FinishUpdate,
    ReasoningDelta,
    TextDelta,
    TextMessage,
    ToolCallUpdate,
    UsageUpdate,
)
from ..exceptions import ModelError
from .conversation import as_messages
from .direct import as_model
from .streaming import closing

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence

    from .. import FunctionContract, Message, Update
    from ..protocols import Model, ModelOptions


@dataclass(frozen=True)
class RecordedReply:
    """One reply to one conversation."""

    messages: tuple[Message, ...]
    """The conversation that it answers."""
    updates: tuple[Update, ...]
    """What came, in the pieces in which it came; a `FinishUpdate` last, unless it broke off."""
    times: tuple[float, ...] = ()
    """When each piece came, in seconds from the request; empty if nobody knows."""
    model: str | None = None
    """Whose reply it is."""
    error: ModelError | None = None
    """How it broke off, if it did."""

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> RecordedReply:
        """Reads a recording.

        Raises:
            MessageError: The conversation is invalid.
            ValueError: Something else is missing or wrong; says what.
        """
        deltas: object = fields.get("deltas")
        if not isinstance(deltas, list):
            raise ValueError("a recording needs a list of `deltas`")
        said = cast("list[object]", deltas)
        updates = [_update(number, delta) for number, delta in enumerate(said)]
        times = [milliseconds / 1000 for milliseconds in fields.get("delta_ms", ())]
        if times and len(times) != len(updates):
            raise ValueError(
                f"a recording of {len(updates)} deltas needs as many `delta_ms`, not {len(times)}"
            )
        error = None
        if (broken := fields.get("error")) is not None:
            error = ModelError(
                broken["message"],
                broken.get("provider"),
                broken.get("status"),
                transient=broken.get("transient"),
            )
        else:
            updates.append(FinishUpdate(fields.get("finish_reason") or "missing"))
        return cls(
            messages=tuple(_conversation(fields)),
            updates=tuple(updates),
            times=tuple(times),
            model=fields.get("model"),
            error=error,
        )

    def to_dict(self) -> dict[str, Any]:
        """The recording as `from_dict` reads it."""
        said = [update for update in self.updates if not isinstance(update, FinishUpdate)]
        fields: dict[str, Any] = {
            "model": self.model,
            "messages": [message.to_dict() for message in self.messages],
            "deltas": [_delta(update) for update in said],
            "delta_ms": [round(at * 1000) for at in self.times],
        }
        for update in self.updates:
            if isinstance(update, FinishUpdate):
                fields["finish_reason"] = update.reason.value
        if self.error is not None:
            fields["error"] = {
                "message": str(self.error),
                "provider": self.error.provider,
                "status": self.error.status,
                "transient": self.error.transient,
            }
        return fields


def load(path: str | os.PathLike[str]) -> list[RecordedReply]:
    """Reads recordings from a file, or from all files ``*.json`` of a folder that hold some.

    Raises:
        OSError: There is nothing to read.
        ValueError: A file holds something else than recordings; names the file.
    """
    place = Path(path)
    if place.is_dir():
        whole = [(file, _parsed(file)) for file in sorted(place.glob("*.json"))]
        return [
            _reply(file, cast("object", entry))
            for file, entries in whole
            for entry in entries
            if isinstance(entry, dict) and "deltas" in cast("dict[str, object]", entry)
        ]
    return [_reply(place, entry) for entry in _parsed(place)]


def save(replies: Iterable[RecordedReply], path: str | os.PathLike[str]) -> None:
    """Writes recordings to a file."""
    text = json.dumps([reply.to_dict() for reply in replies], ensure_ascii=False, indent=2)
    Path(path).write_text(text + "\n", encoding="utf-8")


class StreamRecorder:
    """A model that answers as another does, and remembers how.

    A reply that nobody read to its end is not remembered.

    Args:
        model: The model that answers.
        clock: Gives the time, in seconds.

    Example:
        >>> import asyncio
        >>> from toolweave.models import complete
        >>> from toolweave.models.replay import ReplayModel
        >>> async def model(messages):
        ...     yield "Hel"
        ...     yield "lo."
        >>> recorder = StreamRecorder(model)
        >>> reply = asyncio.run(complete(recorder, "Hi!"))
        >>> asyncio.run(complete(ReplayModel(recorder.replies), "Hi!")) == reply
        True
    """

    def __init__(self, model: Model, *, clock: Callable[[], float] = time.monotonic) -> None:
        check_callable("clock", clock, "a function without arguments")
        self._model = as_model(model)
        self._clock = clock
        self.name: str = getattr(self._model, "name", type(self._model).__name__)
        """The name of the model that answers."""
        self.provider: str = getattr(self._model, "provider", "unknown")
        """Whose model that is."""
        self.native_tools: bool = getattr(self._model, "native_tools", False)
        """Whether that makes native calls."""
        self.replies: list[RecordedReply] = []
        """What was recorded, in the order in which the replies ended."""

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Answers as the model does.

        Raises:
            ModelError: The model broke off; that is recorded too.
        """
        asked = tuple(messages)
        start = self._clock()
        updates: list[Update] = []
        times: list[float] = []
        error: ModelError | None = None
        try:
            answer = self._model.stream(messages, tools=tools, options=options)
            async with closing(answer):
                async for update in answer:
                    updates.append(update)
                    if not isinstance(update, FinishUpdate):
                        times.append(self._clock() - start)
                    yield update
        except ModelError as err:
            error = err
            raise
        finally:
            if error is not None or any(isinstance(update, FinishUpdate) for update in updates):
                self.replies.append(
                    RecordedReply(asked, tuple(updates), tuple(times), self.name, error)
                )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes what was recorded to a file that `ReplayModel` reads."""
        save(self.replies, path)


def _parsed(file: Path) -> list[object]:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as err:
        raise ValueError(f"{file} is no JSON: {err}") from err
    return cast("list[object]", data) if isinstance(data, list) else [data]


def _reply(file: Path, entry: object) -> RecordedReply:
    try:
        if not isinstance(entry, Mapping):
            raise ValueError(f"a recording must be an object, not {type(entry).__name__}")
        return RecordedReply.from_dict(cast("Mapping[str, Any]", entry))
    except (KeyError, TypeError, ValueError) as err:
        raise ValueError(f"{file}: {err}") from err


def _conversation(fields: Mapping[str, Any]) -> list[Message]:
    if "messages" in fields:
        return as_messages(fields["messages"])
    if not isinstance(fields.get("prompt"), str):
        raise ValueError("a recording needs `messages` or a `prompt`")
    messages: list[Message] = [TextMessage(fields["prompt"])]
    if fields.get("system"):
        messages.insert(0, TextMessage(fields["system"], role="system"))
    return messages


def _update(number: int, delta: object) -> Update:
    if isinstance(delta, str):
        return TextDelta(delta)
    if isinstance(delta, Mapping) and len(cast("Mapping[str, Any]", delta)) == 1:
        ((kind, said),) = cast("Mapping[str, Any]", delta).items()
        if kind == "reasoning":
            return ReasoningDelta(said)
        if kind == "usage":
            return UsageUpdate(**said)
        if kind == "tool_call":
            return ToolCallUpdate(
                said.get("id"), said.get("index"), said.get("name"), said.get("arguments")
            )
    raise ValueError(
        f"delta {number} must be a text, or an object with one of "
        "`reasoning`, `tool_call` and `usage`"
    )


def _delta(update: Update) -> str | dict[str, Any]:
    if isinstance(update, TextDelta):
        return update.text
    if isinstance(update, ReasoningDelta):
        return {"reasoning": update.text}
    if isinstance(update, UsageUpdate):
        counts = ("input_tokens", "output_tokens", "cached_input_tokens")
        return {"usage": {name: getattr(update, name) for name in counts}}
    if isinstance(update, ToolCallUpdate):
        fragment = {
            "id": update.tool_call_id,
            "index": update.index,
            "name": update.function_name,
            "arguments": update.function_args,
        }
        return {"tool_call": {key: value for key, value in fragment.items() if value is not None}}
    raise TypeError(f"a model must not answer with {type(update).__name__}")
