"""Chains of models: retried, skipped, and never mixed in one reply."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from coroutine_tests import on_a_loop
from servers.model_answers import HI, read
from toolweave import (
    Agent,
    FinishUpdate,
    FunctionContract,
    ModelError,
    RetryPolicy,
    TextDelta,
    ToolCall,
    UsageUpdate,
)
from toolweave.models import complete
from toolweave.models.fallback import FallbackModel, capture_model
from toolweave.natural import NaturalToolUse
from toolweave.testing import ScriptedModel

ADD = FunctionContract("add", "Adds.", {"type": "object"})
FULL = ModelError("too many requests", "acme", 429)
LOST = ModelError("acme: the connection was lost", "acme", transient=True)
WRONG = ModelError("no such key", "acme", 401)


class RecordedSleep(list[float]):
    """A sleep that returns at once, and records its durations."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)
        await asyncio.sleep(0)


def chain(
    *models: Any, attempts: int = 3, maximum: float = 30.0, sleep: Any = None
) -> FallbackModel:
    retry = RetryPolicy(attempts, initial=1.0, maximum=maximum, jitter=0.5)
    sleep = RecordedSleep() if sleep is None else sleep
    return FallbackModel(*models, retry=retry, random=lambda: 0.5, sleep=sleep)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def scripted(*replies: Any, name: str = "one", **options: Any) -> ScriptedModel:
    return ScriptedModel(*replies, name=name, **options)


@on_a_loop
async def test_transient_failures_are_retried_with_growing_delays() -> None:
    slept, one, two = RecordedSleep(), scripted(FULL, LOST, "Hi!"), scripted(name="two")
    came = await read(chain(one, two, sleep=slept))
    assert (came.text, came.error) == ("Hi!", None)
    assert (slept, len(one.requests), two.requests) == ([1.0, 2.0], 3, [])


@on_a_loop
async def test_permanent_failures_move_on_to_the_next_model_at_once() -> None:
    slept, one, two = RecordedSleep(), scripted(WRONG), scripted("Hello.", name="two")
    came = await read(chain(one, two, sleep=slept))
    assert (came.text, came.error) == ("Hello.", None)
    assert (slept, len(one.requests), two.requests[0].messages) == ([], 1, tuple(HI))


@on_a_loop
async def test_the_next_model_is_used_after_the_last_attempt() -> None:
    slept, one, two = RecordedSleep(), scripted(*[FULL] * 3), scripted(LOST, "Hello.", name="two")
    assert (await read(chain(one, two, sleep=slept))).text == "Hello."
    assert (slept, len(one.requests), len(two.requests)) == ([1.0, 2.0, 1.0], 3, 2)


@pytest.mark.parametrize("attempts", [1, 2])
@on_a_loop
async def test_when_all_fail_one_error_names_each_and_its_reason(attempts: int) -> None:
    one, two = scripted(*[FULL] * 2), scripted(*[WRONG] * 2, name="two")
    came = await read(chain(one, two, attempts=attempts))
    tried = " (2 attempts)" if attempts == 2 else ""
    assert str(came.error) == (
        f"no model could answer: one{tried}: too many requests; two: no such key"
    )
    assert came.updates == []
    assert came.error is not None
    assert (came.error.provider, came.error.status) == ("acme", 401)
    assert came.error.__cause__ is WRONG
    assert came.error.transient is True


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501])
@on_a_loop
async def test_permanent_statuses_are_not_retried(status: int) -> None:
    one = scripted(ModelError("no", "acme", status), "never")
    assert (await read(chain(one, scripted("Hi!")))).text == "Hi!"
    assert len(one.requests) == 1


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
@on_a_loop
async def test_transient_statuses_are_retried(status: int) -> None:
    assert (await read(chain(scripted(ModelError("no", "acme", status), "Hi!")))).text == "Hi!"


@on_a_loop
async def test_retry_after_delays_the_next_attempt() -> None:
    slept = RecordedSleep()
    full = ModelError("full", "acme", 429, retry_after=7.5)
    assert (await read(chain(scripted(full, "Hi!"), sleep=slept))).text == "Hi!"
    assert slept == [7.5]


@on_a_loop
async def test_a_retry_after_beyond_the_maximum_delay_is_not_waited_for() -> None:
    slept = RecordedSleep()
    full = ModelError("full", "acme", 429, retry_after=31)
    one, two = scripted(full, "never"), scripted("Hello.", name="two")
    assert (await read(chain(one, two, sleep=slept))).text == "Hello."
    assert slept == []
    came = await read(chain(scripted(full, "never"), sleep=slept))
    assert came.error is not None
    assert (came.error.retry_after, slept) == (31, [])


