"""A server that speaks HTTP/2, with a script for each stream."""

from __future__ import annotations

import queue
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, RequestReceived, StreamEnded, StreamReset
from h2.exceptions import ProtocolError

from .raw import Connection, RawServer, Request, raw_server
from .sse import TEST_TIMEOUT

Act = Callable[[H2Connection], object]


class Stream:
    """One request, and the interface for its script."""

    def __init__(self, number: int, acts: _Actions, fields: list[tuple[str, str]]) -> None:
        self.number = number
        self.fields = fields
        self.body = b""
        self.left = threading.Event()
        """Event set when the client has reset the stream or disconnected."""
        self._acts = acts

    def head(self, status: int = 200, kind: str = "text/event-stream") -> None:
        """Send the headers."""
        fields = [(":status", str(status)), ("content-type", kind)]
        self._acts.put(lambda h2: h2.send_headers(self.number, fields))

    def send(self, data: bytes) -> None:
        """Send a piece of the body, which must fit into one frame and into the window."""
        self._acts.put(lambda h2: h2.send_data(self.number, data))

    def end(self) -> None:
        """End the body."""
        self._acts.put(lambda h2: h2.end_stream(self.number))

    def reset(self) -> None:
        """Reset the stream with an internal error."""
        self._acts.put(lambda h2: h2.reset_stream(self.number, ErrorCodes.INTERNAL_ERROR))

    def cut(self) -> None:
        """Close the whole connection, with all its streams."""
        self._acts.put(_cut)

    def wait_until_left(self) -> None:
        """Wait until the client has left."""
        assert self.left.wait(TEST_TIMEOUT), "the client holds the stream"


StreamScript = Callable[[Stream], object]


def _cut(_: H2Connection) -> None:
    raise ConnectionAbortedError


class _Actions:
    """Actions for the thread of a connection, because TLS sockets are not thread-safe."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Act] = queue.SimpleQueue()
        self.wakeup, self._wakeup_end = socket.socketpair()

    def put(self, act: Act) -> None:
        self._waiting.put(act)
        self._wakeup_end.send(b"!")

    def take(self) -> Act:
        self.wakeup.recv(1)
        return self._waiting.get()

    def close(self) -> None:
        self.wakeup.close()
        self._wakeup_end.close()


@dataclass
class Http2Server:
    """A running server."""

    raw: RawServer
    requests: list[Request] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)

    @property
    def url(self) -> str:
        """URL of the server."""
        return self.raw.url


class _ConnectionThread:
    """A handler of one connection."""

    def __init__(self, connection: Connection, server: Http2Server, script: StreamScript) -> None:
        self._connection = connection
        self._server = server
        self._script = script
        self._h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self._acts = _Actions()
        self._streams: dict[int, Stream] = {}
        self._threads: list[threading.Thread] = []

    def serve(self) -> None:
        sock = self._connection.socket
        try:
            self._h2.initiate_connection()
            self._flush()
            while True:
                # Data that TLS has buffered does not make the socket readable.
                read = isinstance(sock, ssl.SSLSocket) and sock.pending() > 0
                ready, _, _ = select.select([sock, self._acts.wakeup], [], [], 0 if read else None)
                if self._acts.wakeup in ready:
                    self._do(self._acts.take())
                if read or sock in ready:
                    data = self._connection.receive()
                    if not data:
                        return
                    for event in self._h2.receive_data(data):
                        self._receive(event)
                    self._flush()
        finally:
            for stream in self._streams.values():
                stream.left.set()
            for thread in self._threads:
                thread.join(TEST_TIMEOUT)
            self._acts.close()
            self._connection.close()

    def _do(self, act: Act) -> None:
        try:
            act(self._h2)
        except ProtocolError:  # the client has reset the stream meanwhile
            return
        self._flush()

    def _flush(self) -> None:
        data = self._h2.data_to_send()
        if data:
            self._connection.send(data)

    def _receive(self, event: Event) -> None:
        if isinstance(event, RequestReceived):
            fields = [(str(name), str(value)) for name, value in event.headers or ()]
            number = event.stream_id or 0
            self._streams[number] = Stream(number, self._acts, fields)
        elif isinstance(event, DataReceived):
            number = event.stream_id or 0
            self._streams[number].body += event.data or b""
            self._h2.acknowledge_received_data(event.flow_controlled_length or 0, number)
        elif isinstance(event, StreamEnded):
            stream = self._streams[event.stream_id or 0]
            self._server.requests.append(_request(stream, self._connection.number))
            self._server.streams.append(stream)
            thread = threading.Thread(target=self._script, args=(stream,), daemon=True)
            self._threads.append(thread)
            thread.start()
        elif isinstance(event, StreamReset):
            self._streams[event.stream_id or 0].left.set()


@contextmanager
def http2_server(
    script: StreamScript, *, tls: ssl.SSLContext | None = None
) -> Iterator[Http2Server]:
    """Serve every stream by the script, each on a thread of its own.

    Without `tls` it speaks HTTP/2 from the first byte on ("prior knowledge").
    """

    def talk(connection: Connection) -> None:
        _ConnectionThread(connection, server, script).serve()

    with raw_server(lambda *_: None, greeting=talk, tls=tls) as raw:
        server = Http2Server(raw)
        yield server


def _request(stream: Stream, connection: int) -> Request:
    found = dict(stream.fields)
    plain = tuple((name, value) for name, value in stream.fields if not name.startswith(":"))
    return Request(found[":method"], found[":path"], "HTTP/2", plain, stream.body, connection)
