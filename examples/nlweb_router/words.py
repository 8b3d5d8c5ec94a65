"""Words of questions and items: stop words and synonyms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

QUICK, LIGHT = 30, 300
"""Maximum minutes of a quick recipe, and maximum kcal of a light one."""

BROADER = {
    "pasta": "spaghetti fettuccine penne macaroni lasagna noodles",
    "seafood fish": "salmon cod prawns anchovies",
    "cheese": "parmesan pecorino mozzarella ricotta feta paneer cheddar gruyere mascarpone",
    "meat": "beef lamb chicken turkey bacon guanciale pepperoni",
    "sci fi scifi": "science fiction",
    "animated cartoon": "animation",
    "funny": "comedy",
    "scary": "horror",
}
"""Words of the data for words that questions use."""

_STOP_WORDS = """
a about and any anything are best by can could directed director dish dishes do evening film
films find for from get give good great i in is it list made me movie movies my need night of on
or plan please recipe recipes show some something starring suggest that the then there to want
what which with you
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words of questions that are ignored."""

_WITHOUT = re.compile(r"\bwithout (\w+)", re.IGNORECASE)


def quoted(text: str) -> list[str]:
    """Return the significant words of a text, quoted for SQLite; at most 24."""
    found = re.findall(r"[^\W_]+", text.casefold())
    significant = [word for word in dict.fromkeys(found) if word not in STOP_WORDS]
    return [f'"{word}"' for word in significant[:24]]


def read(question: str) -> tuple[list[str], list[str]]:
    """Return the wanted words of a question, and the excluded ones ("without ...")."""
    return quoted(_WITHOUT.sub(" ", question)), quoted(" ".join(_WITHOUT.findall(question)))


def texts(title: str, facts: Mapping[str, Any]) -> tuple[str, str]:
    """Return the tags and the body of an item, which are both searched."""
    tagged = ("cuisine", "course", "suits", "director", "cast", "genres", "country", "year")
    tags = " ".join(str(facts.get(name, "")) for name in tagged)
    body = " ".join(str(facts.get(name, "")) for name in ("ingredients", "steps", "about"))
    known = set(re.findall(r"\w+", f"{title} {tags} {body}".lower()))
    broader = [word for word, narrow in BROADER.items() if known & set(narrow.split())]
    if facts.get("minutes", QUICK + 1) <= QUICK:
        broader.append("quick fast easy")
    if facts.get("calories", LIGHT + 1) <= LIGHT:
        broader.append("light healthy")
    return f"{tags} {' '.join(broader)}", body
