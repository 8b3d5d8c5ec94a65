"""Following a chat, without the reading: what to ask for, what came, when to give up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from ..exceptions import ChatRequestError
from .exchanges import (
    Backoff,
    connection_error,
    invalid_response,
    is_transient,
    path_of,
    status_error,
)
from .sse import EventParser, EventTooLongError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .._core import StreamReducer
    from ..lifecycle import StreamEvent

_MAX_RETRY = 30.0


class FollowState:
    """The state of a client that follows a chat over any number of connections.

    Args:
        base_url: The server.
        chat_id: The chat.
        reducer: Takes every event.
        after: The number of the last event that is known.
        further_runs: Whether to wait for further runs once nothing runs.
        backoff: How often and when to connect again without any progress.
        max_event_bytes: The longest event.
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
        """The number of the last event that was handed on."""
        self.done = False
        """True once everything was read and nothing runs."""
        self.pause = 0.0
        """Seconds to wait before connecting again."""
        self._where = f"GET {self.url}"
        self._backoff = backoff
        self._limit = max_event_bytes
        self._parser = EventParser(max_event_bytes=max_event_bytes)
        self._has_progress = self._has_events = False

    def restart(self) -> None:
        """Count attempts anew, for a reader who asks for more after an error."""
        self._backoff.failures = 0
        self.pause = 0.0

    def headers(self) -> dict[str, str]:
        """The headers of the next request; a new connection begins with it."""
        self._parser = EventParser(max_event_bytes=self._limit)
        self._has_progress = self._has_events = False
        self.pause = 0.0
        return {
            "Accept": "text/event-stream",
            "Cache-Control": "no-store",
            "Last-Event-ID": str(self.after),
        }

    def push(self, chunk: bytes) -> Iterator[StreamEvent]:
        """Parse what came; yield the events, each known from the moment it is yielded.

        Raises:
            ChatRequestError: It is no stream of events.
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
        """Decide on a stream that ended in good order.

        Its end may be that of the server: only the answer to another request says that all is
        over.

        Raises:
            ChatRequestError: There is no further attempt.
        """
        if not self._has_progress:
            self._retry_or_raise(connection_error(self._where, None))
        elif not self._has_events:
            self.pause = self._backoff.first

    def handle_response(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        """Decide on an answer that is no stream.

        Raises:
            ChatRequestError: The server refused for good, or once too often.
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
        """Decide on a connection that failed.

        Raises:
            ChatRequestError: There is no further attempt.
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
    """True for an answer that is a stream of events."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return status == 200 and kind == "text/event-stream"
