"""Pairings with a dish: `accompaniment`."""

from __future__ import annotations

import re
from typing import Any

import kitchen
from methods.answering import Method

MAX_ANSWERS = 3
MEANT = {
    "wine": "red wine|white wine|sparkling wine|dessert wine",
    "drink": "red wine|white wine|sparkling wine|dessert wine|beer|tea|coffee",
    "beverage": "red wine|white wine|sparkling wine|dessert wine|beer|tea|coffee",
    "dip": "sauce",
    "vegetable": "side|salad",
    "side": "side|salad|bread",
}
"""Kinds that general words include; other words are kinds themselves."""


class AccompanimentHandler(Method):
    """A handler that pairs a main item with a wine, a side, a salad or a sauce, with reasons.

    Params: ``main_item``; ``search_query``, the sort of thing that should go with it, if any.
    """

    async def do(self) -> None:
        main = self.text("main_item")
        if not main:
            await self.nothing("With what? No dish was given.")
            return
        wanted = self.text("search_query").lower()
        dish = await self.look(self.catalogue.find, main, "Recipe")
        # A dish outside the catalogue is paired by its name alone.
        described = f"{main} {dish.title} {dish.facts['cuisine']}" if dish else main
        rows = await self._matching_rows(described, wanted, dish.title if dish else main)
        if not rows and dish:
            described += f" {' '.join(dish.facts['ingredients'])}"
            rows = await self._matching_rows(described, wanted, dish.title)
        if not rows:
            sort = f"No {wanted}" if wanted else "Nothing"
            await self.nothing(f"{sort} is known to go with {main!r}.")
            return
        lines = [f"With {dish.title if dish else main}:"]
        lines += [f"- {row['name']} ({row['sort']}): {row['because']}" for row in rows]
        pairs = [{key: row[key] for key in ("name", "sort", "because")} for row in rows]
        await self.answer("result_batch", "\n".join(lines), main_item=main, results=pairs)

    async def _matching_rows(self, described: str, wanted: str, main: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for row, _ in kitchen.pairings(described):
            sort = row["kind"]
            if sort == "recipe":
                recipe = await self.look(self.catalogue.find, row["name"], "Recipe")
                sort = recipe.facts["course"] if recipe else sort
            if row["name"] != main and _is_meant(wanted, sort):
                rows.append({**row, "sort": sort})
        return rows[:MAX_ANSWERS]


def _is_meant(wanted: str, sort: str) -> bool:
    """Return true if words ask for a sort, such as ``red wine``; no words ask for any sort."""
    known = "|".join([*MEANT, *MEANT.values(), "sauce|starter|soup|dessert"])
    asked = re.findall(rf"\b({known})(?:e?s)?\b", wanted)
    if not asked:
        return True
    return any(re.fullmatch(MEANT.get(word, word), sort) for word in asked)
