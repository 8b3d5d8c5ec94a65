"""Request bodies: values are counted while they arrive, and long bodies count as more requests."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.types import Message as AsgiMessage

from chat_servers import new_chat, on_a_server, serve_agent
from effort import effort
from toolweave import Agent, Message
from toolweave.limits import RateLimitedError, RateLimiter
from toolweave.tools import RateLimit
from toolweave.web import HttpError, WebLimits
from toolweave.web import _bodies as bodies
from toolweave.web._bodies import BodyReader
from toolweave.web._security import AccessControl, Client

JSON = {"content-type": "application/json"}
MAX_VALUES = 50
CLIENT = Client(None, "")


async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
    return "Yes."


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def values(value: object) -> int:
    """Return the number of values in a value, including member names."""
    if isinstance(value, dict):
        return 1 + sum(1 + values(each) for each in value.values())
    return 1 + (sum(map(values, value)) if isinstance(value, list) else 0)


def arriving(body: bytes, sizes: Sequence[int]) -> Request:
    """Return a request whose body arrives in chunks."""
    pieces: list[AsgiMessage] = []
    for size in sizes:
        pieces.append({"type": "http.request", "body": body[:size], "more_body": True})
        body = body[size:]
    pieces.append({"type": "http.request", "body": body, "more_body": False})

    async def receive() -> AsgiMessage:
        return pieces.pop(0)

    headers = [(b"content-type", b"application/json")]
    return Request({"type": "http", "method": "POST", "headers": headers}, receive)


def reader(limits: WebLimits) -> BodyReader:
    return BodyReader(AccessControl(None, None, limits), limits)


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('[]{},:"\\ x'),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text("ab,"), inner),
    max_leaves=60,
)


@settings(max_examples=effort(30))
@given(st.dictionaries(st.text("ab"), trees), st.lists(st.integers(1, 40), max_size=8))
def test_a_body_is_accepted_exactly_if_it_has_at_most_the_allowed_values(
    body: dict[str, Any], sizes: list[int]
) -> None:
    request = arriving(json.dumps(body).encode(), sizes)
    reading = reader(WebLimits(max_body_values=MAX_VALUES)).json(request, CLIENT)
    if values(body) <= MAX_VALUES:
        assert asyncio.run(reading) == body
        return
    with pytest.raises(HttpError) as raised:
        asyncio.run(reading)
    assert (raised.value.status, raised.value.code) == (413, "too_many_values")


@given(st.sampled_from([b'{"n": ' + b"9" * 5000 + b"}", b"9" * 900_000, b"[" * 900_000]))
@settings(max_examples=effort(3))
def test_bodies_that_are_expensive_to_parse_are_not_parsed(body: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "parse_object", None)
        with pytest.raises(HttpError) as raised:
            asyncio.run(reader(WebLimits()).json(arriving(body, []), CLIENT))
    assert raised.value.status == 400


def test_long_bodies_are_parsed_in_a_thread() -> None:
    threads: list[int] = []

    def read(body: dict[str, Any]) -> int:
        threads.append(threading.get_ident())
        return len(body)

    async def main() -> None:
        for length in (10, 100_000):
            request = arriving(json.dumps({"text": "x" * length}).encode(), [])
            assert await reader(WebLimits()).transcript(request, CLIENT, read) == 1

    asyncio.run(main())
    assert threads[0] == threading.get_ident() != threads[1]


async def in_pieces(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 60_000):
        yield body[start : start + 60_000]


@on_a_server
async def test_half_a_million_values_do_not_block_the_event_loop(tmp_path: Path) -> None:
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.001)
            longest = max(longest, time.monotonic() - before)

    lists = b'{"messages": [' + b"[]," * 600_000 + b"[]]}"
    async with serve_agent(tmp_path, Agent(model)) as client:
        chat = await new_chat(client)
        watching = asyncio.create_task(watch())
        for path in ("/ai-sdk/chat", "/ag-ui", "/chats", f"{chat}/messages", f"{chat}/answers/k"):
            for content in (lists[:1_900_000], in_pieces(lists[:1_900_000])):
                answer = await client.post(path, content=content, headers=JSON)
                assert code(answer)[0] == 413, path
        watching.cancel()
        assert longest < 0.25


def history(length: int) -> dict[str, Any]:
    """Return a long conversation, as `useChat` sends it."""
    part = {"type": "text", "text": "A sentence of the usual length, and another. " * 8}
    turns = [
        {
            "id": f"m{number}",
            "role": ("user", "assistant")[number % 2],
            "parts": [part],
        }
        for number in range(length)
    ]
    return {"id": "c", "messages": [*turns, {**turns[0], "id": "new"}]}


@on_a_server
async def test_a_long_history_fits(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(model), limits=WebLimits(shutdown_grace=0.0)) as client:
        body = json.dumps(history(4000)).encode()
        assert 1_700_000 < len(body) < 2_000_000
        answer = await client.post("/ai-sdk/chat", content=body, headers=JSON)
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("is_streamed", [False, True])
@on_a_server
async def test_a_long_body_counts_as_many_requests(tmp_path: Path, is_streamed: bool) -> None:
    limits = WebLimits(
        requests=RateLimit(10, 3600.0, on_limit="refuse"),
        bytes_per_request=1000,
        shutdown_grace=0.0,
    )
    body = json.dumps({"metadata": {"note": "x" * 3500}}).encode()

    def content() -> Any:
        return in_pieces(body) if is_streamed else body

    async with serve_agent(tmp_path, Agent(model), limits=limits) as client:
        responses = [await client.post("/chats", content=content(), headers=JSON) for _ in range(3)]
        assert [each.status_code for each in responses] == [201, 201, 429]
        assert 300 < int(responses[2].headers["retry-after"]) < 1500
        # A short request is accepted, since the quota is not used up.
        assert (await client.get("/chats")).status_code == 200


@on_a_server
async def test_a_body_that_costs_more_than_the_limit_is_accepted_alone(tmp_path: Path) -> None:
    limits = WebLimits(
        requests=RateLimit(3, 3600.0, on_limit="refuse"), bytes_per_request=10, shutdown_grace=0.0
    )
    async with serve_agent(tmp_path, Agent(model), limits=limits) as client:
        answer = await client.post("/chats", json={"metadata": {"note": "x" * 500}})
        assert answer.status_code == 201
        assert (await client.get("/chats")).status_code == 429


def admissions(
    limit: RateLimit, requests: Sequence[tuple[float, int]]
) -> Iterator[tuple[float, Mapping[str, Any]]]:
    """Yield the time of each request with its cost, or with the delay after a rejection."""
    now = 0.0
    limiter = RateLimiter(limit, max_wait=0.0, clock=lambda: now)
    for pause, cost in requests:
        now += pause
        try:
            asyncio.run(limiter.acquire("ann", cost))
        except RateLimitedError as error:
            before, now = now, now + error.retry_after
            asyncio.run(limiter.acquire("ann", cost))
            yield before, {"refused": error.retry_after}
        yield now, {"cost": min(cost, limit.calls)}


@settings(max_examples=effort(40))
@given(
    st.integers(1, 8),
    st.lists(st.tuples(st.integers(0, 64).map(lambda n: n / 8), st.integers(1, 12)), max_size=12),
)
def test_costs_keep_to_the_rate_and_pass_after_the_retry_delay(
    calls: int, requests: list[tuple[float, int]]
) -> None:
    limit = RateLimit(calls, 8.0, on_limit="refuse")
    outcomes = admissions(limit, requests)
    admitted = [(at, outcome["cost"]) for at, outcome in outcomes if "cost" in outcome]
    assert len(admitted) == len(requests)
    for first in range(len(admitted)):
        for last in range(first, len(admitted)):
            span = admitted[last][0] - admitted[first][0]
            total = sum(cost for _, cost in admitted[first : last + 1])
            assert total <= calls * (1 + span / 8.0) + 1e-6
