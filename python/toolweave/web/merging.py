"""Merging what a model writes in small pieces into fewer and larger events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

Draft = dict[str, Any]
"""A stream event that has no number yet."""

_DELTA_KINDS = frozenset({"text", "reasoning", "raw"})
_DELTA_FIELDS = frozenset({"delta", "done"})


def is_batchable(draft: Mapping[str, Any]) -> bool:
    """Whether nobody minds if an event comes a moment later, with others: pieces and counts."""
    kind = draft["kind"]
    if kind == "tool_result":
        return not draft.get("done", True)
    return kind in _DELTA_KINDS or kind in {"tools_call_update", "usage"}


def merge(last: Draft, new: Draft) -> Draft | None:
    """One event that says the same as two; None if it takes both.

    Example:
        >>> merged(
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
    earlier = cast("list[Draft]", last[field])
    later = cast("list[Draft]", new[field])
    if len(later) != 1 or not earlier:
        return None
    first, second = earlier[-1], later[0]
    matches = all(
        first.get(name) == value for name, value in _without(second, {"functionArgs"}).items()
    )
    if not matches or not ({"toolCallId", "index"} & second.keys()):
        return None
    arguments = first.get("functionArgs", "") + second.get("functionArgs", "")
    return {**last, field: [*earlier[:-1], {**first, "functionArgs": arguments}]}


def _without(fields: Draft, excluded: frozenset[str] | set[str]) -> Draft:
    return {name: value for name, value in fields.items() if name not in excluded}


def estimated_size(draft: Mapping[str, Any]) -> int:
    """About how many bytes what a model wrote in an event takes."""
    size = len(draft.get("delta", "")) + len(draft.get("result", "")) + 200
    for update in draft.get("toolCallUpdates", ()):
        size += len(update.get("functionArgs", ""))
    return size
