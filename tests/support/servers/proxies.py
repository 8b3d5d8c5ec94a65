"""A proxy on the loopback that records requests."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from .raw import Connection, RawServer, Request, raw_server
from .sse import TEST_TIMEOUT


def _pump(source: Connection, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.receive():
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _relay(connection: Connection, upstream: socket.socket) -> None:
    """Relay bytes both ways until the upstream has closed."""
    pump = threading.Thread(target=_pump, args=(connection, upstream), daemon=True)
    pump.start()
    try:
        while data := upstream.recv(1 << 16):
            connection.send(data)
    finally:
        with suppress(OSError):
            upstream.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            connection.socket.shutdown(socket.SHUT_RDWR)
        pump.join(TEST_TIMEOUT)
        connection.close()


def _proxied(connection: Connection, request: Request) -> None:
    if request.method == "CONNECT":
        host, _, port = request.target.rpartition(":")
        with socket.create_connection((host.strip("[]"), int(port)), TEST_TIMEOUT) as upstream:
            connection.head(200)
            _relay(connection, upstream)
        return
    parts = urlsplit(request.target)
    with socket.create_connection((parts.hostname, parts.port or 80), TEST_TIMEOUT) as upstream:
        lines = "".join(f"{name}: {value}\r\n" for name, value in request.fields)
        target = parts._replace(scheme="", netloc="").geturl() or "/"
        head = f"{request.method} {target} HTTP/1.1\r\n{lines}\r\n"
        upstream.sendall(head.encode("latin-1") + request.body)
        _relay(connection, upstream)


@contextmanager
def proxy() -> Iterator[RawServer]:
    """Run a proxy for HTTP, and by CONNECT for HTTPS, with the `requests` that it received."""
    with raw_server(_proxied) as server:
        yield server
