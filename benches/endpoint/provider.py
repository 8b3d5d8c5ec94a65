"""Server that sends every client the same replies, one token per tick.

    python -m endpoint.provider        # prints its port

The last message of a request names the reply: `group:NAME`. `now` is a reply without delays. Any
other name is a group that was opened with `/open`. Each of its streams gets the head and the first
token at once, and the rest after the group is started with `/go`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from endpoint import wire

_GROUP = re.compile(rb"group:(\w+)")
_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
_SCORE = '{"score": 75, "item_name": "the name", "details": "which of its details is asked for"}'


@dataclass
class Group:
    """Streams that are sent in step.

    Args:
        tokens: Number of tokens in a reply, or between two calls if there are several.
        tick: Seconds between two tokens of a stream.
        slots: Number of portions in which the streams are served within a tick; 1 for all at once.
        calls: Number of calls in a reply, whose end times are recorded; 0 for identical replies
            with one call.
        form: Form of identical replies, see `wire.text_tokens`.
    """

    tokens: int
    tick: float
    slots: int = 1
    calls: int = 0
    form: str = "call"
    streams: list[tuple[Connection, wire.Script]] = field(default_factory=list)
    times: dict[int, float] = field(default_factory=dict)
    latest: float = 0.0
    """Maximum delay of the server itself, in seconds."""
    same: wire.Script | None = None
    sent: int = 0
    """Number of pieces of each stream that have been sent, after its head."""

    def script(self) -> wire.Script:
        """Return the reply of the next stream."""
        if self.calls:
            number = len(self.streams)
            offset = number % self.tokens
            return wire.spread_script(number * self.calls, self.calls, self.tokens, offset)
        if self.same is None:
            self.same = wire.form_script(self.form, self.tokens)
        return self.same

    async def play(self, until: int | None = None) -> None:
        """Send the rest of all streams in step, or their pieces before the position `until`."""
        clock = asyncio.get_running_loop().time
        slots = [self.streams[at :: self.slots] for at in range(self.slots)]
        started = clock()
        end = max(len(script.pieces) for _, script in self.streams)
        begin = self.sent
        for step in range(begin, end if until is None else min(until, end)):
            for at, streams in enumerate(slots):
                due = started + (step - begin + at / self.slots) * self.tick
                if (wait := due - clock()) > 0:
                    await asyncio.sleep(wait)
                self.latest = max(self.latest, clock() - due)
                for connection, script in streams:
                    if step < len(script.pieces):
                        self._send(connection, script.pieces[step])
            self.sent = step + 1

    def _send(self, connection: Connection, piece: wire.Piece) -> None:
        if piece.call is not None:
            self.times[piece.call] = time.monotonic()
        connection.write(piece.data)


class Provider:
    """State shared by all connections."""

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}
        self.now = wire.script(wire.reply_tokens(40)).whole()
        self.done = wire.script(wire.cut("All of it was looked up.")).whole()
        self.score = wire.script(wire.cut(_SCORE, 8)).whole()
        self.whole_score = wire.completion(_SCORE)
        self.playing: set[asyncio.Task[None]] = set()

    def control(self, target: str) -> Any:
        """Open a group, start it, or return its results."""
        url = urlsplit(target)
        given = dict(parse_qsl(url.query))
        name = given.pop("group")
        if url.path == "/open":
            self.groups[name] = Group(
                int(given["tokens"]),
                float(given["tick"]),
                int(given.get("slots", 1)),
                int(given.get("calls", 0)),
                given.get("form", "call"),
            )
        elif url.path == "/go":
            until = int(given["until"]) if "until" in given else None
            task = asyncio.get_running_loop().create_task(self.groups[name].play(until))
            self.playing.add(task)
            task.add_done_callback(self.playing.discard)
        else:
            group = self.groups.pop(name)
            return {"times": sorted(group.times.items()), "late": group.latest}
        return None

    def ask(self, connection: Connection, body: bytes) -> None:
        """Answer a request for a reply."""
        # The last match: earlier ones may be part of prompts.
        name = _GROUP.findall(body)[-1].decode()
        if name == "now":
            connection.write(self.now)
        elif name == "score":
            connection.write(self.score if b'"stream":true' in packed(body) else self.whole_score)
        elif wire.RESULT.encode() in body:
            connection.write(self.done)
        else:
            group = self.groups[name]
            script = group.script()
            group.streams.append((connection, script))
            connection.write(script.first)


class Connection(asyncio.Protocol):
    """Connection with one request after another."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._read = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._transport = None

    def write(self, data: bytes) -> None:
        """Send data, unless the client has disconnected."""
        if self._transport is not None:
            self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        self._read += data
        while (end := self._read.find(b"\r\n\r\n")) >= 0:
            found = _LENGTH.search(self._read, 0, end + 2)
            size = end + 4 + (int(found[1]) if found else 0)
            if len(self._read) < size:
                return
            request = bytes(self._read[:size])
            del self._read[:size]
            method, target = request.split(b" ", 2)[:2]
            if method == b"POST":
                self._provider.ask(self, request[end + 4 :])
            elif b"group=" not in target:
                self.write(wire.NOT_FOUND)  # such as a list of models, which LiteLLM asks for
            else:
                outcome = self._provider.control(target.decode())
                self.write(wire.answer(json.dumps(outcome).encode()))


def packed(body: bytes) -> bytes:
    """Remove the spaces."""
    return body.replace(b" ", b"")


async def main() -> None:
    """Serve until standard input ends, together with the parent process."""
    loop = asyncio.get_running_loop()
    provider = Provider()
    server = await loop.create_server(lambda: Connection(provider), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
