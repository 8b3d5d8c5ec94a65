"""State of a client that follows a chat, without I/O: requests, events and retries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from ..exceptions import ChatRequestError
from ._exchanges import (
    Backoff,
    connection_error,
    invalid_response,
    is_transient,
    path_of,
    status_error,
)
from ._sse import EventParser, EventTooLongError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .._core import StreamReducer
    from ..lifecycle import StreamEvent

_MAX_RETRY = 30.0


class FollowState:
    """The state of a client that follows a chat over any number of connections.

    Args:
        base_url: URL of the server.
        chat_id: Id of the chat.
        reducer: Reducer to which all events are pushed.
        after: Sequence number to resume after.
        further_runs: True to wait for further runs once no run is active.
        backoff: The pauses between attempts to connect without progress.
        max_event_bytes: Maximum size of an event.
    """

    def __init__(
        self,
        base_url: str,
        chat_id: str,
        *,
        reducer: StreamReducer,
        after: int,
        further_runs: bool,
        backoff: Backoff,
        max_event_bytes: int,
    ) -> None:
        query = "?follow=1" if further_runs else ""
        self.url = f"{base_url}{path_of(chat_id)}/events{query}"
        self.reducer = reducer
        self.after = after
        """Sequence number of the last event that was yielded."""
        self.done = False
        """True once all events are read and no run is active."""
        self.pause = 0.0
        """Seconds to wait before reconnecting."""
        self._where = f"GET {self.url}"
        self._backoff = backoff
        self._limit = max_event_bytes
        self._parser = EventParser(max_event_bytes=max_event_bytes)
        self._has_progress = self._has_events = False

    def restart(self) -> None:
        """Reset the attempts, for a reader that continues after an error."""
        self._backoff.failures = 0
        self.pause = 0.0

    def headers(self) -> dict[str, str]:
        """Return the headers of the next request, and prepare for a new connection."""
        self._parser = EventParser(max_event_bytes=self._limit)
        self._has_progress = self._has_events = False
        self.pause = 0.0
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
            self.pause = self._backoff.first

    def handle_response(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        """Handle a response that is not an event stream.

        Raises:
            ChatRequestError: The server refused the request, or there are no attempts left.
        """
        if status == 204:
            self.done = True
            return
        if 200 <= status < 300:
            raise invalid_response(self._where, status)
        error = status_error(self._where, status, headers, content)
        if not is_transient(status):
            raise error
        self._retry_or_raise(error)

    def handle_error(self, error: Exception, *, transient: bool) -> None:
        """Handle a connection error.

        Raises:
            ChatRequestError: There are no attempts left.
        """
        final = connection_error(self._where, error)
        if not transient:
            raise final from error
        self._retry_or_raise(final, error)

    def _progress(self) -> None:
        self._has_progress = True
        self._backoff.failures = 0

    def _retry_or_raise(self, final: ChatRequestError, cause: Exception | None = None) -> None:
        pause = self._backoff.next(final.retry_after)
        if pause is None:
            raise final from cause
        self.pause = pause

    def _read(self, data: str) -> dict[str, Any]:
        try:
            event: dict[str, Any] = json.loads(data)
            self.reducer.push(event)
        except (ValueError, TypeError, RecursionError) as error:
            raise invalid_response(self._where, 200) from error
        return event


def is_stream(status: int, headers: Mapping[str, str]) -> bool:
    """Return True if a response is an event stream."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return status == 200 and kind == "text/event-stream"
