"""Two endpoints over HTTP, the first of which fails in many ways."""

from __future__ import annotations

import asyncio
import email.utils
import json
import re
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from servers.adapters import HTTP, KEY, QUIET, Reply
from servers.model_answers import Read, read
from servers.sse import Answer, Do, Served, serving
from toolweave import FinishUpdate, ModelError, RetryPolicy
from toolweave.models.fallback import FallbackModel

pytestmark = [pytest.mark.filterwarnings(line) for line in QUIET]

each_client = pytest.mark.parametrize("name", HTTP)


@dataclass
class Came:
    """Result of a request to both endpoints."""

    read: Read
    first: Served
    second: Served
    slept: list[float] = field(default_factory=list)


def sent(name: str, *pieces: str, end: str = "stop") -> list[Any]:
    return HTTP[name][1](Reply(pieces, end=end))


def ask(name: str, *answers: Answer, attempts: int = 2, gone: bool = False) -> Came:
    """Send a request to a chain of two endpoints; if `gone`, the first one is unreachable."""
    make, _ = HTTP[name]

    async def main() -> Came:
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        async with (
            serving(*answers or [Answer()]) as first,
            serving(Answer(sent(name, "Second."))) as second,
        ):
            url = first.url
            if gone:
                async with serving(Answer()) as closed:
                    url = closed.url
            async with FallbackModel(
                make(url),
                make(second.url),
                retry=RetryPolicy(attempts, initial=1.0, jitter=0),
                sleep=sleep,
            ) as model:
                return Came(await read(model), first, second, slept)

    return asyncio.run(asyncio.wait_for(main(), 20))


def refusal(status: int, *headers: str, code: str | None = None) -> Answer:
    body = {"type": "error", "error": {"message": "No.", "type": "x", "code": code}}
    return Answer([json.dumps(body).encode()], status, "application/json", headers=headers)


@each_client
@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_transient_failure_is_retried_before_the_next_model(name: str, status: int) -> None:
    came = ask(name, refusal(status))
    assert (came.read.text, came.read.error) == ("Second.", None)
    assert (len(came.first.requests), len(came.second.requests)) == (2, 1)
    assert came.slept == [1.0]


@each_client
def test_a_server_that_recovers_answers_itself(name: str) -> None:
    came = ask(name, refusal(500), Answer(sent(name, "First.")))
    assert (came.read.text, came.read.error, came.second.requests) == ("First.", None, [])


@each_client
@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_permanent_failure_is_not_retried(name: str, status: int) -> None:
    came = ask(name, refusal(status))
    assert came.read.text == "Second."
    assert (len(came.first.requests), came.slept) == (1, [])


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_the_delay_of_retry_after_is_observed(name: str) -> None:
    date = email.utils.formatdate(time.time() + 20, usegmt=True)
    for header, least, most in (
        ("Retry-After: 7", 7, 7),
        ("Retry-After-Ms: 2500", 2.5, 2.5),
        (f"Retry-After: {date}", 15, 20),
        ("Retry-After: soon", 1, 1),
        ("Retry-After: -5", 1, 1),
        ("Retry-After: nan", 1, 1),
        ("Retry-After: inf", 1, 1),
    ):
        came = ask(name, refusal(429, header), Answer(sent(name, "First.")))
        assert came.read.text == "First."
        assert least <= came.slept[0] <= most, header


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_long_retry_after_moves_on_to_the_next_model(name: str) -> None:
    came = ask(name, refusal(429, "Retry-After: 3600"))
    assert (came.read.text, came.slept, len(came.first.requests)) == ("Second.", [], 1)


def test_an_exhausted_quota_is_not_retried() -> None:
    came = ask("openai", refusal(429, code="insufficient_quota"))
    assert (came.read.text, came.slept, len(came.first.requests)) == ("Second.", [], 1)


@each_client
def test_an_unreachable_server_is_retried_before_the_next_model(name: str) -> None:
    came = ask(name, gone=True)
    assert (came.read.text, came.slept) == ("Second.", [1.0])


@each_client
@pytest.mark.parametrize("cut", [Do.CUT, Do.END])
def test_a_stream_that_breaks_before_its_first_piece_is_requested_again(name: str, cut: Do) -> None:
    nothing = sent(name, end="missing")  # what providers send before content
    came = ask(name, Answer([*nothing, cut]), Answer(sent(name, "First.")))
    assert (came.read.text, came.read.error, came.slept) == ("First.", None, [1.0])


@each_client
def test_a_stream_that_breaks_after_its_first_piece_is_never_restarted(name: str) -> None:
    came = ask(name, Answer([*sent(name, "One ", end="missing"), Do.CUT]))
    assert came.read.text == "One "
    assert came.read.error is not None
    assert came.read.error.transient
    assert not any(isinstance(update, FinishUpdate) for update in came.read.updates)
    assert (len(came.first.requests), came.second.requests, came.slept) == (1, [], [])


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_wrong_endpoint_is_not_retried(name: str) -> None:
    came = ask(name, Answer([b"<html>"], kind="text/html"))
    assert (came.read.text, came.slept, len(came.first.requests)) == ("Second.", [], 1)


def test_when_both_fail_the_error_names_both_and_no_key() -> None:
    make, _ = HTTP["openai"]

    async def main() -> ModelError | None:
        async with (
            serving(refusal(503)) as first,
            serving(refusal(401)) as second,
            FallbackModel(make(first.url), make(second.url), retry=None) as model,
        ):
            hosts.extend(each.url.removeprefix("http://") for each in (first, second))
            return (await read(model)).error

    hosts: list[str] = []
    error = asyncio.run(main())
    assert error is not None
    first, second = (re.escape(host.split("/")[0]) for host in hosts)
    assert re.fullmatch(
        rf"no model could answer: m: {first}/\S+ answered with status 503: No\.; "
        rf"m: {second}/\S+ answered with status 401: No\.",
        str(error),
    )
    assert KEY not in str(error)
    assert (error.provider, error.status) == (hosts[1].split("/")[0], 401)
