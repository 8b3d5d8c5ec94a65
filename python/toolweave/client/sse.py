r"""A parser of server-sent events, by the rules of the HTML standard.

Lines end at ``\n``, ``\r`` and ``\r\n`` and nowhere else: what `str.splitlines` splits at besides,
such as U+2028, is part of the text. How much may be held of one event is bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_BOM = b"\xef\xbb\xbf"


class EventTooLongError(Exception):
    """An event is longer than the parser may hold."""


class ServerSentEvent(NamedTuple):
    """One event of a stream."""

    id: str
    """The last id that the stream has named; empty if there was none."""
    event: str
    """The type; empty if none was named."""
    data: str
    """The data, its lines joined with line feeds."""


class EventParser:
    r"""Parses one stream, however it is cut into chunks.

    Args:
        max_event_bytes: The largest number of bytes that an event may have before it is complete.

    Example:
        >>> parser = EventParser(max_event_bytes=1000)
        >>> list(parser.push(b"id: 7\ndata: {")), list(parser.push(b"}\n\n"))
        ([], [ServerSentEvent(id='7', event='', data='{}')])
    """

    def __init__(self, *, max_event_bytes: int) -> None:
        self.comments = 0
        """The number of comments so far, which servers send to keep a connection open."""
        self.retry: float | None = None
        """Seconds to wait before connecting again, as the server wants it."""
        self._limit = max_event_bytes
        # The pieces of a line whose end has not come, and the size of the event so far.
        self._pieces: list[bytes] = []
        self._buffered = 0
        self._first = True
        self._after_cr = False
        self._id = ""
        self._event = ""
        self._data: list[str] = []

    def push(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """Parse the next bytes of the stream; yield the events that they complete.

        Raises:
            EventTooLongError: An event is longer than allowed.
        """
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        # Bytes, unlike text, are split at "\n", "\r" and "\r\n" only.
        for piece in chunk.splitlines(keepends=True):
            self._buffered += len(piece)
            if self._buffered > self._limit:
                raise EventTooLongError(f"an event is longer than {self._limit} bytes")
            self._pieces.append(piece)
            if piece.endswith((b"\n", b"\r")):
                line = b"".join(self._pieces).rstrip(b"\r\n")
                self._pieces.clear()
                if self._first:
                    self._first = False
                    line = line.removeprefix(_BOM)
                if line:
                    self._parse_line(line)
                else:
                    yield from self._dispatch()
        self._after_cr = chunk.endswith(b"\r")

    def _parse_line(self, line: bytes) -> None:
        if line.startswith(b":"):
            self.comments += 1
            if not self._data:
                self._buffered = 0
            return
        name, _, rest = line.partition(b":")
        value = rest.removeprefix(b" ").decode(errors="replace")
        match name:
            case b"data":
                self._data.append(value)
            case b"event":
                self._event = value
            case b"id" if "\0" not in value:
                self._id = value
            case b"retry" if value.isascii() and value.isdigit():
                # So many digits that they are no number of seconds are none that anybody meant.
                self.retry = int(value[:12]) / 1000
            case _:
                pass

    def _dispatch(self) -> Iterator[ServerSentEvent]:
        data, event = self._data, self._event
        self._data, self._event, self._buffered = [], "", 0
        if data:
            yield ServerSentEvent(self._id, event, "\n".join(data))
