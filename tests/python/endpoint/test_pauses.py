"""Readers that pause: their replies end, and are complete."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from request_lifetimes import HELLO, every_loop, model_at, run, warm
from servers.dialects import DONE, call, delta, openai_chunk
from servers.raw import Connection, RawServer, Request, raw_server
from servers.scripts import events
from toolweave import (
    FinishUpdate,
    ReasoningDelta,
    TextDelta,
    ToolCallStart,
    ToolCallUpdate,
    Update,
    UsageUpdate,
)
from toolweave.agent import Agent
from toolweave.exceptions import ModelError
from toolweave.models.http import HttpLimits, HttpModel
from toolweave.natural import NaturalToolUseParser

__all__ = ["warm"]
pytestmark = pytest.mark.usefixtures("warm")

LONGEST = 20
"""Seconds after which a reply is considered to hang."""

BY_COUNT = HttpLimits(max_queued_bytes=64 << 20)
"""Limits in bytes that are high enough for the queue to reach its limit of events first."""

MANY = 1500
"""Number of events that exceeds the limit of the queue."""


def usage(count: int) -> dict[str, int]:
    return {"prompt_tokens": 1, "completion_tokens": count, "total_tokens": 0}


def text_with_usage(count: int) -> bytes:
    choice = {"index": 0, "delta": {"content": f"{count} "}, "finish_reason": None}
    return openai_chunk(choice, usage=usage(count))


def native(index: int) -> bytes:
    return delta(tool_calls=[call(index, id=f"c{index}", name="F", arguments="{}")])


def alternating(count: int) -> bytes:
    return delta(content="t") if count % 2 else delta(reasoning="r")


def together(chunks: Iterable[bytes], size: int = 64) -> Iterator[bytes]:
    """Yield the chunks of a reply, with many in each piece of the body."""
    whole = [*chunks]
    for at in range(0, len(whole), size):
        yield b"".join(whole[at : at + size])


def reply(chunks: Iterable[bytes], finish: str = "stop") -> Any:
    """Return a server's script of a complete reply."""
    return events(*together(chunks), delta(finish), DONE)


def pause(seconds: float = 0.01) -> None:
    """Block the loop, while the request continues to read."""
    time.sleep(seconds)


def parts(update: Update) -> tuple[str, Any]:
    match update:
        case TextDelta(text):
            return "text", text
        case ReasoningDelta(text):
            return "reasoning", text
        case UsageUpdate(output_tokens=tokens):
            return "usage", tokens
        case ToolCallUpdate():
            return "call", update.tool_call_id
        case FinishUpdate(reason):
            return "finish", reason.value
    raise AssertionError(update)


