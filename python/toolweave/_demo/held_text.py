"""Text of a reply that the parser holds back."""

from __future__ import annotations

from .._core import ReasoningDelta, TextDelta, ToolCallDelta, ToolCallStart
from .._streams import Event


class HeldText:
    """A tracker of the input that the parser has received but not emitted.

    It relies on two guarantees of the parser: text and the `raw` of all other events, in
    order, are the whole input, and the fragments of a call are its payload.
    """

    def __init__(self) -> None:
        self.text = ""
        """Input that no event contains yet."""
        # Numbers of characters in complete events, and in these or fragments.
        self._released = 0
        self._seen = 0
        self._in_payload = False

    def feed(self, chunk: str) -> None:
        """Record the next input of the parser."""
        self.text += chunk

    def take(self, event: Event) -> None:
        """Record an event of the parser."""
        match event:
            case ToolCallStart():
                self._in_payload = False
            case ToolCallDelta(fragment=fragment):
                # The payload follows the tag, and possibly a fence.
                start = 0 if self._in_payload else max(self.text.find(fragment), 0)
                self._in_payload = True
                self._see(self._seen + start + len(fragment))
            case TextDelta(text=span) | ReasoningDelta(text=span):
                self._release(span)
            case _:
                self._release(event.raw)

    def _release(self, span: str) -> None:
        self._released += len(span)
        self._see(self._released)

    def _see(self, position: int) -> None:
        if position > self._seen:
            self.text = self.text[position - self._seen :]
            self._seen = position
