"""A client of chats over HTTP, as small as one can be: it says things and reads what happens."""

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
    """The server did not do what was asked."""


class ReceivedEvent(NamedTuple):
    """One event of a stream."""

    id: int
    """What to resume from."""
    event: dict[str, Any]
    """The event."""


class PlaygroundClient:
    """Speaks to one server, one request after another; blocks.

    Args:
        url: Where the server is.
    """

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Asks for something, and gives what the server says.

        Raises:
            ClientError: The server refused.
        """
        connection = self._connect()
        try:
            content = None if body is None else json.dumps(body)
            headers = {"Content-Type": "application/json"}
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            text = response.read().decode()
            if response.status >= 300:
                raise ClientError(f"{method} {path} was answered with {response.status}: {text}")
            return cast("dict[str, Any]", json.loads(text))
        finally:
            connection.close()

    def events(self, chat_id: str, after: int) -> Generator[ReceivedEvent, None, None]:
        """What happens in a chat, until nothing goes on any more.

        Leaving the iteration drops the connection.

        Args:
            chat_id: The chat.
            after: The last event that is known.

        Raises:
            ClientError: The server refused.
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
                raise ClientError(f"the events were answered with {response.status}: {text}")
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
