"""Merging what a model writes in small pieces into fewer and larger events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

Draft = dict[str, Any]
"""A stream event that has no number yet."""

_PIECES = frozenset({"text", "reasoning", "raw"})
_OF_PIECES = frozenset({"delta", "done"})


def can_wait(draft: Mapping[str, Any]) -> bool:
    """Whether nobody minds if an event comes a moment later, with others: pieces and counts."""
    kind = draft["kind"]
    if kind == "tool_result":
        return not draft.get("done", True)
    return kind in _PIECES or kind in {"tools_call_update", "usage"}


def merged(last: Draft, new: Draft) -> Draft | None:
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
    if kind in _PIECES:
        if last.get("done") or _rest(last, _OF_PIECES) != _rest(new, _OF_PIECES):
            return None
        return {**last, **new, "delta": last.get("delta", "") + new.get("delta", "")}
    if kind == "tools_call_update":
        return _merged_calls(last, new)
    return None


def _merged_calls(last: Draft, new: Draft) -> Draft | None:
    field = "toolCallUpdates"
    if _rest(last, {field}) != _rest(new, {field}):
        return None
    before = cast("list[Draft]", last[field])
    after = cast("list[Draft]", new[field])
    if len(after) != 1 or not before:
        return None
    one, other = before[-1], after[0]
    same = all(one.get(name) == value for name, value in _rest(other, {"functionArgs"}).items())
    if not same or not ({"toolCallId", "index"} & other.keys()):
        return None
    arguments = one.get("functionArgs", "") + other.get("functionArgs", "")
    return {**last, field: [*before[:-1], {**one, "functionArgs": arguments}]}


def _rest(fields: Draft, besides: frozenset[str] | set[str]) -> Draft:
    return {name: value for name, value in fields.items() if name not in besides}


def size_of(draft: Mapping[str, Any]) -> int:
    """About how many bytes what a model wrote in an event takes."""
    size = len(draft.get("delta", "")) + len(draft.get("result", "")) + 200
    for update in draft.get("toolCallUpdates", ()):
        size += len(update.get("functionArgs", ""))
    return size
