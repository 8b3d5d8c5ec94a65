"""Tests of concurrency limits and timeouts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from handler_registries import Registry
from nlweb_site import SEARCH, Handler, tool
from toolweave.nlweb import make_selector
from toolweave.selection import CallLimiter
from virtual_time import now, run

TOOLS = (SEARCH, *(tool(f"t{number}", handler="a.B") for number in range(5)))


async def serve(queries: int, scorer: Any, **options: Any) -> tuple[float, list[Handler]]:
    """Route queries at once, and return the duration in seconds with the handlers."""
    selector = make_selector(Registry({}, TOOLS), scorer, **options)
    handlers = [Handler(f"query {number}") for number in range(queries)]
    began = now()
    await asyncio.gather(*(selector(handler).do() for handler in handlers))
    return now() - began, handlers


async def answers_in_a_second(prompt: str, schema: object) -> Any:  # noqa: ARG001
    await asyncio.sleep(1)
    return {"score": 80 if "tool=search" in prompt else 10}


async def hangs(prompt: str, schema: object) -> Any:  # noqa: ARG001
    await asyncio.Event().wait()


def test_many_concurrent_queries_take_as_long_as_one() -> None:
    took, handlers = run(serve(40, answers_in_a_second))
    assert took == pytest.approx(1)
    assert all(handler.tool_routing_results[0]["score"] == 80 for handler in handlers)


def test_a_model_without_a_reply_delays_no_query_beyond_the_timeout() -> None:
    took, handlers = run(serve(20, hangs))
    assert took == pytest.approx(8)
    assert all(handler.messages[0]["selected_tool"] == "search" for handler in handlers)


def test_the_wait_for_a_slot_counts_against_the_timeout() -> None:
    limiter = CallLimiter(4)
    took, handlers = run(serve(20, hangs, limiter=limiter))
    assert took == pytest.approx(8)
    reasons = {handler.tool_routing_results[0]["result"]["justification"] for handler in handlers}
    assert reasons == {
        "no reply within 8 s",
        "not asked within 8 s: all 4 slots were taken",
    }
    assert limiter.free == 4


def test_a_configured_limiter_limits_the_calls() -> None:
    most = inside = 0

    async def scorer(prompt: str, schema: object) -> Any:
        nonlocal most, inside
        inside += 1
        most = max(most, inside)
        reply = await answers_in_a_second(prompt, schema)
        inside -= 1
        return reply

    took, _ = run(serve(4, scorer, limiter=CallLimiter(6)))
    assert (most, took) == (6, pytest.approx(4))
