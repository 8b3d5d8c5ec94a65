r"""A parser of server-sent events as defined by the HTML standard.

Lines end only at ``\n``, ``\r`` and ``\r\n``. Other separators of `str.splitlines`, such as U+2028,
are part of the text. The size of an event is limited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_BOM = b"\xef\xbb\xbf"


class EventTooLongError(Exception):
    """An event exceeds the maximum size."""


class ServerSentEvent(NamedTuple):
    """One event of a stream."""

    id: str
    """Last id sent by the stream; empty if there was none."""
    event: str
    """Type of the event; empty if it has none."""
    data: str
    """Data of the event, its lines joined with line feeds."""


class EventParser:
    r"""An incremental parser of one stream, independent of its division into chunks.

    Args:
        max_event_bytes: Maximum number of bytes to buffer for an event.

    Example:
        >>> parser = EventParser(max_event_bytes=1000)
        >>> list(parser.push(b"id: 7\ndata: {")), list(parser.push(b"}\n\n"))
        ([], [ServerSentEvent(id='7', event='', data='{}')])
    """

    def __init__(self, *, max_event_bytes: int) -> None:
        self.comments = 0
        """Number of comments so far, which servers send to keep a connection open."""
        self.retry: float | None = None
        """Reconnection time requested by the server, in seconds; None if it sent none."""
        self._limit = max_event_bytes
        # The pieces of an incomplete line, and the size of the current event.
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
                # Digits beyond any sensible number of milliseconds are ignored.
                self.retry = int(value[:12]) / 1000
            case _:
                pass

    def _dispatch(self) -> Iterator[ServerSentEvent]:
        data, event = self._data, self._event
        self._data, self._event, self._buffered = [], "", 0
        if data:
            yield ServerSentEvent(self._id, event, "\n".join(data))
