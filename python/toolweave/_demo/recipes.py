"""A sample registry: five tools for recipes in a `tools.xml`, and their handlers."""

from __future__ import annotations

import re
from importlib.resources import as_file
from typing import TYPE_CHECKING, Any

from ..exceptions import ToolFailed
from ..registry import ToolRegistry
from .resources import DATA, read_json

if TYPE_CHECKING:
    from collections.abc import Iterable

ITEM_TYPE = "Recipe"
"""The type that has all of its tools."""


def load_recipe_tools() -> ToolRegistry:
    """Return the registry, with a handler for each tool."""
    with as_file(DATA / "tools.xml") as path:
        registry = ToolRegistry.load(path)
    registry.handler("search")(search)
    registry.handler("compare")(compare)
    registry.handler("recipe_details", type=ITEM_TYPE)(recipe_details)
    registry.handler("scale_recipe", type=ITEM_TYPE)(scale_recipe)
    registry.handler("substitute", type=ITEM_TYPE)(substitute)
    return registry


async def search(search_query: str) -> str:
    """List the recipes that match a description.

    Args:
        search_query: A few words to search for.
    """
    words = _words(search_query)
    found = [
        (len(words & _words(recipe["name"], *recipe["tags"], *_lines(recipe))), recipe["name"])
        for recipe in _recipes()
    ]
    names = [name for hits, name in sorted(found, key=lambda each: -each[0]) if hits]
    return ", ".join(names) or f"nothing fits; there are {_names()}"


async def compare(first: str, second: str) -> str:
    """Compare two recipes.

    Args:
        first: The name of one.
        second: The name of the other.
    """
    return "\n".join(_describe(_recipe(name)) for name in (first, second))


async def recipe_details(recipe: str) -> str:
    """Return the details of a recipe.

    Args:
        recipe: The name of the recipe.
    """
    return _describe(_recipe(recipe))


async def scale_recipe(recipe: str, people: int) -> str:
    """Return the amounts of a recipe for a number of people.

    Args:
        recipe: The name of the recipe.
        people: Number of people.
    """
    found = _recipe(recipe)
    return f"{found['name']} for {people}: {', '.join(_lines(found, people / found['people']))}"


async def substitute(ingredient: str) -> str:
    """Return a substitute for an ingredient.

    Args:
        ingredient: The ingredient to replace.
    """
    table: dict[str, str] = read_json("recipes.json")["instead"]
    wanted = _words(ingredient)
    for name, instead in table.items():
        if _words(name) & wanted:
            return f"instead of {name}: {instead}"
    raise ToolFailed(f"nothing is known instead of {ingredient!r}; it is for {', '.join(table)}")


def _recipes() -> list[dict[str, Any]]:
    recipes: list[dict[str, Any]] = read_json("recipes.json")["recipes"]
    return recipes


def _recipe(name: str) -> dict[str, Any]:
    wanted = _words(name)
    for recipe in _recipes():
        if _words(recipe["name"]) & wanted:
            return recipe
    raise ToolFailed(f"there is no recipe {name!r}; there are {_names()}")


def _names() -> str:
    return ", ".join(recipe["name"] for recipe in _recipes())


def _describe(recipe: dict[str, Any]) -> str:
    needs = ", ".join(_lines(recipe))
    return f"{recipe['name']}: {recipe['minutes']} minutes, for {recipe['people']}; {needs}"


def _lines(recipe: dict[str, Any], factor: float = 1.0) -> Iterable[str]:
    return [f"{amount * factor:.4g} {what}" for amount, what in recipe["ingredients"]]


def _words(*texts: str) -> set[str]:
    """Return the words for comparison, without case and plural endings."""
    found = re.findall(r"\w+", " ".join(texts).casefold())
    return {word.removesuffix("s") for word in found if len(word) > 2}
