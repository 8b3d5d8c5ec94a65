"""The recipes and movies of this example, in the full-text search of SQLite.

    catalogue = open_catalogue()
    catalogue.search("vegetarian pasta under 30 minutes", "Recipe").items[0].title
    catalogue.find("chicken alfredo", "Recipe")

Any text is a valid question: words are quoted, so that SQLite reads none as an operator. Each
search has a connection of its own, so that several can run at once, each in its thread.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import itertools
import re
import sqlite3
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bounds
import kitchen
import words

KINDS = ("Recipe", "Movie")
GENERAL = ("Thing", "Item", "CreativeWork")
"""Types that include both kinds of items."""

NUMBERS = ("minutes", "servings", "calories", "protein", "year", "runtime")
"""Numeric columns: minutes, calories (kcal) and protein (g) per serving, and so on."""

_SCHEMA = f"""
CREATE TABLE item (id INTEGER PRIMARY KEY, kind, title, {", ".join(NUMBERS)});
CREATE VIRTUAL TABLE words USING fts5 (title, tags, body, tokenize = 'porter unicode61');
"""
_names = itertools.count()


@dataclass(frozen=True)
class Item:
    """A recipe or a movie."""

    kind: str
    title: str
    facts: dict[str, Any]


@dataclass(frozen=True)
class Found:
    """The result of a search."""

    items: list[Item]
    """Items, best first."""
    all_words: bool
    """True if the items have every word of the question, not just some."""


class Catalogue:
    """A searchable collection of items.

    Args:
        items: The items.
        path: File of the database; by default it is in memory.
    """

    def __init__(self, items: list[Item], path: Path | None = None) -> None:
        self.items = items
        self._place = f"file:catalogue{next(_names)}?mode=memory&cache=shared"
        if path is not None:
            path.unlink(missing_ok=True)
            self._place = path.absolute().as_uri()
        # An in-memory database lives as long as a connection, so one is kept open.
        anchor = sqlite3.connect(self._place, uri=True, check_same_thread=False)
        weakref.finalize(self, anchor.close)
        anchor.executescript(_SCHEMA)
        marks = ", ".join("?" * (3 + len(NUMBERS)))
        for number, item in enumerate(items):
            row = [number, item.kind, item.title, *(item.facts.get(name) for name in NUMBERS)]
            anchor.execute(f"INSERT INTO item VALUES ({marks})", row)
            text = (number, item.title, *words.texts(item.title, item.facts))
            anchor.execute("INSERT INTO words (rowid, title, tags, body) VALUES (?, ?, ?, ?)", text)
        anchor.commit()

    def search(self, question: str, item_type: str = "Thing", limit: int | None = 5) -> Found:
        """Return the best items of a type for a question: those with all of its words, or any."""
        rest, condition, values = bounds.read(question[:500])
        given: list[str | int] = list(values)
        wanted, unwanted = words.read(rest)
        for word in unwanted:
            condition += " AND id NOT IN (SELECT rowid FROM words WHERE words MATCH ?)"
            given.append(word)
        kinds = _kinds(item_type)
        found = self._select(" AND ".join(wanted), condition, given, kinds, limit)
        if found or len(wanted) < 2:
            return Found(found, all_words=True)
        return Found(self._select(" OR ".join(wanted), condition, given, kinds, limit), False)

    def find(self, name: str, item_type: str = "Thing") -> Item | None:
        """Return the item with a name, or a similar one; None if there is none."""
        asked = " ".join(name.split()).casefold()[:100]
        kinds = _kinds(item_type)
        items = [item for item in self.items if item.kind in kinds]
        titles = {item.title.casefold(): item for item in items}
        if asked in titles:
            return titles[asked]
        terms = words.quoted(asked)
        hits: dict[str, int] = {}
        for word in terms:
            for item in self._select(f"title : {word}", "1", [], kinds, None):
                hits[item.title] = hits.get(item.title, 0) + 1
        likely = [item for item in items if 2 * hits.get(item.title, 0) > len(terms)]
        if likely:
            return min(likely, key=lambda item: (-hits[item.title], len(item.title)))
        plain = " ".join(terms).replace('"', "")
        close = difflib.get_close_matches(plain, titles, n=1, cutoff=0.8)
        return titles[close[0]] if close else None

    def near(self, name: str, item_type: str = "Thing") -> list[str]:
        """Return at most three titles similar to a name, as suggestions."""
        kinds = _kinds(item_type)
        titles = [item.title for item in self.items if item.kind in kinds]
        found = self.search(name, item_type, 3).items if words.quoted(name) else []
        close = difflib.get_close_matches(name[:100], titles, n=3, cutoff=0.3)
        return [item.title for item in found] or close

    def _select(
        self,
        match: str,
        condition: str,
        values: list[str | int],
        kinds: list[str],
        limit: int | None,
    ) -> list[Item]:
        marks = ", ".join("?" * len(kinds))
        table, order, given = "item", "title", [*kinds, *values]
        if match:
            table, order = "words JOIN item ON id = words.rowid", "bm25(words, 8, 4, 1), id"
            condition, given = f"{condition} AND words MATCH ?", [*given, match]
        query = f"SELECT id FROM {table} WHERE kind IN ({marks}) AND {condition} ORDER BY {order}"
        with contextlib.closing(sqlite3.connect(self._place, uri=True)) as connection:
            rows = connection.execute(f"{query} LIMIT ?", [*given, -1 if limit is None else limit])
            return [self.items[number] for (number,) in rows]


@functools.cache
def open_catalogue() -> Catalogue:
    """Return the catalogue of `data`, which is built once."""
    return Catalogue(list(_read()))


def _read() -> Iterator[Item]:
    for kind, file in (("Recipe", "recipes"), ("Movie", "movies")):
        for facts in kitchen.table(file):
            suits = {"suits": kitchen.diets_of(facts["ingredients"])} if kind == "Recipe" else {}
            yield Item(kind, facts["title"], {**facts, **suits})


def _kinds(item_type: str) -> list[str]:
    """Return the kinds of items of a type, such as ``{http://nlweb.ai/base}Recipe``."""
    kind = re.split("[}/:#]", item_type)[-1]
    return list(KINDS) if kind in GENERAL else [each for each in KINDS if each == kind]
