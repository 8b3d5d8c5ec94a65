"""White space around calls."""

from __future__ import annotations


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
