"""Comparison of two items: `compare`."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from catalogue import NUMBERS, Item
from methods.answering import Method
from methods.details import ASKED, LABELS, shown

TEXTS = ("cuisine", "course", "suits", "director", "cast", "genres")
"""Fields that are compared in addition to numbers."""


class CompareHandler(Method):
    """A handler that compares two items by their numbers and common properties.

    Params: ``item1_name``, ``item2_name``, ``details_requested``.
    """

    async def do(self) -> None:
        names = [self.text("item1_name"), self.text("item2_name")]
        first, second = await asyncio.gather(*(self.item(name) for name in names))
        if first is None or second is None:
            return
        if first == second:
            await self.nothing(f"Both names mean {first.title!r}: there is nothing to compare.")
            return
        requested = self.text("details_requested").lower()
        fields = _fields(first, second)
        if not fields:
            await self.nothing(
                f"{first.title} is a {first.kind.lower()} and {second.title} is a "
                f"{second.kind.lower()}: they cannot be compared."
            )
            return
        asked = [name for name in fields if re.search(rf"\b(?:{ASKED[name]})", requested)]
        lines = [f"{first.title} and {second.title}:"]
        differences: dict[str, Any] = {}
        # Requested fields come first, but not alone: models request fields that users did not.
        for name in dict.fromkeys([*asked, *fields]):
            left, right = first.facts[name], second.facts[name]
            if name in NUMBERS:
                differences[name] = left - right
                lines.append(f"- {_difference(name, first, second)}")
            elif shared := _shared(left, right):
                lines.append(f"- both, {shown(name, shared)}")
            else:
                lines.append(f"- {shown(name, left)}; {shown(name, right)}")
        await self.answer(
            "compare_items",
            "\n".join(lines),
            items=[first.title, second.title],
            differences=differences,
        )


def _fields(first: Item, second: Item) -> list[str]:
    """Return the common fields; none for a recipe and a movie."""
    both = set(first.facts) & set(second.facts)
    return [name for name in (*NUMBERS, *TEXTS) if name in both and name in ASKED]


def _difference(name: str, first: Item, second: Item) -> str:
    left, right = first.facts[name], second.facts[name]
    what = LABELS.get(name, name)
    if left == right:
        return f"{what}: {left} both"
    more = first if left > right else second
    word = "later" if name == "year" else "more"
    return f"{what}: {left} and {right} ({more.title}: {abs(left - right)} {word})"


def _shared(left: object, right: object) -> object:
    if isinstance(left, list) and isinstance(right, list):
        return [entry for entry in left if entry in right]
    return left if left == right else None
