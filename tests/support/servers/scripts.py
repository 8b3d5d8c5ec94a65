"""Common scripts for `raw` servers.

Each function returns a script. Its steps are bytes, which are sent separately, events of
`threading`, which are awaited, members of `Do`, and functions of the connection.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from .raw import Connection, Request, Script
from .sse import Do

Step: TypeAlias = "bytes | Do | threading.Event | Callable[[Connection], object]"
Framing = Literal["chunked", "length", "close"]
"""Framing of a body: by chunks, by its length, or by the connection's end."""


def do(connection: Connection, step: Step, send: Callable[[bytes], None]) -> bool:
    """Perform a step; return true if more can follow."""
    if isinstance(step, bytes):
        if step:
            send(step)
    elif isinstance(step, threading.Event):
        connection.wait(step)
    elif step is Do.HOLD:
        connection.hold()
    elif step is Do.CUT:
        connection.cut()
    elif step is Do.END:
        connection.close()
    elif callable(step):
        step(connection)
    return not connection.over.is_set()


def raw(*steps: Step) -> Script:
    """Return a script that sends the bytes unchanged, without a head."""

    def script(connection: Connection, _: Request) -> None:
        for step in steps:
            if not do(connection, step, connection.send):
                return

    return script


def answer(
    *steps: Step,
    status: int = 200,
    kind: str | None = "text/event-stream; charset=utf-8",
    framing: Framing = "chunked",
    length: int | None = None,
    fields: tuple[str, ...] = (),
    version: str = "HTTP/1.1",
) -> Script:
    """Return a script for a response with a head and a body.

    Args:
        steps: The body. In a chunked body, each bytes object is a chunk.
        status: The status.
        kind: The content type, if any.
        framing: Framing of the body.
        length: The claimed length, if it is not the length of the steps.
        fields: More header lines.
        version: HTTP version in the status line.
    """
    size = sum(len(step) for step in steps if isinstance(step, bytes)) if length is None else length
    how = {
        "chunked": "Transfer-Encoding: chunked",
        "length": f"Content-Length: {size}",
        "close": "Connection: close",
    }[framing]
    lines = (how, *fields) if kind is None else (f"Content-Type: {kind}", how, *fields)

    def script(connection: Connection, _: Request) -> None:
        connection.head(status, *lines, version=version)
        send = connection.chunk if framing == "chunked" else connection.send
        for step in steps:
            if not do(connection, step, send):
                return
        if framing == "chunked":
            connection.chunk(b"")
        elif framing == "close":
            connection.close()

    return script


def events(*steps: Step, **shape: Any) -> Script:
    """Return a stream of server-sent events; `shape` has parameters of `answer`."""
    return answer(*steps, **shape)


def document(value: object, *, status: int = 200, **shape: Any) -> Script:
    """Return a JSON document; bytes are sent unchanged."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    asked: dict[str, Any] = {"kind": "application/json", "framing": "length", **shape}
    return answer(body, status=status, **asked)


def refusal(status: int, message: str = "No.", *fields: str, **more: object) -> Script:
    """Return an error in the format of OpenAI's API."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return document({"error": {**error, **more}}, status=status, fields=fields)


def redirect(location: str, status: int = 307) -> Script:
    """Return a redirect without a body."""
    return answer(status=status, kind=None, framing="length", fields=(f"Location: {location}",))


def by_path(scripts: Mapping[str, Script]) -> Script:
    """Return a script that chooses one by the target of the request."""

    def script(connection: Connection, request: Request) -> None:
        scripts[request.target](connection, request)

    return script
