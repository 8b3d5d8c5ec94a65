"""Messages for NLWeb's clients of August 2025 and of November 2025.

The two versions read different fields: ``message`` or ``content`` of a text, and the results of a
``result_batch`` or the content of a ``result``. Since November, a message without a sender is
stored as one of the user.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, cast

from ..executor._results import to_json_value
from ._handler import attribute

if TYPE_CHECKING:
    from ._handler import NLWebHandler

_log = logging.getLogger("toolweave.nlweb")

# NLWeb sends these itself, around the messages of a handler.
_FRAMING_TYPES = frozenset({"complete", "begin-nlweb-response", "end-nlweb-response"})
_ITEMS = {"result_batch": "results", "result": "content"}
_ITEM_FIELDS = frozenset({"@type", "name", "url"})


def is_newer(handler: object) -> bool:
    """Return True if a handler is of November 2025 or later."""
    return attribute(handler, "message_sender") is not None


def answers(value: object, *, newer: bool) -> list[dict[str, Any]]:
    """Convert a return value to messages.

    A text is an answer, an object with a ``message_type`` is a message, and objects with a name, a
    URL or a ``@type`` are results. Other values are sent as JSON. None and empty values become no
    message.

    Example:
        >>> [message] = answers({"results": [{"name": "soup"}]}, newer=False)
        >>> message["message_type"], message["results"]
        ('result_batch', [{'name': 'soup'}])
        >>> answers({"message_type": "complete"}, newer=False)
        []

    Args:
        value: A value that `to_json_value` accepts.
        newer: True for clients of November 2025 or later.

    Raises:
        ResultError: The value cannot be converted to JSON.
    """
    plain: object = to_json_value(value)
    found: list[dict[str, Any]] = []
    items: list[dict[str, Any]] = []

    def flush() -> None:
        if items:
            found.append(_results(items.copy(), newer=newer))
            items.clear()

    for each in cast("list[object]", plain) if isinstance(plain, list) else [plain]:
        item = _members(each)
        if item is not None and _is_item(item):
            items.append(item)
            continue
        flush()
        message = _message(each, newer=newer)
        if message is not None:
            found.append(message)
    flush()
    return found


def error_message(text: str) -> dict[str, Any]:
    """Return an error message."""
    return {"message_type": "error", "message": text, "content": text, "sender_type": "system"}


async def send(handler: NLWebHandler, message: dict[str, Any]) -> None:
    """Send a message, and log a failure to do so."""
    try:
        sent = handler.send_message(message)
        if isawaitable(sent):
            await cast("Awaitable[object]", sent)
    except Exception as error:  # noqa: BLE001 - a client that has disconnected is no error
        _log.warning("a message %r could not be sent", message["message_type"], exc_info=error)


def _members(value: object) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _is_item(value: dict[str, Any]) -> bool:
    return "message_type" not in value and not _ITEM_FIELDS.isdisjoint(value)


def _message(value: object, *, newer: bool) -> dict[str, Any] | None:
    if value is None or value in ("", {}, []):
        return None
    if isinstance(value, str):
        return _answer(value) if value.strip() else None
    message = _members(value)
    if message is not None:
        kind = message.get("message_type")
        if isinstance(kind, str):
            if kind in _FRAMING_TYPES:
                return None
            listed = message.get(_ITEMS.get(kind, ""))
            if isinstance(listed, list):
                return {**_rest(message), **_results(cast("list[object]", listed), newer=newer)}
            return {"sender_type": "assistant", **message}
        if isinstance(message.get("results"), list):
            return _results(message["results"], newer=newer)
    return _answer(json.dumps(value, ensure_ascii=False))


def _rest(message: dict[str, Any]) -> dict[str, Any]:
    known = {"message_type", *_ITEMS.values()}
    return {name: value for name, value in message.items() if name not in known}


def _results(items: Sequence[object], *, newer: bool) -> dict[str, Any]:
    kind = "result" if newer else "result_batch"
    return {"message_type": kind, _ITEMS[kind]: items, "sender_type": "assistant"}


def _answer(text: str) -> dict[str, Any]:
    return {
        "message_type": "nlws",
        "answer": text,
        "content": text,
        "sender_type": "assistant",
    }
