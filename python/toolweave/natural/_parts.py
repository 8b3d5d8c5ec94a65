"""Messages of a reply: the assignment of its pieces to them, their ids and common fields."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from .._core import InvalidToolCall, ToolAggregateMessage, ToolCall, repair_json
from .._slices import OFFLOAD_THRESHOLD
from ..exceptions import InvalidJSONError
from ..executor._deferred import METADATA as DEFERRED
from ..executor._failure import REFERENCES
from ..executor._state import APPROVALS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_SEPARATE_CALLS = 1000
"""Number of calls of a reply that texts can separate into messages. Later calls share the last
message with calls, and the texts around them are joined. Otherwise a reply of short texts and calls
could become a hundred thousand messages."""

PartKind: TypeAlias = Literal["text", "reasoning"]
"""Kind of a part without calls."""

_BY_CALL = (APPROVALS, DEFERRED, REFERENCES)

_MAX_REPARSED_CHARS = 100_000
_MAX_INLINE_CHARS = 50_000


def calls_id(generation_id: str, group: int = 0) -> str:
    """Return the id of a message with calls of a reply.

    Args:
        generation_id: Id of the reply.
        group: Number of the message among those with calls, from 0.
    """
    return f"{generation_id}.calls{group + 1 if group else ''}"


class PartNumbers:
    r"""Numbering of texts, reasoning and calls in a stream, equal to that of `ReplyRun.messages`.

    Consecutive pieces of one kind form a message. White space alone is not a message, and its
    number is reused: calls separated only by white space share a message, and the white space goes
    to the start of the following text.

    Example:
        >>> numbers = PartNumbers()
        >>> pieces = [("text", " "), ("reasoning", "Hm"), ("text", "Hello"), ("text", "!")]
        >>> [numbers.place(kind, piece) for kind, piece in pieces]
        [0, 0, 1, 1]
        >>> numbers.call(0), numbers.place("text", "\n"), numbers.call(1)
        (0, 2, 0)
        >>> numbers.place("text", "So"), numbers.call(2)
        (2, 1)
    """

    __slots__ = ("_after_calls", "_group", "_groups", "_is_message", "_kind", "_number")

    def __init__(self) -> None:
        self._number = 0
        self._kind: PartKind | Literal["calls"] | None = None
        # True if there is a message with that number.
        self._is_message = False
        # True if the current part directly follows calls.
        self._after_calls = False
        self._group = -1
        self._groups: dict[int, int] = {}

    def place(self, kind: PartKind, piece: str) -> int:
        """Return the number of the message that a piece belongs to, if it becomes one."""
        if kind != self._kind and piece:
            self._number += self._is_message
            self._after_calls = self._kind == "calls"
            self._kind = kind
            self._is_message = False
        if kind == self._kind and not self._is_message:
            self._is_message = kind == "reasoning" or (bool(piece) and not piece.isspace())
        return self._number

    def call(self, index: int) -> int:
        """Return the number of the message that a call belongs to, among those with calls.

        Args:
            index: Index of the call in the reply. Its first event decides its position.
        """
        group = self._groups.get(index)
        if group is not None:
            return group
        if index >= MAX_SEPARATE_CALLS and self._group >= 0:
            return self._group
        continues = self._kind == "calls" or (
            self._kind == "text" and self._after_calls and not self._is_message
        )
        if not continues:
            self._group += 1
            self._number += self._is_message
            self._kind, self._is_message = "calls", False
        self._groups[index] = self._group
        return self._group


@dataclass(frozen=True)
class ReplyEnvelope:
    """Common fields of the messages of a reply."""

    generation_id: str
    from_agent: str | None = None
    run_id: str | None = None
    chat_id: str | None = None

    def id_of(self, part: int | str) -> str:
        """Return the id of a message of the reply."""
        return f"{self.generation_id}.{part}"


def with_envelope(
    aggregate: ToolAggregateMessage,
    given: Sequence[ToolCall | InvalidToolCall],
    envelope: ReplyEnvelope,
) -> ToolAggregateMessage:
    """Return an aggregate as a message of the reply, with the arguments that the model wrote.

    Args:
        aggregate: The calls with their results.
        given: The calls as the model made them.
        envelope: Common fields of the reply.
    """
    calls = aggregate.tool_calls
    if any(_may_have_arguments(written) for written in given):
        calls = tuple(
            _with_written_arguments(call, written)
            for call, written in zip(calls, given, strict=True)
        )
    return aggregate.__replace__(
        tool_calls=calls,
        id=calls_id(envelope.generation_id),
        from_agent=envelope.from_agent,
        generation_id=envelope.generation_id,
        run_id=envelope.run_id,
        chat_id=envelope.chat_id,
    )


def split_aggregate(
    aggregate: ToolAggregateMessage, groups: Sequence[Sequence[int]], envelope: ReplyEnvelope
) -> list[ToolAggregateMessage | None]:
    """Split an aggregate into the messages in which the model wrote its calls.

    Args:
        aggregate: All calls of the reply with their results.
        groups: Positions of the calls of each message, if there are several messages. A message
            without calls becomes None.
        envelope: Common fields of the reply.
    """
    if not groups:
        return [aggregate]
    calls = aggregate.tool_calls
    results = {result.tool_call_id: result for result in aggregate.tool_results}
    parts: list[ToolAggregateMessage | None] = []
    for number, positions in enumerate(groups):
        part = None
        if positions:
            ids = [calls[position].id for position in positions]
            part = aggregate.__replace__(
                tool_calls=[calls[position] for position in positions],
                tool_results=[results[call_id] for call_id in ids if call_id in results],
                id=calls_id(envelope.generation_id, number),
                metadata=_metadata_of(ids, aggregate.metadata),
            )
        parts.append(part)
    return parts


def _metadata_of(ids: Sequence[str], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of an aggregate, restricted to some of its calls."""
    restricted = dict(metadata)
    for name in _BY_CALL:
        by_id = restricted.pop(name, None)
        if by_id and (own := {each: by_id[each] for each in ids if each in by_id}):
            restricted[name] = own
    return restricted


def is_slow_to_parse(given: Sequence[ToolCall | InvalidToolCall]) -> bool:
    """Return True if parsing the written arguments takes longer than starting a thread."""
    return (
        len(given) > OFFLOAD_THRESHOLD
        or sum(len(call.raw) for call in given if _may_have_arguments(call)) > _MAX_INLINE_CHARS
    )


def _may_have_arguments(given: ToolCall | InvalidToolCall) -> bool:
    """Return True if the model may have written arguments that the executor does not have.

    A model that reads the error of its call should also see the call.
    """
    return (
        isinstance(given, InvalidToolCall)
        and given.kind in ("schema_violation", "unknown_tool")
        and len(given.raw) <= _MAX_REPARSED_CHARS
    )


def _with_written_arguments(call: ToolCall, given: ToolCall | InvalidToolCall) -> ToolCall:
    """Return a call that did not run with its written arguments, if it has any."""
    if not _may_have_arguments(given):
        return call
    try:
        arguments: Any = json.loads(repair_json(given.raw)[0])
    except (InvalidJSONError, ValueError, RecursionError):
        return call
    if not isinstance(arguments, dict):
        return call
    return call.__replace__(arguments=cast("dict[str, Any]", arguments))