def joined(updates_seen: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Join consecutive texts of the same kind."""
    whole: list[tuple[str, Any]] = []
    for kind, what in updates_seen:
        if whole and whole[-1][0] == kind and kind in ("text", "reasoning"):
            whole[-1] = kind, whole[-1][1] + what
        else:
            whole.append((kind, what))
    return whole


async def read(updates: AsyncIterator[Update], pauses: Iterable[int] = (0,)) -> list[Any]:
    """Read a complete reply, with pauses after the updates with these numbers."""
    at = frozenset(pauses)
    updates_seen: list[tuple[str, Any]] = []
    number = 0
    async for update in updates:
        updates_seen.append(parts(update))
        if number in at:
            pause()
        number += 1
    return joined(updates_seen)


FLOODS: dict[str, tuple[list[bytes], list[tuple[str, Any]]]] = {
    "usage in every chunk": (
        [text_with_usage(n) for n in range(MANY)],
        [part for n in range(MANY) for part in (("text", f"{n} "), ("usage", n))],
    ),
    "text and reasoning in turn": (
        [alternating(n) for n in range(MANY)],
        [("text", "t") if n % 2 else ("reasoning", "r") for n in range(MANY)],
    ),
    "native calls": (
        [native(n) for n in range(MANY)],
        [("call", f"c{n}") for n in range(MANY)],
    ),
}


@every_loop
@pytest.mark.parametrize("flood", FLOODS)
def test_events_beyond_the_queue_limit_are_all_read_after_a_pause(loop: str, flood: str) -> None:
    chunks, wanted = FLOODS[flood]

    sent = threading.Event()

    async def main() -> list[Any]:
        updates_seen: list[tuple[str, Any]] = []
        async for update in model_at(server, limits=BY_COUNT).stream(HELLO):
            if not updates_seen:
                # The loop is blocked until the server has sent everything.
                assert sent.wait(LONGEST)
                pause(0.05)
            updates_seen.append(parts(update))
        return updates_seen

    script = events(*together(chunks), delta("length"), DONE, lambda _: sent.set())
    with raw_server(script) as server:
        updates_seen = run(loop, asyncio.wait_for(main(), LONGEST))
    assert joined(updates_seen) == joined([*wanted, ("finish", "length")])


@pytest.mark.parametrize("seconds", [0, 0.1])
@pytest.mark.parametrize("native", [True, False], ids=["fragments", "calls"])
def test_native_calls_beyond_the_queue_limit_in_one_chunk_are_all_read(
    native: bool, seconds: float
) -> None:
    calls = [call(n, id=f"c{n}", name="F", arguments="{}") for n in range(MANY)]

    async def main() -> list[str | None]:
        model = model_at(server, limits=BY_COUNT)
        parser = NaturalToolUseParser(model, ["F"], tool_mode="native")
        ids: list[str | None] = []
        async for event in model.stream(HELLO) if native else parser.stream("Hi!"):
            if not ids:
                pause(seconds)
            if isinstance(event, ToolCallUpdate):
                ids.append(event.tool_call_id)
            elif isinstance(event, ToolCallStart):
                ids.append(event.id)
        return ids

    script = events(delta(tool_calls=calls), delta("tool_calls"), DONE)
    with raw_server(script) as server:
        ids = asyncio.run(asyncio.wait_for(main(), LONGEST))
    assert ids == [f"c{n}" for n in range(MANY)]


def F() -> str:  # noqa: N802 - what the model calls
    return "done"


def test_calls_in_text_beyond_the_queue_limit_are_all_found() -> None:
    async def main() -> int:
        found = 0
        async for _ in NaturalToolUseParser(model_at(server), ["F"]).stream("Hi!"):
            if not found:
                pause(0.05)
            found += 1
        return found

    with raw_server(reply([delta(content="<F/>" * 10) for _ in range(MANY // 10)])) as server:
        found = asyncio.run(asyncio.wait_for(main(), LONGEST))
    # A start and an end of each, and the end of the reply.
    assert found >= 2 * MANY


@pytest.mark.parametrize("flood", ["usage in every chunk", "text and reasoning in turn", "calls"])
def test_an_agent_reads_all_events_beyond_the_queue_limit(flood: str) -> None:
    chunks = FLOODS[flood][0] if flood in FLOODS else [delta(content="<F/>")] * MANY
    mode: Literal["native", "natural"] = "native" if flood in FLOODS else "natural"
    replies = iter([reply(chunks), reply([delta(content="Done.")])])
    last = reply([delta(content="Done.")])

    def script(connection: Connection, request: Request) -> None:
        next(replies, last)(connection, request)

    async def main() -> str:
        agent = Agent(
            HttpModel(server.url, "m", proxy=None, max_retries=0), tools=[F], tool_mode=mode
        )
        pausing = asyncio.create_task(busy())
        try:
            return (await asyncio.wait_for(agent.run("Hi!"), LONGEST)).text
        finally:
            pausing.cancel()

    async def busy() -> None:
        while True:
            pause(0.002)
            await asyncio.sleep(0)

    with raw_server(script) as server:
        updates_seen = asyncio.run(main())
    assert updates_seen.endswith(("Done.", f"{MANY - 1}", "t"))


class Server:
    """One server for all examples."""

    def __init__(self) -> None:
        self.script: Any = None
        self.inner: RawServer | None = None

    def __call__(self, connection: Connection, request: Request) -> None:
        self.script(connection, request)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server()
    with raw_server(one) as one.inner:
        yield one


SEGMENTS = st.lists(
    st.tuples(st.sampled_from(["text", "reasoning", "usage", "call"]), st.integers(1, 900)),
    min_size=1,
    max_size=8,
)


@settings(max_examples=effort(40), deadline=None)
@given(
    segments=SEGMENTS,
    in_turn=st.booleans(),
    pauses=st.lists(st.integers(0, 3000), max_size=3),
    size=st.sampled_from([1, 64, 2000]),
    queued=st.sampled_from([1, 5000, 256 << 10]),
)
def test_any_mix_of_events_under_any_pauses_ends_and_nothing_is_missing(
    server: Server,
    segments: list[tuple[str, int]],
    in_turn: bool,
    pauses: list[int],
    size: int,
    queued: int,
) -> None:
    kinds = [kind for kind, count in segments for _ in range(count)]
    if in_turn:
        kinds = kinds[::2] + kinds[1::2][::-1]
    # Where each piece is a chunk of the body, the server takes its time.
    kinds = kinds[: 300 if size == 1 else 3000]
    chunks: list[bytes] = []
    wanted: list[tuple[str, Any]] = []
    for number, kind in enumerate(kinds):
        match kind:
            case "text":
                chunks.append(delta(content="t"))
                wanted.append((kind, "t"))
            case "reasoning":
                chunks.append(delta(reasoning="r"))
                wanted.append((kind, "r"))
            case "usage":
                chunks.append(openai_chunk(usage=usage(number)))
                wanted.append((kind, number))
            case _:
                chunks.append(native(number))
                wanted.append((kind, f"c{number}"))
    server.script = events(*together(chunks, size), delta("length"), DONE)

    async def main() -> list[Any]:
        assert server.inner is not None
        model = model_at(server.inner, max_retries=1, limits=HttpLimits(max_queued_bytes=queued))
        return await asyncio.wait_for(read(model.stream(HELLO), pauses), LONGEST)

    assert asyncio.run(main()) == [*joined(wanted), ("finish", "length")]


def test_the_total_timeout_includes_pauses_of_the_reader() -> None:
    async def main() -> list[Update]:
        model = model_at(server, timeout=0.15, limits=HttpLimits(max_queued_bytes=1))
        seen: list[Update] = []
        stream = model.stream(HELLO)
        try:
            async for update in stream:
                seen.append(update)
                pause(0.3 if len(seen) == 1 else 0)
        except ModelError as error:
            assert "took longer than 0.15 s" in str(error)
            return seen
        raise AssertionError("the reply came to its end")

    chunks = [alternating(n) for n in range(20_000)]
    with raw_server(reply(chunks)) as server:
        seen = asyncio.run(asyncio.wait_for(main(), LONGEST))
    # Data that was read before is still yielded.
    assert len(seen) > 1


def test_pauses_of_the_reader_do_not_count_toward_the_idle_timeout() -> None:
    async def main() -> list[Any]:
        model = model_at(server, idle_timeout=0.05, limits=HttpLimits(max_queued_bytes=1))
        updates_seen: list[tuple[str, Any]] = []
        async for update in model.stream(HELLO):
            if not updates_seen:
                pause(0.2)
            updates_seen.append(parts(update))
        return updates_seen

    with raw_server(reply([alternating(n) for n in range(MANY)])) as server:
        updates_seen = asyncio.run(asyncio.wait_for(main(), LONGEST))
    assert len(joined(updates_seen)) == MANY + 1