@on_a_loop
async def test_an_error_after_the_first_update_is_raised_unchanged() -> None:
    two = scripted("never", name="two")
    came = await read(chain(scripted(["One ", LOST], "never"), two))
    assert (came.text, came.error) == ("One ", LOST)
    assert two.requests == []


@on_a_loop
async def test_usage_does_not_count_as_the_first_update() -> None:
    one = scripted([UsageUpdate(9, 0), LOST], [UsageUpdate(7, 1), "Hi!"])
    came = await read(chain(one))
    assert came.updates == [UsageUpdate(7, 1), TextDelta("Hi!"), FinishUpdate("stop")]


@on_a_loop
async def test_a_reply_without_content_and_reason_has_failed() -> None:
    empty = [UsageUpdate(9, 0), FinishUpdate("missing")]
    assert (await read(chain(scripted(empty, "Hi!")))).text == "Hi!"
    came = await read(chain(scripted(*[empty] * 2), attempts=2))
    assert str(came.error) == (
        "no model could answer: one (2 attempts): the reply ended without content"
    )


@on_a_loop
async def test_an_empty_reply_with_a_reason_is_an_answer() -> None:
    came = await read(chain(scripted([FinishUpdate("stop")])))
    assert (came.updates, came.error) == ([FinishUpdate("stop")], None)


@on_a_loop
async def test_errors_of_the_caller_are_not_failures_of_a_model() -> None:
    two = scripted("never", name="two")
    with pytest.raises(ValueError, match="no tool of that name"):
        await complete(chain(scripted(ValueError("no tool of that name")), two), "Hi!")
    assert two.requests == []


@on_a_loop
async def test_a_function_with_a_connection_error_is_retried() -> None:
    tried: list[int] = []

    async def flaky(_: Any) -> str:
        tried.append(1)
        if len(tried) < 3:
            raise RuntimeError("no luck") from ConnectionResetError("gone")
        return "Hi!"

    async def broken(_: Any) -> str:
        tried.append(2)
        raise KeyError("a mistake")

    assert (await read(chain(broken, flaky))).text == "Hi!"
    assert tried == [2, 1, 1]


@on_a_loop
async def test_the_policy_decides_which_exceptions_are_transient() -> None:
    retry = RetryPolicy(2, initial=0, retry_on=(LookupError,))
    raised = iter([KeyError("stale"), None])

    async def flaky(_: Any) -> str:
        if (error := next(raised)) is not None:
            raise error
        return "Hi!"

    assert (await read(FallbackModel(flaky, retry=retry))).text == "Hi!"
    one = scripted(IndexError("stale"), "Hi!")
    assert (await read(FallbackModel(one, retry=retry))).text == "Hi!"


@on_a_loop
async def test_a_model_that_raises_a_client_exception_is_retried() -> None:
    one = scripted(ConnectionError("gone"), TimeoutError(), "Hi!")
    assert (await read(chain(one))).text == "Hi!"


@on_a_loop
async def test_without_a_policy_each_model_gets_one_request() -> None:
    one, two = scripted(FULL), scripted("Hello.", name="two")
    assert (await read(FallbackModel(one, two, retry=None))).text == "Hello."


async def cancelled(ask: Callable[[asyncio.Event], Awaitable[Any]]) -> None:
    """Cancel a task once it reports that it is waiting."""
    waiting = asyncio.Event()
    task = asyncio.ensure_future(ask(waiting))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@on_a_loop
async def test_cancellation_during_a_delay_stops_at_once() -> None:
    one, two = scripted(FULL), scripted("never", name="two")

    async def ask(waiting: asyncio.Event) -> None:
        async def sleep(_: float) -> None:
            waiting.set()
            await asyncio.Event().wait()

        await read(chain(one, two, sleep=sleep))

    await cancelled(ask)
    assert (len(one.requests), two.requests) == (1, [])


@on_a_loop
async def test_cancelling_a_request_stops_it_and_starts_no_other() -> None:
    two, ended = scripted("never", name="two"), asyncio.Event()

    async def ask(waiting: asyncio.Event) -> None:
        async def hang(_: Any) -> AsyncIterator[str]:
            try:
                waiting.set()
                await asyncio.Event().wait()
                yield ""
            finally:
                ended.set()

        await read(chain(hang, two))

    await cancelled(ask)
    assert ended.is_set()
    assert two.requests == []


