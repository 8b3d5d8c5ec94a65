"""Calls in the text of a reply, for frameworks that know only native calls."""

from __future__ import annotations

import json
from typing import Any, cast

from .._core import Validator

_ANYTHING = Validator(True)
_decoder = json.JSONDecoder()


def leading_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object at the start of a text; None if there is none.

    Histories show it, so that a model that reads the errors of its call also sees the call.
    """
    try:
        value: object = _decoder.raw_decode(text.lstrip())[0]
        _ANYTHING.validate(value)
    except (ValueError, TypeError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


class WhitespaceFilter:
    """Filter that drops white space around calls.

    Models put calls on lines of their own. White space is held back until text follows it, so that
    a reply that consists of calls has no text, which agents would take for an answer.
    """

    def __init__(self) -> None:
        self._held: str = ""
        self._waiting: bool = True
        self._called = False

    def text(self, text: str) -> str:
        """Add text, and return what can be emitted, including held white space."""
        if not self._waiting:
            return text
        text = self._held + text
        self._waiting = not text.strip()
        self._held = text if self._waiting else ""
        return "" if self._waiting else text

    def call(self) -> None:
        """Add a call: the white space before it is dropped."""
        self._held = ""
        self._waiting = self._called = True

    def finish(self) -> str:
        """Return the held white space; empty if there was a call."""
        return "" if self._called else self._held
