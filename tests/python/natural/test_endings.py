"""All ways in which replies end: every call has a result, and nothing is left running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

import toolweave as tw
from coroutine_tests import collect, of_kind, on_a_loop
from sample_natural_tools import ADD, add, call, natural_use
from toolweave.exceptions import MessageError, ModelError, ToolUseParsingError
from toolweave.executor import ToolStarted
from toolweave.natural import NaturalToolUse
from toolweave.testing import ScriptedModel


@on_a_loop
async def test_an_error_of_the_model_is_raised_after_its_tools_have_ended() -> None:
    failed = asyncio.Event()
    failure = ModelError("the connection was lost")

    async def slow() -> str:
        await failed.wait()
        return "all the same"

    async def model(_: Any) -> AsyncIterator[str]:
        yield f"Well. {call('slow')} <slow>"
        failed.set()
        raise failure

    natural = NaturalToolUse(model, [slow])
    run = natural.open("Hi!")
    seen: list[Any] = []
    with pytest.raises(ModelError) as caught:
        await collect(run, seen)
    assert caught.value is failure
    assert isinstance(seen[-1], tw.ToolAggregateMessage)
    assert not of_kind(tw.FinishUpdate, seen)
    text, calls, rest = run.messages
    assert (text.text, rest.text) == ("Well. ", " <slow>")
    assert calls.tool_results[0].result == "all the same"


@on_a_loop
async def test_strict_mode_raises_after_the_calls_before_have_answered() -> None:
    natural = natural_use([ADD, call("add", '{"a": 1}'), call("ping")], strict=True)
    run = natural.open("Hi!")
    with pytest.raises(ToolUseParsingError, match="schema_violation"):
        await collect(run)
    (message,) = run.messages
    assert [r.result for r in message.tool_results] == ["5"]


@on_a_loop
async def test_cancelling_the_reader_stops_the_model_and_the_tools_and_waits_for_them() -> None:
    stopped: list[str] = []
    started = asyncio.Event()

    async def slow() -> str:
        started.set()
        try:
            return await asyncio.sleep(60, "never")
        finally:
            await asyncio.sleep(0)
            stopped.append("tool")

    async def model(_: Any) -> AsyncIterator[str]:
        yield f"Well. {ADD}{call('slow')}"
        try:
            await asyncio.sleep(60)
        finally:
            stopped.append("model")

    run = NaturalToolUse(model, [slow, add]).open("Hi!")
    task = asyncio.create_task(run.wait())
    await started.wait()
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(stopped) == ["model", "tool"]
    text, calls = run.messages
    assert text.text == "Well. "
    assert [result.error_code for result in calls.tool_results] == [
        None,
        "interrupted",
    ]


@on_a_loop
async def test_a_cancelled_run_emits_the_results_of_its_calls() -> None:
    started = asyncio.Event()

    async def slow() -> str:
        started.set()
        return await asyncio.sleep(60, "never")

    run = natural_use(call("slow"), tools=[slow]).open("Hi!")
    reader = asyncio.create_task(collect(run))
    await started.wait()
    await run.cancel()
    events = await reader
    assert of_kind(tw.ToolResult, events)[0].error_code == "interrupted"
    assert isinstance(events[-1], tw.ToolAggregateMessage)
    assert events[-1] == run.messages[-1]


@on_a_loop
async def test_updates_of_a_model_that_ignores_its_cancellation_are_dropped() -> None:
    ran: list[int] = []
    begun = asyncio.Event()

    async def model(_: Any) -> AsyncIterator[str]:
        yield "Well."
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            yield f"No! {call('note')}"

    def note() -> None:
        ran.append(1)

    run = NaturalToolUse(model, [note]).open("Hi!")
    reader = asyncio.create_task(collect(run))
    await begun.wait()
    await run.cancel()
    assert await reader == [tw.TextDelta("Well.")]
    assert ran == []
    assert [m.text for m in run.messages] == ["Well."]


@on_a_loop
async def test_leaving_a_stream_early_leaves_nothing_running() -> None:
    async def slow() -> str:
        return await asyncio.sleep(60, "never")

    stream = natural_use([call("slow"), "More."], tools=[slow]).stream("Hi!")
    async for event in stream:
        if isinstance(event, ToolStarted):
            break
    await stream.aclose()


@on_a_loop
async def test_a_run_that_is_not_read_does_nothing() -> None:
    model = ScriptedModel()
    async with NaturalToolUse(model, [add]).open("Hi!") as run:
        pass
    assert (run.messages, model.requests) == ((), [])
    assert await collect(run) == []


@on_a_loop
async def test_a_conversation_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(MessageError):
        await natural_use("Hi.").complete([{"role": "nobody"}])


@on_a_loop
async def test_exceptions_of_a_model_are_raised_unchanged() -> None:
    class Model:
        async def stream(self, *_: Any, **__: Any) -> AsyncIterator[tw.Update]:
            yield tw.TextDelta("Well.")
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await NaturalToolUse(Model(), [add]).complete("Hi!")


def test_an_exit_of_the_program_is_raised_and_every_call_has_its_result() -> None:
    def leave() -> None:
        raise SystemExit(7)

    async def slow() -> str:
        return await asyncio.sleep(60, "never")

    runs: list[Any] = []

    async def main() -> None:
        runs.append(natural_use([call("slow"), call("leave")], tools=[leave, slow]).open("Hi!"))
        try:
            await runs[0].wait()
        except SystemExit:
            # It reaches the reader, and the loop continues until the reader has handled it.
            await asyncio.sleep(0)
            runs.append("over")
            raise

    with pytest.raises(SystemExit) as caught:
        asyncio.run(main())
    assert caught.value.code == 7
    assert runs[1:] == ["over"]
    (message,) = runs[0].messages
    assert len(message.tool_results) == 2
