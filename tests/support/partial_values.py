"""Values that are still being written, and replies in pieces."""

from __future__ import annotations

from typing import Any

from toolweave import FinishReason, FinishUpdate, TextDelta


def grows(before: Any, after: Any) -> bool:
    """Return True if a JSON value is another one, or the beginning of it."""
    if isinstance(before, str):
        return isinstance(after, str) and after.startswith(before)
    if isinstance(before, dict):
        return isinstance(after, dict) and all(
            name in after and grows(each, after[name]) for name, each in before.items()
        )
    if isinstance(before, list):
        return (
            isinstance(after, list) and len(before) <= len(after) and all(map(grows, before, after))
        )
    return type(before) is type(after) and bool(before == after)


def pieces(text: str, size: int) -> list[Any]:
    """Return a reply whose text comes in pieces of a number of characters."""
    deltas = [TextDelta(text[at : at + size]) for at in range(0, len(text), size)]
    return [*deltas, FinishUpdate(FinishReason.STOP)]
