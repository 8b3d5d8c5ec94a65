"""What of a reply is out, and what the parser still holds back."""

from __future__ import annotations

from .. import Event, ReasoningDelta, TextDelta, ToolCallDelta, ToolCallStart


class HeldText:
    """Keeps account of a reply while it is parsed.

    It rests on two promises of the parser: text and the `raw` of all other events,
    in order, are the whole input, and the fragments of a call are its payload.
    """

    def __init__(self) -> None:
        self.text = ""
        """What came in and has not come out in any form."""
        # Characters that are out in full, and those that at least a fragment has shown.
        self._released = 0
        self._seen = 0
        self._in_payload = False

    def feed(self, chunk: str) -> None:
        """Note what the parser is about to get."""
        self.text += chunk

    def take(self, event: Event) -> None:
        """Note what the parser answered."""
        match event:
            case ToolCallStart():
                self._in_payload = False
            case ToolCallDelta(fragment=fragment):
                # The tag, and perhaps a fence, stand before the payload.
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
