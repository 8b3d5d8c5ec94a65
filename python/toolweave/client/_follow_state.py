"""State of a client that follows a chat, without I/O: requests, events and retries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from ..exceptions import ChatRequestError
from ._attempts import Attempts, Backoff, connection_error, invalid_response
from ._sse import EventParser, EventTooLongError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from .._core import StreamReducer
    from ..lifecycle import StreamEvent

_MAX_RETRY = 30.0


class FollowState(Attempts):
    """The state of a client that follows a chat over any number of connections.

    Args:
        url: URL of the events.
        backoff: The pauses between attempts to connect without progress.
        reducer: Reducer to which all events are pushed.
        after: Sequence number to resume after.
        max_event_bytes: Maximum size of an event.
    """

    def __init__(
        self, url: str, backoff: Backoff, reducer: StreamReducer, after: int, max_event_bytes: int
    ) -> None:
        super().__init__(f"GET {url}", backoff)
        self.url = url
        self.reducer = reducer
        self.after = after
        """Sequence number of the last event that was yielded."""
        self._limit = max_event_bytes
        self._parser = EventParser(max_event_bytes=max_event_bytes)
        self._has_progress = self._has_events = False

    def restart(self) -> None:
        """Reset the attempts, for a reader that continues after an error."""
        self._backoff.failures = 0
        self._pause = 0.0

    def headers(self) -> dict[str, str]:
        """Return the headers of the next request, and prepare for a new connection."""
        self._parser = EventParser(max_event_bytes=self._limit)
        self._has_progress = self._has_events = False
        return {
            "Accept": "text/event-stream",
            "Cache-Control": "no-store",
            "Last-Event-ID": str(self.after),
        }

    def push(self, chunk: bytes) -> Iterator[StreamEvent]:
        """Parse a chunk and yield its events; `after` counts each event before it is yielded.

        Raises:
            ChatRequestError: The stream is invalid.
        """
        parser = self._parser
        try:
            for sent in parser.push(chunk):
                event = self._read(sent.data)
                number: int = event["sequenceNumber"]
                if number > self.after:
                    self.after = number
                    self._has_events = True
                    self._progress()
                    yield cast("StreamEvent", event)
        except EventTooLongError as error:
            raise ChatRequestError(f"{self._where}: {error}", 200, "event_too_long") from error
        if parser.comments:
            self._progress()
        if parser.retry is not None:
            self._backoff.first = min(parser.retry, _MAX_RETRY)

    def handle_end(self) -> None:
        """Handle the regular end of a stream.

        The server may be shutting down: only the response to another request shows if a run is
        still active.

        Raises:
            ChatRequestError: There are no attempts left.
        """
        if not self._has_progress:
            self._retry_or_raise(connection_error(self._where, None))
        elif not self._has_events:
            self._pause = self._backoff.first

    def handle_response(self, response: httpx.Response) -> None:
        """Handle a response that is not an event stream.

        Raises:
            ChatRequestError: The server refused the request, or there are no attempts left.
        """
        status = response.status_code
        if status == 204:
            self.done = True
        elif 200 <= status < 300:
            raise invalid_response(self._where, status)
        else:
            self._handle_refusal(response)

    def _progress(self) -> None:
        self._has_progress = True
        self._backoff.failures = 0

    def _read(self, data: str) -> dict[str, Any]:
        try:
            event: dict[str, Any] = json.loads(data)
            self.reducer.push(event)
        except (ValueError, TypeError, RecursionError) as error:
            raise invalid_response(self._where, 200) from error
        return event


def is_stream(response: httpx.Response) -> bool:
    """Return True if a response is an event stream."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return response.status_code == 200 and kind == "text/event-stream"
