"""A minimal client of chats over HTTP."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

TIMEOUT = 15.0
"""Seconds to wait for the next bytes."""


class ClientError(Exception):
    """The server rejected a request."""


class ReceivedEvent(NamedTuple):
    """An event received from a stream."""

    id: int
    """Id to resume after."""
    event: dict[str, Any]
    """The event."""


class PlaygroundClient:
    """A blocking client of one server.

    Args:
        url: URL of the server.
    """

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the parsed response.

        Raises:
            ClientError: The server rejected the request.
        """
        connection = self._connect()
        try:
            content = None if body is None else json.dumps(body)
            headers = {"Content-Type": "application/json"}
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            text = response.read().decode()
            if response.status >= 300:
                raise ClientError(f"{method} {path} returned status {response.status}: {text}")
            return cast("dict[str, Any]", json.loads(text))
        finally:
            connection.close()

    def events(self, chat_id: str, after: int) -> Generator[ReceivedEvent, None, None]:
        """Yield the events of a chat until its last run has ended.

        Leaving the iteration closes the connection.

        Args:
            chat_id: Id of the chat.
            after: Sequence number of the last known event.

        Raises:
            ClientError: The server rejected the request.
        """
        connection = self._connect()
        try:
            headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
            connection.request("GET", f"/chats/{chat_id}/events", headers=headers)
            response = connection.getresponse()
            if response.status == 204:
                return
            if response.status != 200:
                text = response.read().decode()
                raise ClientError(f"the events returned status {response.status}: {text}")
            yield from _parse_events(response)
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT)


def _parse_events(lines: Iterable[bytes]) -> Iterator[ReceivedEvent]:
    fields: dict[str, str] = {}
    for raw in lines:
        line = raw.decode().rstrip("\r\n")
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
            continue
        if "data" in fields:
            yield ReceivedEvent(int(fields["id"]), json.loads(fields["data"]))
        fields = {}
