"""The recipes and movies of this example, in the full-text search of SQLite.

    catalogue = open_catalogue()
    catalogue.search("vegetarian pasta under 30 minutes", "Recipe").items[0].title
    catalogue.find("chicken alfredo", "Recipe")

Any text is a question: words are quoted before SQLite sees them, so that none is an operator. Each
search has a connection of its own, so that several may run at once, each in its thread.
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
"""The kinds of items that there are, and the types that are any of them."""

NUMBERS = ("minutes", "servings", "calories", "protein", "year", "runtime")
"""The columns with numbers: minutes, per-serving calories (kcal) and protein (g), and so on."""

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
    """What a search came to."""

    items: list[Item]
    """The best first."""
    all_words: bool
    """Whether these have every word of the question; otherwise some of the words."""


class Catalogue:
    """Items that can be searched.

    Args:
        items: All of them.
        path: A file for the database; in memory if not given.
    """

    def __init__(self, items: list[Item], path: Path | None = None) -> None:
        self.items = items
        self._place = f"file:catalogue{next(_names)}?mode=memory&cache=shared"
        if path is not None:
            path.unlink(missing_ok=True)
            self._place = path.absolute().as_uri()
        # A database in memory is gone with its last connection: this one stays.
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
        """The items of a type that fit a question best: those with all of its words, or any."""
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
        """The item that goes by a name, or nearly so; None if there is none."""
        asked = " ".join(name.split()).casefold()[:100]
        kinds = _kinds(item_type)
        items = [item for item in self.items if item.kind in kinds]
        titles = {item.title.casefold(): item for item in items}
        if asked in titles:
            return titles[asked]
        said = words.quoted(asked)
        hits: dict[str, int] = {}
        for word in said:
            for item in self._select(f"title : {word}", "1", [], kinds, None):
                hits[item.title] = hits.get(item.title, 0) + 1
        likely = [item for item in items if 2 * hits.get(item.title, 0) > len(said)]
        if likely:
            return min(likely, key=lambda item: (-hits[item.title], len(item.title)))
        plain = " ".join(said).replace('"', "")
        close = difflib.get_close_matches(plain, titles, n=1, cutoff=0.8)
        return titles[close[0]] if close else None

    def near(self, name: str, item_type: str = "Thing") -> list[str]:
        """Titles that are near a name, for saying what there is instead; at most three."""
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
    """The catalogue of `data`, made once."""
    return Catalogue(list(_read()))


def _read() -> Iterator[Item]:
    for kind, file in (("Recipe", "recipes"), ("Movie", "movies")):
        for facts in kitchen.table(file):
            suits = {"suits": kitchen.diets_of(facts["ingredients"])} if kind == "Recipe" else {}
            yield Item(kind, facts["title"], {**facts, **suits})


def _kinds(item_type: str) -> list[str]:
    """The kinds of items that are of a type, such as ``{http://nlweb.ai/base}Recipe``."""
    kind = re.split("[}/:#]", item_type)[-1]
    return list(KINDS) if kind in GENERAL else [each for each in KINDS if each == kind]
