"""What is asked: a query, and all that goes with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from .._core import type_name
from ..registry.purpose import QUERY_PLACEHOLDERS
from .describe import TYPE_PLACEHOLDERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .describe import Description


class Question:
    """A query, and all that goes with it.

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
        """The type, in its short form; empty where nobody has sections it yet."""
        self.site = site
        """The site, if any."""
        self.context = context
        """Values of further placeholders."""

    def with_type(self, item_type: str) -> Question:
        """The same question about a type."""
        return Question(self.query, item_type, self.site, self.context)

    def values(self) -> dict[str, str]:
        """The values of all placeholders that are known; what the context says goes first."""
        values = {"request.site": self.site or ""}
        for name in QUERY_PLACEHOLDERS:
            values[name] = self.query
        for name in TYPE_PLACEHOLDERS:
            values[name] = self.item_type
        values.update(self.context)
        return values

    def ending(self, descriptions: Sequence[Description]) -> str:
        """The last part of a prompt about several tools: the query, as data.

        As JSON strings, texts of users stay on their lines and cannot look like parts of the
        prompt.
        """
        # What a prompt would say for the query, such as with the queries before it.
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
    """A text on one line, from which nothing can break out."""
    return _encode(text)


def build_question(
    query: object, item_type: object, site: object, context: Mapping[str, str] | None
) -> Question:
    """What somebody asks, whatever it is.

    Raises:
        TypeError: Something is of the wrong type.
    """
    if not isinstance(query, str):
        raise TypeError(f"query must be a str, not of the type {type(query).__name__}")
    if item_type is not None and not isinstance(item_type, str):
        kind = type(item_type).__name__
        raise TypeError(f"item_type must be a str or None, not of the type {kind}")
    if site is not None and not isinstance(site, str):
        raise TypeError(f"site must be a str or None, not of the type {type(site).__name__}")
    if context is not None and not isinstance(cast("object", context), Mapping):
        raise TypeError(f"context must be a mapping, not of the type {type(context).__name__}")
    values: dict[str, str] = {}
    for name, value in (context or {}).items():
        if not isinstance(cast("Any", name), str) or not isinstance(cast("Any", value), str):
            raise TypeError(
                f"context must map names of placeholders to texts, but {name!r} is "
                f"of the type {type(value).__name__}"
            )
        values[name] = _clean(value)
    site = None if site is None else _clean(site)
    about = "" if item_type is None else type_name(_clean(item_type))
    return Question(_clean(query), about, site, values)


def _clean(text: str) -> str:
    """The same without halves of characters, which no model and no file can be told."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
