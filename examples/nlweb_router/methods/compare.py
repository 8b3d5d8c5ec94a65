"""Two items side by side: `compare`."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from catalogue import NUMBERS, Item
from methods.answering import Method
from methods.details import ASKED, LABELS, shown

TEXTS = ("cuisine", "course", "suits", "director", "cast", "genres")
"""What is compared beside numbers."""


class CompareHandler(Method):
    """Compares two items, number by number and by what they have in common.

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
        # What is asked for comes first, and not alone: models name something where nobody did.
        for name in dict.fromkeys([*asked, *fields]):
            ours, theirs = first.facts[name], second.facts[name]
            if name in NUMBERS:
                differences[name] = ours - theirs
                lines.append(f"- {_difference(name, first, second)}")
            elif shared := _shared(ours, theirs):
                lines.append(f"- both, {shown(name, shared)}")
            else:
                lines.append(f"- {shown(name, ours)}; {shown(name, theirs)}")
        await self.answer(
            "compare_items",
            "\n".join(lines),
            items=[first.title, second.title],
            differences=differences,
        )


def _fields(first: Item, second: Item) -> list[str]:
    """The fields that both have: none, for a recipe and a movie."""
    both = set(first.facts) & set(second.facts)
    return [name for name in (*NUMBERS, *TEXTS) if name in both and name in ASKED]


def _difference(name: str, first: Item, second: Item) -> str:
    ours, theirs = first.facts[name], second.facts[name]
    what = LABELS.get(name, name)
    if ours == theirs:
        return f"{what}: {ours} both"
    more = first if ours > theirs else second
    word = "later" if name == "year" else "more"
    return f"{what}: {ours} and {theirs} ({more.title}: {abs(ours - theirs)} {word})"


def _shared(ours: object, theirs: object) -> object:
    if isinstance(ours, list) and isinstance(theirs, list):
        return [entry for entry in ours if entry in theirs]
    return ours if ours == theirs else None
