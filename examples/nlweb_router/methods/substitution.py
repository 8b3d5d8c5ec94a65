"""Substitutes for ingredients: `recipe_substitutions`."""

from __future__ import annotations

from typing import Any

import kitchen
from methods.answering import Method


class SubstitutionHandler(Method):
    """A handler that replaces an ingredient, or all that a diet excludes from a recipe.

    Params: ``recipe_name``, ``dietary_need``, ``unavailable_ingredient``, ``preference``; at least
    an ingredient, or a recipe and a need.
    """

    async def do(self) -> None:
        need = self.text("dietary_need") or self.text("preference")
        diet = kitchen.diet_of(need)
        ingredient = self.text("unavailable_ingredient")
        name = self.text("recipe_name")
        if ingredient:
            recipe = await self.look(self.catalogue.find, name, "Recipe") if name else None
            lines = recipe.facts["ingredients"] if recipe else ()
            where = ""
            if recipe and any(kitchen.holds(line, ingredient) for line in lines):
                where = f" in {recipe.title}"
            await self._replace([ingredient], diet, f"Instead of {ingredient}{where}")
        elif need and diet is None:
            known = ", ".join(kitchen.table("diets"))
            await self.nothing(f"Nothing is known of {need!r}; the diets are: {known}.")
        elif not name:
            await self.nothing("Replace what? No ingredient and no recipe was given.")
        elif diet is None:
            await self.nothing(f"What should {name!r} do without? No diet was given.")
        else:
            await self._adapt(name, diet)

    async def _adapt(self, name: str, diet: str) -> None:
        recipe = await self.item(name)
        if recipe is None:
            return
        broken = [
            line for line in recipe.facts.get("ingredients", ()) if kitchen.breaks(line, diet)
        ]
        if not broken:
            await self.answer(
                "substitution_suggestions",
                f"{recipe.title} is {diet} as it is.",
                recipe=recipe.title,
                substitutions={},
            )
            return
        await self._replace(broken, diet, f"{recipe.title}, made {diet}")

    async def _replace(self, ingredients: list[str], diet: str | None, head: str) -> None:
        lines = [f"{head}:"]
        substitutions: dict[str, list[dict[str, Any]]] = {}
        for ingredient in ingredients:
            rows = kitchen.substitutes(ingredient, diet)
            substitutions[ingredient] = rows
            if not rows:
                lines.append(f"- {ingredient}: no substitute is known; leave it out")
            lines += [f"- {ingredient}: {row['use']} ({row['how']})" for row in rows]
        if not any(substitutions.values()):
            suited = f" that is {diet}" if diet else ""
            await self.nothing(f"No substitute{suited} is known for {', '.join(ingredients)}.")
            return
        await self.answer("substitution_suggestions", "\n".join(lines), substitutions=substitutions)
