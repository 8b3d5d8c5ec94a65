"""Several searches for one question: `ensemble`, such as a menu or a film night."""

from __future__ import annotations

import asyncio

from catalogue import Found
from methods.answering import Method, line_of

MAX_QUERIES = 8


class EnsembleHandler(Method):
    """A handler that searches for all parts concurrently and combines the results.

    Params: ``queries``, a list with one query for each part; ``ensemble_type``, a name for the
    whole.
    """

    async def do(self) -> None:
        queries = list(dict.fromkeys(self.texts("queries")))[:MAX_QUERIES]
        if not queries:
            await self.nothing("What should be part of it? No queries were given.")
            return
        found = await asyncio.gather(*(self._search(query) for query in queries))
        taken: set[str] = set()
        parts: dict[str, str | None] = {}
        lines = [f"{self.text('ensemble_type') or 'Together'}:"]
        for query, answer in zip(queries, found, strict=True):
            # An item is used for one part only.
            item = next((item for item in answer.items if item.title not in taken), None)
            parts[query] = item.title if item else None
            if item is None:
                lines.append(f"- {query}: nothing fits")
                continue
            taken.add(item.title)
            nearest = "" if answer.all_words else ", the nearest there is"
            lines.append(f"- {query}: {line_of(item)}{nearest}")
        await self.answer("ensemble_result", "\n".join(lines), parts=parts)

    async def _search(self, query: str) -> Found:
        return await self.look(self.catalogue.search, query, self.item_type)
