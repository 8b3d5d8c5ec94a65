"""The server: it sends every client the same replies, a token a tick.

    python -m endpoint.provider        # prints its port

What is sent stands in the last message of a request: `group:NAME`. `now` is a reply at once. Any
other name is a group that somebody has opened (`/open`); each of its streams gets the head and the
first token at once, and the rest when all have come and the group is told to go (`/go`).
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
    """Streams that go together.

    Args:
        tokens: How many there are in a reply; or between two calls, where there are several.
        tick: Seconds between two tokens of a stream.
        slots: In how many portions the streams are served within a tick; with 1, all at once.
        calls: How many calls there are in a reply, where the times of their ends are noted; 0 for
            replies that are all the same, with one call.
    """

    tokens: int
    tick: float
    slots: int = 1
    calls: int = 0
    streams: list[tuple[Connection, wire.Script]] = field(default_factory=list)
    times: dict[int, float] = field(default_factory=dict)
    latest: float = 0.0
    """By how much the server itself was late at most, in seconds."""
    same: wire.Script | None = None

    def script(self) -> wire.Script:
        """The reply of the next stream."""
        if self.calls:
            number = len(self.streams)
            offset = number % self.tokens
            return wire.spread_script(number * self.calls, self.calls, self.tokens, offset)
        if self.same is None:
            self.same = wire.script(wire.reply_tokens(self.tokens))
        return self.same

    async def play(self) -> None:
        """Sends all that is left, in step."""
        clock = asyncio.get_running_loop().time
        slots = [self.streams[at :: self.slots] for at in range(self.slots)]
        started = clock()
        for step in range(max(len(script.pieces) for _, script in self.streams)):
            for at, streams in enumerate(slots):
                due = started + (step + at / self.slots) * self.tick
                if (wait := due - clock()) > 0:
                    await asyncio.sleep(wait)
                self.latest = max(self.latest, clock() - due)
                for connection, script in streams:
                    if step < len(script.pieces):
                        self._send(connection, script.pieces[step])

    def _send(self, connection: Connection, piece: wire.Piece) -> None:
        if piece.call is not None:
            self.times[piece.call] = time.monotonic()
        connection.write(piece.data)


class Provider:
    """What all connections share."""

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}
        self.now = wire.script(wire.reply_tokens(40)).whole()
        self.done = wire.script(wire.cut("All of it was looked up.")).whole()
        self.score = wire.script(wire.cut(_SCORE, 8)).whole()
        self.whole_score = wire.completion(_SCORE)
        self.playing: set[asyncio.Task[None]] = set()

    def control(self, target: str) -> Any:
        """Opens a group, tells it to go, or says how it went."""
        url = urlsplit(target)
        given = dict(parse_qsl(url.query))
        name = given.pop("group")
        if url.path == "/open":
            self.groups[name] = Group(
                int(given["tokens"]),
                float(given["tick"]),
                int(given.get("slots", 1)),
                int(given.get("calls", 0)),
            )
        elif url.path == "/go":
            task = asyncio.get_running_loop().create_task(self.groups[name].play())
            self.playing.add(task)
            task.add_done_callback(self.playing.discard)
        else:
            group = self.groups.pop(name)
            return {"times": sorted(group.times.items()), "late": group.latest}
        return None

    def ask(self, connection: Connection, body: bytes) -> None:
        """Answers a request for a reply."""
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
    """One connection, with one request after another."""

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
        """Sends, if there is still somebody."""
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
            else:
                outcome = self._provider.control(target.decode())
                self.write(wire.answer(json.dumps(outcome).encode()))


def packed(body: bytes) -> bytes:
    """Without spaces."""
    return body.replace(b" ", b"")


async def main() -> None:
    """Serves until its standard input ends, with the process that started it."""
    loop = asyncio.get_running_loop()
    provider = Provider()
    server = await loop.create_server(lambda: Connection(provider), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
