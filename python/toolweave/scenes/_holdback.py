"""Buffer for streamed text that may turn out to be a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._unregistered_calls import find_possible_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._unregistered_calls import NameMatcher


class TextHoldback:
    """A buffer that passes text up to a tag of a possible unregistered call, and holds the rest.

    Args:
        names: The names of possible calls; None to hold nothing back.
    """

    def __init__(self, names: NameMatcher | None) -> None:
        self._names = names
        self._message_id: str | None = None
        self._pending = ""
        # Leading white space. A text of white space only is not a message.
        self._leading: list[str] = []
        # Number of characters emitted per message.
        self._emitted: dict[str, int] = {}
        self._closed = False

    def push(self, message_id: str, text: str) -> Iterator[tuple[str, str]]:
        """Add text, and return the pieces that can be emitted, with their message ids.

        Args:
            message_id: The message of the text.
            text: The next piece of the message.
        """
        if self._closed:
            return
        if message_id != self._message_id:
            # A tag does not continue in another message.
            yield from self._emit(len(self._pending))
            self._message_id = message_id
            self._leading.clear()
        if text.isspace() and not (self._pending or message_id in self._emitted):
            self._leading.append(text)
            return
        self._pending += "".join([*self._leading, text])
        self._leading.clear()
        end = len(self._pending)
        if self._names is not None and "<" in self._pending:
            end, self._closed = find_possible_call(self._pending, self._names)
        yield from self._emit(end)

    def close(self) -> Iterator[tuple[str, str]]:
        """Return the pieces before a call; text after it is held back."""
        if not self._closed:
            yield from self._emit(len(self._pending))
            self._leading.clear()
            self._closed = True

    def release(self, message_id: str, text: str) -> Iterator[tuple[str, str]]:
        """Return the remaining text of a message, once.

        Args:
            message_id: The message.
            text: The whole text of the message.
        """
        if not (self._closed or self._pending or self._leading):
            return
        self._closed, self._pending = True, ""
        passed = self._emitted.get(message_id, 0)
        if len(text) > passed:
            self._emitted[message_id] = len(text)
            yield message_id, text[passed:]

    def _emit(self, end: int) -> Iterator[tuple[str, str]]:
        if self._message_id is None or not end:
            return
        piece, self._pending = self._pending[:end], self._pending[end:]
        self._emitted[self._message_id] = self._emitted.get(self._message_id, 0) + end
        yield self._message_id, piece
