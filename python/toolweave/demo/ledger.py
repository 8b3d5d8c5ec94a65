"""What of a reply is out, and what the parser still holds back."""

from __future__ import annotations

from .. import (
    Event,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)


class Ledger:
    """Keeps account of a reply while it is parsed.

    It rests on two promises of the parser: text and the `raw` of all other events,
    in order, are the whole input, and the fragments of a call are its payload.
    """

    def __init__(self) -> None:
        self._unseen = ""
        self._released = 0
        self._seen = 0
        self._payload_found = False

    @property
    def held(self) -> str:
        """What came in and has not come out in any form."""
        return self._unseen

    def feed(self, chunk: str) -> None:
        """Note what the parser is about to get."""
        self._unseen += chunk

    def take(self, event: Event) -> None:
        """Note what the parser answered."""
        match event:
            case ToolCallStart():
                self._payload_found = False
            case ToolCallDelta(fragment=fragment):
                start = 0
                if not self._payload_found:
                    # The tag, and perhaps a fence, stand before the payload.
                    start = max(self._unseen.find(fragment), 0)
                    self._payload_found = True
                self._see(self._seen + start + len(fragment))
            case TextDelta(text=text) | ReasoningDelta(text=text):
                self._release(text)
            case _:
                self._release(event.raw)

    def _release(self, span: str) -> None:
        self._released += len(span)
        self._see(self._released)

    def _see(self, position: int) -> None:
        if position > self._seen:
            self._unseen = self._unseen[position - self._seen :]
            self._seen = position
