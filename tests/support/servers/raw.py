"""A server that does to each connection what a script says, byte by byte, on threads of its own.

`sse` runs on the event loop of a test and speaks proper HTTP; this is for what goes wrong below
that, and for tests that block, fork, or have several loops.

    with raw_server(events(*openai_text(["Hi"]))) as server:
        ...  # ask `server.url`
    server.requests[0].json["messages"]

A script is a function of a connection and of the request that has come on it; `scripts` makes those
that are needed often. When it returns, the connection waits for the next request.
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
    """The server is closing, so that a script has nothing more to do."""


@dataclass(frozen=True)
class Request:
    """What has been asked."""

    method: str
    target: str
    """The path with its query; at a proxy, a whole URL or a host and port."""
    version: str
    fields: tuple[tuple[str, str], ...]
    """The headers as they came, all of them."""
    body: bytes
    connection: int
    """The number of the connection that it came on, from 0."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers, by their names in lower case; the last of each."""
        return {name.lower(): value for name, value in self.fields}

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


class Connection:
    """One connection that has been accepted, as a script sees it."""

    def __init__(self, sock: socket.socket, number: int, stopping: threading.Event) -> None:
        self.socket = sock
        self.number = number
        self.left = threading.Event()
        """Set when the client is seen to have closed it."""
        self.left_at = 0.0
        """When that was, by `time.monotonic`."""
        self.over = threading.Event()
        """Set when it is closed, by whomever."""
        self.sent = 0
        """How many bytes the system has taken."""
        self._stopping = stopping
        self._unread = b""

    def send(self, data: bytes) -> None:
        """Sends bytes as they are."""
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
        """Sends a status line, header lines such as ``Content-Length: 3``, and an empty line."""
        lines = "".join(f"{line}\r\n" for line in fields)
        self.send(f"{version} {status} {reason}\r\n{lines}\r\n".encode("latin-1"))

    def chunk(self, data: bytes) -> None:
        """Sends a chunk of a body in chunks; no bytes are the end of it."""
        self.send(b"%x\r\n%b\r\n" % (len(data), data))

    def send_until_blocked(self, piece: bytes, *, quiet: float = 0.3) -> int:
        """Sends a piece again and again until nothing is taken for `quiet` seconds.

        Returns:
            How many bytes the client and the systems in between have taken. The last piece may
            not be among them as a whole.
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
        """Waits until a test sets the event."""
        deadline = time.monotonic() + TEST_TIMEOUT
        while not event.wait(0.02):
            if self._stopping.is_set():
                raise Over
            assert time.monotonic() < deadline, "nobody has set the event"

    def hold(self) -> None:
        """Does nothing until the client closes the connection."""
        more = self._unread or self.receive()
        assert not more, f"a request came into the answer to another: {more[:80]!r}"
        raise self._gone()

    def cut(self) -> None:
        """Resets the connection."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        if not self.over.is_set():
            self.over.set()
            self.socket.close()

    def receive(self, size: int = 1 << 16) -> bytes:
        """The next bytes; none where the client has closed the connection."""
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
        """The next request; None where the client has closed the connection."""
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
"""What is done when a request has come."""

Greeting = Callable[[Connection], object]
"""What is done when a connection has been made, before any request."""


@dataclass
class RawServer:
    """A server at work."""

    port: int
    scheme: str = "http"
    host: str = "127.0.0.1"
    requests: list[Request] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where it is, without a path."""
        return f"{self.scheme}://{self.host}:{self.port}"

    def left(self, number: int = -1) -> None:
        """Waits until the client has closed a connection; the last one if not told which."""
        assert self.connections[number].left.wait(TEST_TIMEOUT), "the client holds the connection"

    async def client_left(self, number: int = -1) -> None:
        """The same, for whoever is on an event loop."""
        await occurred(self.connections[number].left)

    def all_left(self) -> None:
        """Waits until no connection is open any more."""
        for connection in self.connections:
            assert connection.over.wait(TEST_TIMEOUT), f"connection {connection.number} is open"


async def occurred(event: threading.Event) -> None:
    """Waits for an event of a server without stopping the loop."""
    assert await asyncio.to_thread(event.wait, TEST_TIMEOUT), "it did not occur"


@contextmanager
def raw_server(
    *scripts: Script, greeting: Greeting | None = None, tls: ssl.SSLContext | None = None
) -> Iterator[RawServer]:
    """Serves the scripts, one to a request, in order; the last again and again.

    A script that fails, but for a connection that its client has closed, fails the test in the end.
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
def deaf_server() -> Iterator[int]:
    """The port of a server that lets nobody in."""
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
