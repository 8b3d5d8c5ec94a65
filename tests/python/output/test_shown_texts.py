"""Texts of runs with checked outputs: users see those of the output, and those around calls."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coroutine_tests import collect, on_a_loop
from toolweave import Agent, ModelRetry, TextDelta, TextMessage, ToolCall
from toolweave.exceptions import OutputError
from toolweave.kinds import Role
from toolweave.natural._output import is_hidden
from toolweave.testing import ScriptedModel

REPLIES = st.sampled_from(
    ["7", "no", "seven?", 'So: <add>{"a": 2}</add>', '<add>{"a": 2}</add> Done.', ""]
)


def add(a: int) -> int:
    return a + 1


def checked(kind: str, model: ScriptedModel) -> Agent[None, Any]:
    if kind == "type":
        return Agent(model, [add], output_type=int, output_retries=2)
    agent = Agent(model, [add], output_retries=2)

    @agent.output_validator
    def check(text: str) -> str:
        if text != "7":
            raise ModelRetry("Only 7.")
        return text

    return agent


@given(
    replies=st.lists(REPLIES, min_size=1, max_size=5), kind=st.sampled_from(["type", "validator"])
)
def test_the_stream_and_the_history_show_the_same_texts(replies: list[str], kind: str) -> None:
    async def run() -> tuple[list[str], list[str], list[str]]:
        shown: list[str] = []
        async with checked(kind, ScriptedModel(*replies, *["7"] * 9)).open("Which?") as run:
            try:
                async for event in run:
                    if isinstance(event, TextDelta):
                        shown.append(event.text)  # noqa: PERF401 - kept if the run fails
            except OutputError:
                pass
        texts = [m for m in run.messages if isinstance(m, TextMessage) and m.role is Role.ASSISTANT]
        kept = [m.text for m in texts if not is_hidden(m)]
        return shown, kept, [m.text for m in texts if is_hidden(m)]

    shown, kept, hidden = asyncio.run(run())
    assert "".join("".join(shown).split()) == "".join("".join(kept).split())
    assert all(text.strip() in {"no", "seven?"} for text in hidden)
    assert not {"no", "seven?"} & {text.strip() for text in kept}


@on_a_loop
async def test_text_before_a_call_is_shown_before_the_call() -> None:
    model = ScriptedModel('So: <add>{"a": 2}</add>', "3")
    events = await collect(Agent(model, [add], output_type=int).stream("Which?"))
    kinds = [type(each) for each in events if isinstance(each, (TextDelta, ToolCall))]
    assert kinds.index(TextDelta) < kinds.index(ToolCall)


@pytest.mark.parametrize("kind", ["type", "validator"])
@on_a_loop
async def test_the_next_request_has_what_users_do_not_see(kind: str) -> None:
    model = ScriptedModel("no", "7")
    result = await checked(kind, model).run("Which?")
    assert [m.text for m in model.requests[1].messages if isinstance(m, TextMessage)][-2] == "no"
    assert [is_hidden(message) for message in result.messages] == [False, True, True, False]


@on_a_loop
async def test_a_text_that_nothing_checks_streams_as_it_is_written() -> None:
    async with Agent(ScriptedModel("One two three")).open("Count!") as run:
        first = await anext(run)
        assert isinstance(first, TextDelta)
        assert run.result is None
