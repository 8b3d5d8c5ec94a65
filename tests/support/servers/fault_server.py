"""A server of chats for tests that kill it: `python fault_server.py '{"url": ..., ...}'`.

It prints its port, and then a line for each run that holds at the point where it is to be killed.
It exits when its standard input is closed.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
import logging
import os
import random
import resource
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import uvicorn

from toolweave import Agent, Message, TextMessage, ToolCall, ToolResult
from toolweave.protocols import Journal
from toolweave.store import MessageStore
from toolweave.web import AgentResponder, ResponderRun, Turn, WebLimits, chat_app

MANY = 10_000


class Config:
    """Configuration of the server.

    Args:
        url: URL of the database.
        effects: File that the tool appends to.
        holds: True to hold runs at the points that their users name.
        ahead: Seconds that the clock is ahead, so that other servers' leases have expired.
        options: Options of the store.
        limits: Limits of the server.
    """

    def __init__(
        self,
        url: str,
        effects: str,
        *,
        holds: bool = False,
        ahead: float = 0.0,
        options: dict[str, Any] | None = None,
        limits: dict[str, Any] | None = None,
    ) -> None:
        self.url = url
        self.effects = effects
        self.holds = holds
        self.ahead = ahead
        self.options = options or {}
        self.limits: dict[str, Any] = {
            "requests": None,
            "runs": MANY,
            "runs_per_user": MANY,
            "streams": MANY,
            "streams_per_user": MANY,
            "shutdown_grace": 0.0,
            **(limits or {}),
        }


@dataclasses.dataclass(frozen=True)
class Plan:
    """The script of a run, sent as JSON in the user's message."""

    rounds: int = 2
    """Number of replies with calls."""
    calls: int = 2
    """Number of calls in each of them."""
    words: int = 6
    """Number of words before the calls."""
    pause: float = 0.0
    """Seconds between words."""
    seconds: float = 0.0
    """Minimum duration of the run in seconds, regardless of `rounds`."""
    hold: int | str | None = None
    """Point at which the run holds: a number, or a name."""


def say(*words: object) -> None:
    """Print a line for the test."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class Points:
    """The points of a run at which the server may be killed, counted as they are passed."""

    def __init__(self, chat_id: str, hold: int | str | None) -> None:
        self.count = 0
        self._is_held = False
        self._chat_id = chat_id
        self._hold = hold

    async def at(self, name: str) -> None:
        """Pass a point, or hold at it."""
        self.count += 1
        if self._hold in (self.count, name):
            # Several calls may reach the same point.
            if not self._is_held:
                say("held", self._chat_id, name.replace(" ", "-"))
            self._is_held = True
            await asyncio.Event().wait()


class PausingStore(MessageStore):
    """A store with points before and after everything that a run writes."""

    runs: dict[str, Points]

    async def write(self, chat_id: str, **what: Any) -> Any:
        points = self.runs.get(what.get("run_id") or "")
        if points is None:
            return await super().write(chat_id, **what)
        is_result, is_message = bool(what.get("finished")), bool(what.get("messages"))
        await points.at("before a message" if is_message else "before a write")
        written = await super().write(chat_id, **what)
        await points.at("before a result is announced" if is_result else "after a write")
        return written

    async def finish_run(self, run_id: str, *given: Any, **what: Any) -> Any:
        points = self.runs.get(run_id)
        if points is None:
            return await super().finish_run(run_id, *given, **what)
        await points.at("before the end")
        written = await super().finish_run(run_id, *given, **what)
        await points.at("after the end")
        say("points", points.count)
        return written


class PausingJournal:
    """A journal with points around it."""

    def __init__(self, journal: Journal, points: Points) -> None:
        self._journal = journal
        self._points = points

    async def started(self, call: ToolCall) -> None:
        await self._points.at("before started")
        await self._journal.started(call)
        await self._points.at("after started")

    async def finished(self, call: ToolCall, result: ToolResult) -> None:
        await self._points.at("after the tool")
        await self._journal.finished(call, result)
        await self._points.at("after a result is announced")


def agent_of(turn: Turn, plan: Plan, points: Points, effects: int) -> Agent:
    """Return an agent that follows the script of its user."""
    begun = time.monotonic()

    async def note(label: str) -> str:
        """Record that it was called."""
        await points.at("in the tool")
        os.write(effects, f"{label}\n".encode())
        await points.at("in the tool, behind its effect")
        return f"{label} {time.time():.6f}"

    rounds = itertools.count()
    # Keep the chats out of step.
    paces = random.Random(turn.run_id)

    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:  # noqa: ARG001
        number = next(rounds)
        if number >= plan.rounds and time.monotonic() - begun >= plan.seconds:
            yield "Done."
            return
        for word in range(plan.words):
            yield f"{number}.{word} "
            await asyncio.sleep(plan.pause * 2 * paces.random())
        for call in range(plan.calls):
            yield '<note>{"label": "' + f"{turn.run_id}.{number}.{call}" + '"}</note>'

    return Agent(model, [note], max_iterations=MANY)


def responder_of(config: Config, store: PausingStore) -> Callable[[Turn], ResponderRun]:
    """Return the responder."""
    effects = os.open(config.effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def respond(turn: Turn) -> ResponderRun:
        texts = [m.text for m in (*turn.history, *turn.messages) if isinstance(m, TextMessage)]
        asked = [text for text in texts if text.startswith("{")]
        plan = Plan(**json.loads(asked[-1]))
        points = Points(turn.chat_id, plan.hold if config.holds else None)
        if config.holds:
            store.runs[turn.run_id] = points
            journal = PausingJournal(turn.journal, points)
            turn = dataclasses.replace(turn, journal=journal)
        return AgentResponder(agent_of(turn, plan, points, effects))(turn)

    return respond


def end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    logging.basicConfig(level=logging.ERROR)
    config = Config(**json.loads(sys.argv[1]))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    ahead = config.ahead
    store = PausingStore(config.url, clock=lambda: time.time() + ahead, **config.options)
    store.runs = {}
    app = chat_app(store, responder_of(config, store), limits=WebLimits(**config.limits))
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", 0))
    bound.listen(2048)
    threading.Thread(target=end_with_parent, daemon=True).start()
    say(bound.getsockname()[1])
    server = uvicorn.Server(uvicorn.Config(app, lifespan="on", log_config=None, backlog=2048))
    server.run(sockets=[bound])


if __name__ == "__main__":
    main()
