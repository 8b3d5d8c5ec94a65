"""A server that runs a script for each request, byte by byte, on threads of its own.

`sse` runs on the event loop of a test and speaks valid HTTP; this server is for failures below
HTTP, and for tests that block, fork, or have several loops.

    with raw_server(events(*openai_text(["Hi"]))) as server:
        ...  # ask `server.url`
    server.requests[0].json["messages"]

A script is a function of a connection and of the request on it; `scripts` has factories of common
ones. When it returns, the connection waits for the next request.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from .sse import TEST_TIMEOUT

LARGEST_HEAD = 1 << 20


class Over(Exception):  # noqa: N818 - it is no error
    """The server is closing, so the script must end."""


@dataclass(frozen=True)
class Request:
    """A request."""

    method: str
    target: str
    """The path with its query; at a proxy, a whole URL or a host and port."""
    version: str
    fields: tuple[tuple[str, str], ...]
    """All headers as received."""
    body: bytes
    connection: int
    """Number of the connection, from 0."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers by lower-case name; the last one of each name."""
        return {name.lower(): value for name, value in self.fields}

    @property
    def json(self) -> Any:
        """The parsed body."""
        return json.loads(self.body)


class Connection:
    """An accepted connection, with the interface for scripts."""

    def __init__(self, sock: socket.socket, number: int, stopping: threading.Event) -> None:
        self.socket = sock
        self.number = number
        self.left = threading.Event()
        """Event set when the client has closed the connection."""
        self.left_at = 0.0
        """Time of that, by `time.monotonic`."""
        self.over = threading.Event()
        """Event set when the connection is closed by either side."""
        self.sent = 0
        """Number of bytes that the system has accepted."""
        self._stopping = stopping
        self._unread = b""

    def send(self, data: bytes) -> None:
        """Send bytes unchanged."""
        try:
            self.socket.sendall(data)
        except TimeoutError:
            raise
        except OSError as error:
            raise self._gone() from error
        self.sent += len(data)

    def head(
        self, status: int = 200, *fields: str, version: str = "HTTP/1.1", reason: str = "X"
    ) -> None:
        """Send a status line, header lines such as ``Content-Length: 3``, and an empty line."""
        lines = "".join(f"{line}\r\n" for line in fields)
        self.send(f"{version} {status} {reason}\r\n{lines}\r\n".encode("latin-1"))

    def chunk(self, data: bytes) -> None:
        """Send a chunk of a chunked body; an empty one ends the body."""
        self.send(b"%x\r\n%b\r\n" % (len(data), data))

    def send_until_blocked(self, piece: bytes, *, quiet: float = 0.3) -> int:
        """Send a piece repeatedly until nothing is accepted for `quiet` seconds.

        Returns:
            Number of bytes that the client and the systems in between have accepted. The last
            piece may be included in part.
        """
        taken = 0
        self.socket.settimeout(quiet)
        try:
            while True:
                count = self.socket.send(piece[taken % len(piece) :])
                taken += count
                self.sent += count
        except TimeoutError:
            return taken
        except OSError as error:
            raise self._gone() from error
        finally:
            self.socket.settimeout(TEST_TIMEOUT)

    def wait(self, event: threading.Event) -> None:
        """Wait until a test sets the event."""
        deadline = time.monotonic() + TEST_TIMEOUT
        while not event.wait(0.02):
            if self._stopping.is_set():
                raise Over
            assert time.monotonic() < deadline, "the event was not set"

    def hold(self) -> None:
        """Keep the connection open until the client closes it."""
        more = self._unread or self.receive()
        assert not more, f"a request came into the answer to another: {more[:80]!r}"
        raise self._gone()

    def cut(self) -> None:
        """Reset the connection."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        """Close the connection."""
        if not self.over.is_set():
            self.over.set()
            self.socket.close()

    def receive(self, size: int = 1 << 16) -> bytes:
        """Receive the next bytes; empty if the client has closed the connection."""
        try:
            data = self.socket.recv(size)
        except TimeoutError:
            raise
        except OSError:
            data = b""
        if not data:
            self._gone()
        return data

    def request(self) -> Request | None:
        """Read the next request; None if the client has closed the connection."""
        while not self._unread:
            # A client may keep an idle connection for as long as it likes.
            with suppress(TimeoutError):
                self._unread = self.receive()
                if not self._unread:
                    return None
        head = self._until(b"\r\n\r\n")
        if head is None:
            return None
        line, *lines = head.decode("latin-1").split("\r\n")
        method, target, version = line.split(" ", 2)
        fields = tuple(
            (name, value.strip()) for name, _, value in (f.partition(":") for f in lines)
        )
        found = {name.lower(): value for name, value in fields}
        body = b""
        if "content-length" in found:
            body = self._exactly(int(found["content-length"]))
        elif found.get("transfer-encoding") == "chunked":
            while (size := int(self._until(b"\r\n") or b"0", 16)) > 0:
                body += self._exactly(size + 2)[:-2]
            self._until(b"\r\n")
        return Request(method, target, version, fields, body, self.number)

    def _until(self, mark: bytes) -> bytes | None:
        while mark not in self._unread:
            assert len(self._unread) < LARGEST_HEAD
            data = self.receive()
            if not data:
                return None
            self._unread += data
        found, _, self._unread = self._unread.partition(mark)
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self._unread) < size:
            data = self.receive()
            if not data:
                raise self._gone()
            self._unread += data
        found, self._unread = self._unread[:size], self._unread[size:]
        return found

    def _gone(self) -> ConnectionError:
        if not self.left.is_set() and not self.over.is_set():
            self.left_at = time.monotonic()
            self.left.set()
        return ConnectionResetError("the client has closed the connection")


Script = Callable[[Connection, Request], object]
"""Function that handles a request."""

Greeting = Callable[[Connection], object]
"""Function that runs when a connection is accepted, before any request."""


@dataclass
class RawServer:
    """A running server."""

    port: int
    scheme: str = "http"
    host: str = "127.0.0.1"
    requests: list[Request] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)

    @property
    def url(self) -> str:
        """URL of the server, without a path."""
        return f"{self.scheme}://{self.host}:{self.port}"

    def left(self, number: int = -1) -> None:
        """Wait until the client has closed a connection, by default the last one."""
        assert self.connections[number].left.wait(TEST_TIMEOUT), "the client holds the connection"

    async def client_left(self, number: int = -1) -> None:
        """Wait as `left` does, without blocking the event loop."""
        await occurred(self.connections[number].left)

    def are_left(self, seconds: float = 0.5) -> bool:
        """Return True if all connections are closed, or are within the given time each."""
        return all(connection.over.wait(seconds) for connection in self.connections)

    def all_left(self) -> None:
        """Wait until all connections are closed."""
        for connection in self.connections:
            assert connection.over.wait(TEST_TIMEOUT), f"connection {connection.number} is open"


async def occurred(event: threading.Event) -> None:
    """Wait for an event of a server without blocking the loop."""
    assert await asyncio.to_thread(event.wait, TEST_TIMEOUT), "it did not occur"


@contextmanager
def raw_server(
    *scripts: Script, greeting: Greeting | None = None, tls: ssl.SSLContext | None = None
) -> Iterator[RawServer]:
    """Serve the scripts, one per request, in order, repeating the last.

    A script that fails for any other reason than a closed connection fails the test at the end.
    """
    waiting = list(scripts)
    stopping = threading.Event()
    turn = threading.Lock()
    faults: list[BaseException] = []
    threads: list[threading.Thread] = []

    def script() -> Script:
        with turn:
            return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    def serve(connection: Connection) -> None:
        try:
            if tls is not None:
                with suppress(OSError):
                    connection.socket.do_handshake()  # type: ignore[attr-defined]
            if greeting is not None:
                greeting(connection)
            while not connection.over.is_set() and (request := connection.request()) is not None:
                server.requests.append(request)
                script()(connection, request)
        except (ConnectionError, Over):
            pass
        except BaseException as fault:  # noqa: BLE001 - raised where the server is closed
            if not stopping.is_set():
                faults.append(fault)
        finally:
            connection.close()

    def accept() -> None:
        while True:
            try:
                sock, _ = listening.accept()
            except OSError:
                return
            if stopping.is_set():
                sock.close()
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(TEST_TIMEOUT)
            if tls is not None:
                sock = tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
            connection = Connection(sock, len(server.connections), stopping)
            server.connections.append(connection)
            thread = threading.Thread(target=serve, args=(connection,), daemon=True)
            threads.append(thread)
            thread.start()

    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
        server = RawServer(listening.getsockname()[1], "http" if tls is None else "https")
        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield server
        finally:
            stopping.set()
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for connection in server.connections:
                with suppress(OSError):
                    connection.socket.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
    if faults:
        raise faults[0]


@contextmanager
def unresponsive_server() -> Iterator[int]:
    """Yield the port of a server that never accepts connections."""
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        waiting = []
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(listening.getsockname())
            waiting.append(one)
        try:
            yield listening.getsockname()[1]
        finally:
            for one in waiting:
                one.close()
