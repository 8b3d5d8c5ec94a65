"""Statistics of items: `statistics`."""

from __future__ import annotations

import re
from collections import Counter

from catalogue import Item
from methods.answering import Method, kind_of, line_of

KINDS = {
    "average": "average|mean|typical",
    "lowest": "lowest|minimum|min|least|shortest|fewest|quickest|oldest|earliest|first|smallest",
    "highest": "highest|maximum|max|most|longest|newest|latest|largest|biggest",
    "each": "each|per|by|group|breakdown|distribution",
    "count": "count|how many|number|total",
}
"""Kinds of statistics, in the order in which they are matched."""

MEASURES = {
    "minutes": "minutes?|times?|long|short|quick",
    "calories": "calori|kcal|energy",
    "protein": "protein",
    "servings": "serving",
    "runtime": "runtime|length|long|short|minutes?|times?",
    "year": "years?|old|new|earl|lat",
}
GROUPS = {
    "cuisine": "cuisine",
    "course": "course",
    "suits": "diet",
    "director": "director",
    "genres": "genre",
    "country": "countr",
}
"""Fields by which items can be grouped."""


class StatisticsHandler(Method):
    """A handler that counts and measures items.

    Params: ``query_type`` (count, average, lowest, highest, each), ``measure`` (such as minutes,
    or genre with ``each``), ``about`` (which items; all if empty).
    """

    async def do(self) -> None:
        about = self.text("about")
        measure = self.text("measure").lower()
        asked = _named(KINDS, self.text("query_type").lower()) or "count"
        found = await self.look(self.catalogue.search, about, self.item_type, None)
        items = found.items if found.all_words else []
        what = f"{kind_of(self.item_type)}s" + (f" that fit {about!r}" if about else "")
        if not items:
            await self.nothing(f"There are no {what}.")
        elif asked == "count":
            await self.answer("statistics_result", f"{len(items)} {what}.", count=len(items))
        elif asked == "each":
            await self._each(items, measure, what)
        else:
            await self._measure(items, asked, measure, what)

    async def _each(self, items: list[Item], measure: str, what: str) -> None:
        field = _named(GROUPS, measure, items)
        if field is None:
            await self.nothing(f"By what? The {what} can be counted by {_listed(GROUPS, items)}.")
            return
        counts: Counter[str] = Counter()
        for item in items:
            value = item.facts.get(field, [])
            counts.update(value if isinstance(value, list) else [value])
        most = counts.most_common(8)
        lines = [f"{len(items)} {what}, by {field}:"]
        lines += [f"- {name}: {count}" for name, count in most]
        await self.answer("statistics_result", "\n".join(lines), counts=dict(most))

    async def _measure(self, items: list[Item], asked: str, measure: str, what: str) -> None:
        field = _named(MEASURES, measure, items)
        if field is None:
            await self.nothing(
                f"Measured how? What is known of {what} is {_listed(MEASURES, items)}."
            )
            return
        known = sorted(
            (item for item in items if field in item.facts), key=lambda i: i.facts[field]
        )
        values = [item.facts[field] for item in known]
        average = sum(values) / len(values)
        over = f"over {len(known)} {what}"
        if asked == "average":
            text = f"{field}: {average:.1f} on average {over}, from {values[0]} to {values[-1]}"
        else:
            item = known[0] if asked == "lowest" else known[-1]
            text = f"{field}: {item.facts[field]} is the {asked} {over}, {line_of(item)}"
        await self.answer(
            "statistics_result",
            f"{text}.",
            field=field,
            count=len(values),
            average=round(average, 1),
            lowest=values[0],
            highest=values[-1],
        )


def _named(known: dict[str, str], words: str, items: list[Item] | None = None) -> str | None:
    """Return the first name whose pattern matches, optionally only fields of these items."""
    for name, pattern in known.items():
        has = items is None or any(name in item.facts for item in items)
        if has and re.search(rf"\b(?:{pattern})", words):
            return name
    return None


def _listed(known: dict[str, str], items: list[Item]) -> str:
    return ", ".join(name for name in known if any(name in item.facts for item in items))
