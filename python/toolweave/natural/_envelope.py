"""Common fields of the messages of a reply, and its calls as messages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from .._core import InvalidToolCall, ToolAggregateMessage, ToolCall, repair_json
from .._slices import OFFLOAD_THRESHOLD
from ..exceptions import InvalidJSONError
from ..executor._deferred import METADATA as DEFERRED
from ..executor._failure import REFERENCES
from ..executor._state import APPROVALS
from ._parts import calls_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BY_CALL = (APPROVALS, DEFERRED, REFERENCES)

_MAX_REPARSED_CHARS = 100_000
_MAX_INLINE_CHARS = 50_000


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
