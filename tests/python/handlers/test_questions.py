"""Questions of handlers to the user: they are answered, or fail at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import virtual_time
from effort import effort
from handler_registries import DETAILS, Registry
from toolweave import ToolContext, tool
from toolweave.exceptions import ToolFailed, ValidationError
from toolweave.executor import ToolQuestion
from toolweave.handlers import run_handler
from toolweave.selection import Selection, SelectionPolicy

answers = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)


@tool("details")
async def asking(context: ToolContext, **_: Any) -> Any:
    return {"said": await context.ask("Which one?", {"not": {"const": "neither"}})}


SELECTED = Selection(
    query="soup",
    item_type="Recipe",
    site=None,
    tool=DETAILS,
    score=90.0,
    parameters={"item_name": "ramen"},
    ranking=(),
    decision="threshold",
    reason="",
    ties=(),
    strategy="each",
    calls=1,
    usage=None,
    duration=0.0,
    policy=SelectionPolicy(),
    registry=Registry({"details": asking}),
)


def run(**options: Any) -> Any:
    async def main() -> Any:
        return (await asyncio.wait_for(SELECTED.run(**options), 60)).value

    return virtual_time.run(main())


def test_a_question_without_on_question_fails_at_once() -> None:
    with pytest.raises(ToolFailed, match="'details' asks 'Which one\\?', but no on_question"):
        run()


@settings(deadline=None, max_examples=effort(20))
@given(answers, st.booleans())
def test_the_handler_gets_the_answer(answer: Any, is_async: bool) -> None:
    asked: list[ToolQuestion] = []

    async def soon(question: ToolQuestion) -> Any:
        await asyncio.sleep(1)
        asked.append(question)
        return answer

    def now(question: ToolQuestion) -> Any:
        asked.append(question)
        return answer

    async def main() -> Any:
        work = run_handler(
            Registry({"details": asking}),
            DETAILS,
            {"item_name": "ramen"},
            on_question=soon if is_async else now,
        )
        return (await work).value

    # A sync function runs in a thread, for which virtual time does not wait.
    assert (virtual_time.run if is_async else asyncio.run)(main()) == {"said": answer}
    assert [question.question for question in asked] == ["Which one?"]


def test_an_invalid_answer_is_raised() -> None:
    async def neither(_: ToolQuestion) -> str:
        return "neither"

    with pytest.raises(ValidationError):
        run(on_question=neither)


def test_an_exception_of_on_question_is_raised() -> None:
    async def gone(_: ToolQuestion) -> str:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        run(on_question=gone)
