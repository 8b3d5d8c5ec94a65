"""An OpenAI-compatible endpoint on the loopback with scripted replies."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Delta = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """One reply, streamed or not, as the client requests."""

    pieces: Sequence[str | Delta] = ()
    """The deltas; a string is one of `content`."""
    finish: str | None = "stop"
    """Finish reason; None for a stream that ends without one."""
    usage: dict[str, Any] = field(
        default_factory=lambda: {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    )
    status: int = 200
    drop: bool = False
    """True if the connection breaks after the pieces."""

    @classmethod
    def of(cls, text: str, *, size: int = 4, finish: str | None = "stop") -> Reply:
        """Split a text into pieces of a few characters."""
        return cls([text[at : at + size] for at in range(0, len(text), size)], finish)


class Endpoint:
    """A server and the requests it has received."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.requests: list[dict[str, Any]] = []

    def prompts(self) -> list[list[tuple[str, str]]]:
        """Return roles and texts of the messages of each request."""
        return [
            [(message["role"], message.get("content") or "") for message in request["messages"]]
            for request in self.requests
        ]


@contextmanager
def serving(*replies: Reply | str) -> Iterator[Endpoint]:
    """Serve the replies, one per request, in order."""
    waiting = list(replies)
    with answering(lambda _: waiting.pop(0) if waiting else Reply(status=500)) as endpoint:
        yield endpoint


@contextmanager
def answering(script: Callable[[dict[str, Any]], Reply | str]) -> Iterator[Endpoint]:
    """Serve the reply that a function returns for the body of each request."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.requests.append(asked)
            answer = script(asked)
            reply = Reply.of(answer) if isinstance(answer, str) else answer
            if reply.status != 200:
                self._whole(reply.status, {"error": {"message": "out of order", "type": "x"}})
            elif asked.get("stream"):
                self._stream(reply, asked)
            else:
                self._whole(200, completion(reply))

        def _whole(self, status: int, body: dict[str, Any]) -> None:
            self.close_connection = True
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, reply: Reply, asked: dict[str, Any]) -> None:
            self.close_connection = True
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            if reply.drop:
                self.send_header("Content-Length", "1000000")
            self.end_headers()
            try:
                for piece in reply.pieces:
                    self._send({"index": 0, "delta": delta(piece), "finish_reason": None})
                if reply.finish is not None:
                    self._send({"index": 0, "delta": {}, "finish_reason": reply.finish})
                if reply.drop:
                    return
                if (asked.get("stream_options") or {}).get("include_usage"):
                    self._send(None, usage=reply.usage)
                self.wfile.write(b"data: [DONE]\n\n")
            except OSError:  # the client has gone
                pass

        def _send(self, choice: Delta | None, **more: object) -> None:
            chunk = {**HEAD, "object": "chat.completion.chunk", **more}
            chunk["choices"] = [] if choice is None else [choice]
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Log nothing, instead of writing to stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint = Endpoint(server.server_port)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


HEAD = {"id": "chatcmpl-1", "created": 1, "model": "natural"}


def delta(piece: str | Delta) -> Delta:
    return {"role": "assistant", "content": piece} if isinstance(piece, str) else piece


def completion(reply: Reply) -> dict[str, Any]:
    text = "".join(delta(piece).get("content") or "" for piece in reply.pieces)
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    return {**HEAD, "object": "chat.completion", "choices": [choice], "usage": reply.usage}
