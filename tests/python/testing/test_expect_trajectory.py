"""`expect_trajectory`: each condition, holding and not, and the failure message."""

from __future__ import annotations

import re
from typing import Any

import pytest

from toolweave import Agent, ToolCall
from toolweave.agent import AgentResult
from toolweave.testing import RecordingObserver, ScriptedModel, expect_trajectory


def search(q: str) -> list[str]:
    return [q]


def book(city: str, nights: int) -> str:
    if nights > 9:
        raise ValueError("too long")
    return f"booked in {city}"


def run(*replies: Any) -> AgentResult:
    return Agent(ScriptedModel(*replies), [search, book]).run_sync("A trip to Oslo, please.")


SEARCH = ToolCall("s", "search", {"q": "Oslo"})
BOOK = ToolCall("b", "book", {"city": "Oslo", "nights": 2})
LONG = ToolCall("l", "book", {"city": "Oslo", "nights": 30})
INVALID = ToolCall("i", "book", {"city": "Oslo", "nights": "two"})
DONE = "  All booked. "


def failure(source: Any, **conditions: Any) -> str:
    with pytest.raises(AssertionError) as raised:
        expect_trajectory(source, **conditions)
    return str(raised.value)


def test_all_conditions_hold() -> None:
    result = run([SEARCH], [INVALID], [BOOK], DONE)
    expect_trajectory(
        result,
        requests=4,
        max_requests=4,
        order=["search", "book"],
        corrected="book",
        errors=1,
        text="All booked.",
        stop_reason="completed",
    )
    expect_trajectory(result, text=re.compile("booked"), corrected=["book"])
    expect_trajectory(result, text=lambda text: text.endswith("."))
    expect_trajectory(result.messages, requests=4, text="All booked.", order=["search", "book"])
    expect_trajectory(result)


def test_a_failure_shows_all_conditions_that_do_not_hold_and_the_trajectory() -> None:
    result = run(["Let me see. ", BOOK], [SEARCH], "Done.")
    assert failure(
        result,
        requests=2,
        max_requests=2,
        order=["search", "book"],
        corrected="book",
        errors=1,
        text="All booked.",
        stop_reason="max_iterations",
    ) == (
        "the trajectory is not as expected:\n"
        "- requests: expected 2, got 3\n"
        "- requests: expected at most 2, got 3\n"
        "- order: 'search' must be called before 'book', which was called in request 1; it was "
        "first called in request 2\n"
        "- corrected: no call of 'book' failed\n"
        "- errors: expected 1, got 0\n"
        "- text: expected 'All booked.', got 'Done.'\n"
        "- stop_reason: expected 'max_iterations', got 'completed'\n"
        "the trajectory:\n"
        "  user: 'A trip to Oslo, please.'\n"
        "  1. assistant: 'Let me see. '\n"
        "  1. book(city='Oslo', nights=2) -> 'booked in Oslo'\n"
        "  2. search(q='Oslo') -> '[\"Oslo\"]'\n"
        "  3. assistant: 'Done.'"
    )


def test_calls_of_one_reply_are_in_no_order() -> None:
    assert "first called in request 1" in failure(
        run([SEARCH, BOOK], DONE), order=["search", "book"]
    )


def test_a_tool_before_another_must_have_succeeded() -> None:
    result = run([LONG], [SEARCH], DONE)
    assert "it was never called with success" in failure(result, order=["book", "search"])
    assert "it was never called\n" in failure(run([BOOK], DONE), order=["search", "book"])
    expect_trajectory(run([SEARCH], DONE), order=["search", "book"])
    expect_trajectory(run(DONE), order=["search", "book"])


def test_a_call_is_corrected_in_the_next_requests_only() -> None:
    expect_trajectory(run([LONG], [BOOK], DONE), corrected="book")
    assert "none succeeded in a later one" in failure(run([LONG, BOOK], DONE), corrected="book")
    assert "none succeeded" in failure(run([BOOK], [LONG], DONE), corrected="book")


def test_a_long_trajectory_is_cut() -> None:
    text = failure(run(*[[SEARCH]] * 3, ["x" * 5000]).messages * 50, requests=0)
    assert len(text) < 10_000
    assert "... and " in text


def test_conditions_that_cannot_be_checked_are_refused() -> None:
    result = run(DONE)
    with pytest.raises(TypeError, match="got a RecordingObserver, which observes neither"):
        expect_trajectory(RecordingObserver(), requests=1)
    with pytest.raises(TypeError, match="a tuple has no stop reason; pass the result of the run"):
        expect_trajectory(result.messages, stop_reason="completed")
    with pytest.raises(TypeError, match="order must be a sequence of names of tools, got 'ab'"):
        expect_trajectory(result, order="ab")
    with pytest.raises(ValueError, match="requests must be an integer of at least 0"):
        expect_trajectory(result, requests=-1)
