"""White space around calls."""

from __future__ import annotations


class WhitespaceFilter:
    """Holds white space back until text follows it.

    Models put calls on lines of their own. A reply of calls alone then has no text, which agents
    take for an answer otherwise.
    """

    def __init__(self) -> None:
        self._held: str = ""
        self._waiting: bool = True
        self._called = False

    def text(self, text: str) -> str:
        """More text: what of it is text for certain, together with what was held."""
        if not self._waiting:
            return text
        text = self._held + text
        self._waiting = not text.strip()
        self._held = text if self._waiting else ""
        return "" if self._waiting else text

    def call(self) -> None:
        """A call stands here: white space before it was only layout."""
        self._held = ""
        self._waiting = self._called = True

    def finish(self) -> str:
        """What is still held where there was no call at all."""
        return "" if self._called else self._held
