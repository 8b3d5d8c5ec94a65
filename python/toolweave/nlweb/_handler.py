"""Access to NLWeb's handler of a query: the query, its type and site, and values of placeholders.

Handlers differ between versions of NLWeb, and most of their attributes may be missing or None.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

from .._core import type_name

_log = logging.getLogger("toolweave.nlweb")


class NLWebHandler(Protocol):
    """Required attributes of NLWeb's handler of a query.

    Optional attributes, which NLWeb's own handler has, are ``decontextualized_query``,
    ``prev_queries``, ``item_type``, ``site``, ``generate_mode``, ``query_params``,
    ``abort_fast_track_event``, and those that placeholders in prompts refer to.
    """

    @property
    def query(self) -> str:
        """The user's query."""
        ...

    @property
    def state(self) -> object:
        """State that is notified when a step is done; see `core.state` of NLWeb."""
        ...

    def send_message(self, message: dict[str, Any], /) -> Awaitable[None] | None:
        """Send a message to the user."""
        ...


def attribute(handler: object, name: str) -> Any:
    """Return an attribute of a handler; None if it has none."""
    return getattr(handler, name, None)


def is_decontextualized(handler: NLWebHandler) -> bool:
    """Return True if the decontextualized query is known."""
    done = attribute(handler.state, "is_decontextualization_done")
    known = bool(attribute(handler, "decontextualized_query"))
    return known and (bool(done()) if callable(done) else True)


def query_of(handler: NLWebHandler) -> str:
    """Return the query to select a tool for."""
    if is_decontextualized(handler):
        return str(attribute(handler, "decontextualized_query"))
    return str(handler.query or "")


def item_type_of(handler: NLWebHandler) -> str:
    """Return the type of the query in its short form, such as ``Recipe``."""
    value: object = _first(attribute(handler, "item_type"))
    name = type_name(value) if isinstance(value, str) else ""
    return name or "Thing"


def site_of(handler: NLWebHandler) -> str | None:
    """Return the site of the query, or the first of several."""
    value = _first(attribute(handler, "site"))
    return value if isinstance(value, str) and value else None


def _first(value: object) -> object:
    if isinstance(value, (list, tuple)):
        several = cast("Sequence[object]", value)
        return several[0] if several else None
    return value


def placeholders(handler: NLWebHandler, names: Iterable[str]) -> dict[str, str]:
    """Return the values of the placeholders that a handler knows.

    Args:
        handler: The handler.
        names: The placeholders, such as ``request.prevAnswers``.
    """
    values: dict[str, str] = {}
    for name in names:
        value_of = _VALUES.get(name)
        if value_of is None:
            continue
        try:
            values[name] = value_of(handler)
        except Exception as error:  # noqa: BLE001 - the values are objects of the application
            _log.warning("a placeholder is left empty", exc_info=error, extra={"placeholder": name})
            values[name] = ""
    return values


def _query(handler: NLWebHandler) -> str:
    before = attribute(handler, "prev_queries")
    if is_decontextualized(handler) or not before:
        return query_of(handler)
    return f"{handler.query} previous queries: {before}"


def _text(name: str, default: str = "") -> Callable[[NLWebHandler], str]:
    def value_of(handler: NLWebHandler) -> str:
        value = attribute(handler, name)
        return str(value) if value else default

    return value_of


_VALUES: Mapping[str, Callable[[NLWebHandler], str]] = {
    "request.query": _query,
    "request.rawQuery": _text("query"),
    "request.previousQueries": _text("prev_queries"),
    # As in NLWeb, which renders a list of sites with `str`.
    "request.site": _text("site"),
    "site.itemType": item_type_of,
    "request.itemType": _text("item_type"),
    "request.contextUrl": _text("context_url"),
    "request.contextDescription": _text("context_description"),
    "request.prevAnswers": _text("last_answers"),
    "request.answers": _text("final_ranked_answers"),
    "request.top_k": _text("top_k", "3"),
    "request.item_name": _text("item_name"),
    "request.details_requested": _text("details_requested"),
}
