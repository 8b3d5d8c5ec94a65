"""Recorded replies of models.

A recording is a JSON file of one reply or a list of replies, readable and fit for version control:

    {
      "model": "qwen2.5-coder-1.5b",
      "messages": [{"kind": "text", "role": "user", "text": "What is 15 + 27?"}],
      "deltas": ["I", "'ll", " add", {"usage": {"input_tokens": 12, "output_tokens": 3}}],
      "delta_ms": [3848, 4036, 4568, 4570],
      "finish_reason": "stop"
    }

A delta is a text, or an object with one of ``reasoning``, ``tool_call`` and ``usage``. A ``prompt``
(the text of the user) and a ``system`` prompt can take the place of ``messages``.
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
from ._conversation import as_messages
from ._direct import as_model
from ._identity import identify
from ._streaming import closing

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence

    from .._core import FunctionContract
    from .._messages import Message, Update
    from ..protocols import Model, ModelOptions

__all__ = ["RecordedReply", "StreamRecorder", "load", "save"]


@dataclass(frozen=True)
class RecordedReply:
    """One reply to one conversation."""

    messages: tuple[Message, ...]
    """Conversation that the reply answers."""
    updates: tuple[Update, ...]
    """Updates as they arrived, ending with a `FinishUpdate` unless there is an error."""
    times: tuple[float, ...] = ()
    """Arrival time of each update, in seconds from the request; empty if unknown."""
    model: str | None = None
    """Name of the model."""
    error: ModelError | None = None
    """Error that interrupted the reply, if any."""

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> RecordedReply:
        """Create a reply from its JSON form.

        Raises:
            MessageError: The conversation is invalid.
            ValueError: Another field is missing or invalid.
        """
        deltas: object = fields.get("deltas")
        if not isinstance(deltas, list):
            raise ValueError(f"`deltas` must be a list, got {type(deltas).__name__}")
        recorded = cast("list[object]", deltas)
        updates = [_update(number, delta) for number, delta in enumerate(recorded)]
        times = [milliseconds / 1000 for milliseconds in fields.get("delta_ms", ())]
        if times and len(times) != len(updates):
            raise ValueError(
                f"`delta_ms` must have {len(updates)} entries, one for each delta, got {len(times)}"
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
        """Return the JSON form, as `from_dict` takes it."""
        deltas = [update for update in self.updates if not isinstance(update, FinishUpdate)]
        fields: dict[str, Any] = {
            "model": self.model,
            "messages": [message.to_dict() for message in self.messages],
            "deltas": [_delta(update) for update in deltas],
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
    """Load recordings from a file, or from the ``*.json`` files of a directory that have some.

    Raises:
        OSError: The file or directory cannot be read.
        ValueError: A file is not a recording. The message names the file.
    """
    path = Path(path)
    if path.is_dir():
        parsed = [(file, _parsed(file)) for file in sorted(path.glob("*.json"))]
        return [
            _reply(file, cast("object", entry))
            for file, entries in parsed
            for entry in entries
            if isinstance(entry, dict) and "deltas" in cast("dict[str, object]", entry)
        ]
    return [_reply(path, entry) for entry in _parsed(path)]


def save(replies: Iterable[RecordedReply], path: str | os.PathLike[str]) -> None:
    """Write recordings to a file."""
    text = json.dumps([reply.to_dict() for reply in replies], ensure_ascii=False, indent=2)
    Path(path).write_text(text + "\n", encoding="utf-8")


class StreamRecorder:
    """A model that forwards requests to another model, and records the replies.

    A reply that is not read to its end is not recorded.

    Args:
        model: Model that answers.
        clock: Function that returns the time in seconds.

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
        identity = identify(self._model)
        self.name = identity.name
        """Name of the model that answers."""
        self.provider = identity.provider
        """Provider of the model that answers."""
        self.native_tools = identity.native_tools
        """True if the model that answers makes native calls."""
        self.structured_output = identity.structured_output
        """True if requests have the schema of the reply."""
        self.replies: list[RecordedReply] = []
        """Recorded replies, in the order in which they ended."""

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Stream the reply of the model, and record it.

        Raises:
            ModelError: The request failed, or the reply was interrupted. The error is recorded.
        """
        conversation = tuple(messages)
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
                    RecordedReply(conversation, tuple(updates), tuple(times), self.name, error)
                )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recorded replies to a file, for `ReplayModel`."""
        save(self.replies, path)


def _parsed(file: Path) -> list[object]:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as err:
        raise ValueError(f"{file} must be valid JSON: {err}") from err
    return cast("list[object]", data) if isinstance(data, list) else [data]


def _reply(file: Path, entry: object) -> RecordedReply:
    try:
        if not isinstance(entry, Mapping):
            raise ValueError(f"a recording must be an object, got {type(entry).__name__}")
        return RecordedReply.from_dict(cast("Mapping[str, Any]", entry))
    except (KeyError, OverflowError, TypeError, ValueError) as err:
        raise ValueError(f"{file}: {err}") from err


def _conversation(fields: Mapping[str, Any]) -> list[Message]:
    if "messages" in fields:
        return as_messages(fields["messages"])
    if not isinstance(fields.get("prompt"), str):
        raise ValueError("a recording must have `messages` or a `prompt`")
    messages: list[Message] = [TextMessage(fields["prompt"])]
    if fields.get("system"):
        messages.insert(0, TextMessage(fields["system"], role="system"))
    return messages


def _update(number: int, delta: object) -> Update:
    if isinstance(delta, str):
        return TextDelta(delta)
    if isinstance(delta, Mapping) and len(cast("Mapping[str, Any]", delta)) == 1:
        ((kind, value),) = cast("Mapping[str, Any]", delta).items()
        if kind == "reasoning":
            return ReasoningDelta(value)
        if kind in ("usage", "tool_call") and isinstance(value, Mapping):
            given = cast("Mapping[str, Any]", value)
            if kind == "usage":
                return UsageUpdate(**given)
            return ToolCallUpdate(
                given.get("id"), given.get("index"), given.get("name"), given.get("arguments")
            )
    raise ValueError(
        f"delta {number} must be a text, or an object with one of "
        "`reasoning`, `tool_call` and `usage`"
    )


def _delta(update: Update) -> str | dict[str, Any]:
    match update:
        case TextDelta(text):
            return text
        case ReasoningDelta(text):
            return {"reasoning": text}
        case UsageUpdate():
            counts = ("input_tokens", "output_tokens", "cached_input_tokens")
            return {"usage": {name: getattr(update, name) for name in counts}}
        case ToolCallUpdate(call_id, index, name, arguments):
            fragment = {"id": call_id, "index": index, "name": name, "arguments": arguments}
            given = {key: value for key, value in fragment.items() if value is not None}
            return {"tool_call": given}
        case _:
            raise TypeError(
                "an update must be text, reasoning, a tool call or usage, "
                f"got {type(update).__name__}"
            )
