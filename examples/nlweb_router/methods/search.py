"""Search for items: `search`, the fallback tool."""

from __future__ import annotations

from methods.answering import Method, kind_of, line_of


class SearchHandler(Method):
    """A handler that finds items by words and numbers.

    Params: ``search_query``; by default the user's question.
    """

    async def do(self) -> None:
        asked: object = getattr(self.handler, "query", "")
        query = self.text("search_query") or (asked if isinstance(asked, str) else "")
        found = await self.look(self.catalogue.search, query, self.item_type)
        if not found.items:
            await self.nothing(f"No {kind_of(self.item_type)} fits {query[:100]!r}.")
            return
        head = f"For {query[:100]!r}:" if query else "Some of them:"
        if not found.all_words:
            head = f"No {kind_of(self.item_type)} has all of {query[:100]!r}; the nearest are:"
        lines = [head, *(f"- {line_of(item)}" for item in found.items)]
        await self.answer(
            "result_batch",
            "\n".join(lines),
            results=[{"type": item.kind, "name": item.title} for item in found.items],
            all_words=found.all_words,
        )
