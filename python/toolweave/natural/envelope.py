"""What all messages of a reply carry, and its calls as one of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from .._core import InvalidToolCall, ToolAggregateMessage, ToolCall, repair_json
from ..exceptions import InvalidJSONError
from ..executor.deferred import METADATA as DEFERRED
from ..executor.failure import REFERENCES
from ..executor.run import APPROVALS
from ..slices import OFFLOAD_THRESHOLD
from .parts import calls_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BY_CALL = (APPROVALS, DEFERRED, REFERENCES)

_MAX_REPARSED_CHARS = 100_000
_MAX_INLINE_CHARS = 50_000


@dataclass(frozen=True)
class Envelope:
    """What all messages of a reply carry."""

    generation_id: str
    from_agent: str | None = None
    run_id: str | None = None
    chat_id: str | None = None

    def id_of(self, part: int | str) -> str:
        """The id of a message of the reply."""
        return f"{self.generation_id}.{part}"


def with_envelope(
    aggregate: ToolAggregateMessage,
    given: Sequence[ToolCall | InvalidToolCall],
    envelope: Envelope,
) -> ToolAggregateMessage:
    """An aggregate as a message of the reply, in which calls say what the model wrote.

    Args:
        aggregate: The calls with their results.
        given: The calls as the model made them.
        envelope: What the message is to carry.
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
    aggregate: ToolAggregateMessage, groups: Sequence[Sequence[int]], envelope: Envelope
) -> list[ToolAggregateMessage | None]:
    """An aggregate as the messages in which the model wrote its calls.

    Args:
        aggregate: All calls of the reply with their results.
        groups: The positions of the calls of each message, if there are several. One without calls
            is None.
        envelope: What the messages carry.
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
    """The metadata of an aggregate, as far as they are about some of its calls."""
    found = dict(metadata)
    for name in _BY_CALL:
        told = found.pop(name, None)
        if told and (own := {each: told[each] for each in ids if each in told}):
            found[name] = own
    return found


def is_slow_to_parse(given: Sequence[ToolCall | InvalidToolCall]) -> bool:
    """True if reading what the model wrote takes longer than starting a thread."""
    return (
        len(given) > OFFLOAD_THRESHOLD
        or sum(len(call.raw) for call in given if _may_have_arguments(call)) > _MAX_INLINE_CHARS
    )


def _may_have_arguments(given: ToolCall | InvalidToolCall) -> bool:
    """Whether the model may have written arguments that the executor does not know.

    A model that is told what is wrong with its call should see that call.
    """
    return (
        isinstance(given, InvalidToolCall)
        and given.kind in ("schema_violation", "unknown_tool")
        and len(given.raw) <= _MAX_REPARSED_CHARS
    )


def _with_written_arguments(call: ToolCall, given: ToolCall | InvalidToolCall) -> ToolCall:
    """A call that did not run, with the arguments that it had where it had any."""
    if not _may_have_arguments(given):
        return call
    try:
        arguments: Any = json.loads(repair_json(given.raw)[0])
    except (InvalidJSONError, ValueError, RecursionError):
        return call
    if not isinstance(arguments, dict):
        return call
    return call.__replace__(arguments=cast("dict[str, Any]", arguments))
