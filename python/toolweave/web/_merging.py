"""Merging of small deltas into fewer and larger events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

Draft = dict[str, Any]
"""A stream event without a sequence number."""

_DELTA_KINDS = frozenset({"text", "reasoning", "raw"})
_DELTA_FIELDS = frozenset({"delta", "done"})


def is_batchable(draft: Mapping[str, Any]) -> bool:
    """Return True if an event can be stored a moment later, in a batch: deltas and usage."""
    kind = draft["kind"]
    if kind == "tool_result":
        return not draft.get("done", True)
    return kind in _DELTA_KINDS or kind in {"tools_call_update", "usage"}


def merge(last: Draft, new: Draft) -> Draft | None:
    """Merge two events into an equivalent one; return None if they cannot be merged.

    Example:
        >>> merge(
        ...     {"kind": "text", "messageId": "m", "delta": "He"},
        ...     {"kind": "text", "messageId": "m", "delta": "y", "done": True},
        ... )
        {'kind': 'text', 'messageId': 'm', 'delta': 'Hey', 'done': True}
    """
    kind = new["kind"]
    if last["kind"] != kind:
        return None
    if kind in _DELTA_KINDS:
        if last.get("done") or _without(last, _DELTA_FIELDS) != _without(new, _DELTA_FIELDS):
            return None
        return {**last, **new, "delta": last.get("delta", "") + new.get("delta", "")}
    if kind == "tools_call_update":
        return _merged_calls(last, new)
    return None


def _merged_calls(last: Draft, new: Draft) -> Draft | None:
    field = "toolCallUpdates"
    if _without(last, {field}) != _without(new, {field}):
        return None
    preceding = cast("list[Draft]", last[field])
    following = cast("list[Draft]", new[field])
    if len(following) != 1 or not preceding:
        return None
    first, second = preceding[-1], following[0]
    matches = all(
        first.get(name) == value for name, value in _without(second, {"functionArgs"}).items()
    )
    if not matches or not ({"toolCallId", "index"} & second.keys()):
        return None
    arguments = first.get("functionArgs", "") + second.get("functionArgs", "")
    return {**last, field: [*preceding[:-1], {**first, "functionArgs": arguments}]}


def _without(fields: Draft, excluded: frozenset[str] | set[str]) -> Draft:
    return {name: value for name, value in fields.items() if name not in excluded}


def estimated_size(draft: Mapping[str, Any]) -> int:
    """Return the approximate size of an event in bytes."""
    size = len(draft.get("delta", "")) + len(draft.get("result", "")) + 200
    for update in draft.get("toolCallUpdates", ()):
        size += len(update.get("functionArgs", ""))
    return size
