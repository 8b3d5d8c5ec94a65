"""Facts about one item: `details`."""

from __future__ import annotations

import re

from methods.answering import Method

ASKED = {
    "ingredients": "ingredients?|need|contains?|made of|shopping",
    "steps": "steps?|instructions?|directions|method|prepar|make|cook(?!ing time)",
    "minutes": "minutes|time|long|quick|fast",
    "servings": "servings?|serves|portions?|people|yield",
    "calories": "calori|kcal|nutrition|energy|healthy|fat",
    "protein": "protein|nutrition",
    "suits": "diet|vegan|vegetarian|gluten|dairy|lactose|allerg|suit",
    "cuisine": "cuisine|origin|country|from",
    "year": "year|when|released?|date|old",
    "director": "direct|made by|filmmaker",
    "cast": "cast|actors?|actress|stars?|starring|plays?|who is in",
    "runtime": "runtime|duration|time|long|length|minutes",
    "genres": "genres?|kind|sort",
    "about": "about|plot|story|synopsis|summary|happens",
    "country": "country|from|where",
}
"""Fields of items, with patterns of words that ask for them."""

LABELS = {
    "minutes": "minutes in all",
    "calories": "kcal per serving",
    "protein": "g of protein per serving",
    "runtime": "minutes",
    "suits": "suits diets",
}


class DetailsHandler(Method):
    """A handler that answers with the requested facts about an item, or with all.

    Params: ``item_name``, ``details_requested``.
    """

    async def do(self) -> None:
        item = await self.item(self.text("item_name"))
        if item is None:
            return
        requested = self.text("details_requested")
        known = [name for name in ASKED if name in item.facts]
        asked = [name for name in known if re.search(rf"\b(?:{ASKED[name]})", requested.lower())]
        fields = {name: item.facts[name] for name in asked or known}
        head = item.title
        if requested and not asked:
            head += f": nothing is known of {requested!r} in particular, but this"
        lines = [f"{head}:", *(f"- {shown(name, value)}" for name, value in fields.items())]
        await self.answer("item_details", "\n".join(lines), name=item.title, details=fields)


def shown(name: str, value: object) -> str:
    """Return a field and its value as readable text."""
    if isinstance(value, list):
        between = " " if name == "steps" else ", "
        value = between.join(str(entry) for entry in value) or "none"
    return f"{LABELS.get(name, name)}: {value}"
