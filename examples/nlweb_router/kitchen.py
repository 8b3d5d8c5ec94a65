"""Facts about ingredients: diets, substitutions and pairings.

The tables are in `data`. An ingredient is a line of a recipe ("60 g butter"), and is matched by
whole words: "eggplant" contains no egg, and "coconut milk" no milk.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"

DIETS = {
    "vegan": "vegan|plant.based",
    "vegetarian": "vegetarian|veggie|meatless|meat",
    "dairy-free": "dairy|lactose|milk",
    "gluten-free": "gluten|wheat|coeliac|celiac",
    "egg-free": "eggs?",
    "nut-free": "nuts?",
}
"""Diets of `data/diets.json`, with patterns for their names."""


@functools.cache
def table(name: str) -> Any:
    """Return a table of `data`, which is read once."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def diet_of(words: str) -> str | None:
    """Return the diet that words mean, such as ``dairy-free`` for "without milk", or None."""
    for diet, pattern in DIETS.items():
        if re.search(rf"\b(?:{pattern})\b", words.lower()):
            return diet
    return None


def holds(ingredient: str, food: str) -> bool:
    """Return true if an ingredient is, or contains, a food; "2 eggs" contains "egg"."""
    stem = re.escape(food.lower().removesuffix("s"))
    return re.search(rf"\b{stem}(?:e?s)?\b", ingredient.lower()) is not None


def breaks(ingredient: str, diet: str) -> str | None:
    """Return the most specific food for which a diet excludes an ingredient, or None."""
    rules = table("diets")[diet]
    rest = ingredient.lower()
    for harmless in rules["but_not"]:
        rest = rest.replace(harmless.lower(), "")
    found = [food for food in rules["excludes"] if holds(rest, food)]
    return max(found, key=len, default=None)


def diets_of(ingredients: Iterable[str]) -> list[str]:
    """Return the diets that a dish of these ingredients suits."""
    lines = list(ingredients)
    return [diet for diet in table("diets") if not any(breaks(line, diet) for line in lines)]


def substitutes(ingredient: str, diet: str | None = None) -> list[dict[str, Any]]:
    """Return substitutes for an ingredient, for a diet if one is given.

    Returns:
        Rows of ``for``, ``use`` and ``how``; only those for the most specific food, so that "sour
        cream" does not get the substitutes of cream.
    """
    rows = [row for row in table("substitutions") if holds(ingredient, row["for"])]
    exact = max((len(row["for"]) for row in rows), default=0)
    return [
        {"for": row["for"], "use": row["use"], "how": row["how"]}
        for row in rows
        if len(row["for"]) == exact and diet not in row["unfit_for"]
    ]


def pairings(description: str) -> list[tuple[dict[str, Any], list[str]]]:
    """Return pairings of a dish by the words that describe it, best first.

    Returns:
        Rows of ``name``, ``kind`` and ``because``, each with the matching words.
    """
    found = [
        (row, [food for food in row["goes_with"] if holds(description, food)])
        for row in table("pairings")
    ]
    return sorted((pair for pair in found if pair[1]), key=lambda pair: -len(pair[1]))
