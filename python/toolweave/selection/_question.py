"""Questions to a selector: a query with its type, site and context."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from .._checks import wrong_type
from .._core import type_name
from ..registry._purpose import QUERY_PLACEHOLDERS
from ._describe import TYPE_PLACEHOLDERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._describe import Description


class Question:
    """Query with its type, site and context.

    Args:
        query: The query.
        item_type: The type, in its short form.
        site: The site, if any.
        context: Values of further placeholders.
    """

    def __init__(
        self, query: str, item_type: str, site: str | None, context: Mapping[str, str]
    ) -> None:
        self.query = query
        """The query."""
        self.item_type = item_type
        """The type, in its short form; empty until it is known."""
        self.site = site
        """The site, if any."""
        self.context = context
        """Values of further placeholders."""

    def with_type(self, item_type: str) -> Question:
        """Return the same question with another type."""
        return Question(self.query, item_type, self.site, self.context)

    def values(self) -> dict[str, str]:
        """Return the values of all known placeholders; the context takes precedence."""
        values = {"request.site": self.site or ""}
        for name in QUERY_PLACEHOLDERS:
            values[name] = self.query
        for name in TYPE_PLACEHOLDERS:
            values[name] = self.item_type
        values.update(self.context)
        return values

    def ending(self, descriptions: Sequence[Description]) -> str:
        """Return the last part of a prompt about several tools: the query, as data.

        Texts of users are JSON strings on one line, so they cannot look like parts of the prompt.
        """
        # The context may replace the query, for example to include earlier queries.
        query = self.context.get("request.query", self.query)
        sections = [f"# Query\n{quoted(query)}"]
        known = {
            name: self.context[name]
            for description in descriptions
            for name in description.facts
            if name in self.context
        }
        if known:
            facts = "\n".join(f"[{name}]: {quoted(value)}" for name, value in known.items())
            sections.insert(0, f"# Facts\n{facts}")
        return "\n\n".join(sections)


# `json.dumps` makes a new one each time.
_encode = json.JSONEncoder(ensure_ascii=False).encode


def quoted(text: str) -> str:
    """Return a text as a JSON string on one line."""
    return _encode(text)


def build_question(
    query: object, item_type: object, site: object, context: Mapping[str, str] | None
) -> Question:
    """Build a question from the arguments of a caller.

    Raises:
        TypeError: An argument is of the wrong type.
    """
    # Cached selections are fast enough for the calls of `check_type` to be noticed.
    if not isinstance(query, str):
        raise wrong_type("query", "a str", query)
    if item_type is not None and not isinstance(item_type, str):
        raise wrong_type("item_type", "a str or None", item_type)
    if site is not None and not isinstance(site, str):
        raise wrong_type("site", "a str or None", site)
    if context is not None and not isinstance(cast("object", context), Mapping):
        raise wrong_type("context", "a mapping", context)
    values: dict[str, str] = {}
    for name, value in (context or {}).items():
        if not isinstance(cast("Any", name), str) or not isinstance(cast("Any", value), str):
            wanted = "names of placeholders to strings"
            raise TypeError(f"context must map {wanted}, got {type(value).__name__} for {name!r}")
        values[name] = _clean(value)
    site = None if site is None else _clean(site)
    about = "" if item_type is None else type_name(_clean(item_type))
    return Question(_clean(query), about, site, values)


def _clean(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