@on_a_loop
async def test_it_captures_the_answering_model_of_each_concurrent_request() -> None:
    one = scripted(*[lambda m: LOST if m[-1].text == "2" else m[-1].text] * 50, provider="acme")
    two = scripted(*["other"] * 50, name="two", provider="bolt")
    model = chain(one, two, attempts=1)
    assert (model.name, model.provider, model.current) == ("one", "acme", one)

    async def ask(prompt: str) -> tuple[str, str, Any]:
        with capture_model() as answer:
            # A separate task, as in agents.
            await asyncio.ensure_future(complete(model, prompt))
            assert answer.model is model.current
            return model.name, model.provider, answer.model

    results = await asyncio.gather(*(ask(str(number % 3)) for number in range(30)))
    for number, result in enumerate(results):
        assert result == (("two", "bolt", two) if number % 3 == 2 else ("one", "acme", one))


@on_a_loop
async def test_a_nested_chain_captures_the_answering_model() -> None:
    inner = FallbackModel(scripted(WRONG), scripted("Hi!", name="two"))
    outer = FallbackModel(scripted(WRONG, name="zero"), inner)
    with capture_model() as answer:
        await complete(outer, "Hello!")
        assert answer.model is inner.models[1]
        assert (outer.name, inner.name) == ("two", "two")
    assert outer.name == "two"


def test_calls_are_native_only_if_all_of_them_can_make_them() -> None:
    native, other = scripted(native_tools=True), scripted(name="two")
    assert FallbackModel(native, native).native_tools is True
    assert FallbackModel(native, other).native_tools is False
    assert FallbackModel(other).native_tools is False


@on_a_loop
async def test_a_mixed_chain_uses_calls_in_text() -> None:
    native = scripted(WRONG, WRONG, native_tools=True)
    other = scripted('<add>{"a": 2, "b": 3}</add>', "5", name="two")
    agent = Agent(chain(native, other), [add])
    result = await agent.run("2 + 3?")
    assert result.text == "5"
    assert not native.requests[0].tools
    assert "add" in native.requests[0].messages[0].text  # type: ignore[union-attr]


@on_a_loop
async def test_models_without_native_calls_are_skipped_if_there_are_tools() -> None:
    other, native = scripted("never"), scripted("Hi!", name="two", native_tools=True)
    came = await read(chain(other, native), tools=[ADD])
    assert (came.text, other.requests, native.requests[0].tools) == ("Hi!", [], (ADD,))
    with pytest.raises(
        ValueError, match="does not support native calls, so there must be no tools"
    ):
        await read(chain(other), tools=[ADD])


@on_a_loop
async def test_native_calls_pass_as_they_are() -> None:
    call = ToolCall("c1", "add", {"a": 2, "b": 3})
    models = [scripted(WRONG, WRONG, native_tools=True), scripted([call], "5", native_tools=True)]
    use = NaturalToolUse(chain(*models), [add], tool_mode="native")
    messages = await use.complete("2 + 3?")
    assert messages[0].tool_results[0].value == 5  # type: ignore[union-attr]


@on_a_loop
async def test_each_decision_is_logged_without_content() -> None:
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    logger = logging.getLogger("toolweave.models")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        await read(chain(scripted(FULL, WRONG), scripted("Hello.", name="two")))
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    assert [record.getMessage() for record in records] == [
        "one cannot answer now and is asked again",
        "one cannot answer and is given up",
        "two answers",
    ]
    assert [vars(record)["model"] for record in records] == ["one", "one", "two"]
    assert [vars(record).get("status") for record in records] == [429, 401, None]
    assert (vars(records[0])["wait"], vars(records[1])["wait"]) == (1.0, None)


@on_a_loop
async def test_closing_a_chain_closes_all_of_its_models() -> None:
    closed: list[str] = []

    class Closable(ScriptedModel):
        async def aclose(self) -> None:
            closed.append(self.name)

    async with FallbackModel(Closable(name="a"), scripted(), Closable(name="b")):
        pass
    assert sorted(closed) == ["a", "b"]


def test_a_chain_consists_of_models() -> None:
    with pytest.raises(ValueError, match="models must not be empty"):
        FallbackModel()
    with pytest.raises(TypeError, match="models must have a method `stream`"):
        FallbackModel(7)  # type: ignore[arg-type]
    assert repr(chain(scripted(), scripted(name="two"))) == "FallbackModel(one, two)"
