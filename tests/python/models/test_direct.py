"""Direct requests: `as_model`, `complete`, and functions as models."""

from __future__ import annotations

import asyncio
import functools
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolweave import (
    FinishReason,
    FinishUpdate,
    FunctionContract,
    Message,
    TextDelta,
    TextMessage,
    ToolCallUpdate,
    Update,
    UsageMessage,
    UsageUpdate,
)
from toolweave._extras import require
from toolweave.exceptions import MessageError, ModelError
from toolweave.models import FunctionModel, as_model, complete
from toolweave.testing import ScriptedModel


async def returns(messages: Sequence[Message]) -> str:
    return f"You said {len(messages)} things."


async def yields(messages: Sequence[Message]) -> AsyncIterator[str]:
    for message in messages:
        yield getattr(message, "text", "")


class Bound:
    async def answer(self, messages: Sequence[Message]) -> str:
        return await returns(messages)

    async def __call__(self, messages: Sequence[Message]) -> str:
        return await returns(messages)


async def with_more(prefix: str, messages: Sequence[Message]) -> str:
    return prefix + await returns(messages)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (returns, "returns"),
        (Bound().answer, "answer"),
        (Bound(), "Bound"),
        (functools.partial(with_more, ""), "with_more"),
        (lambda messages: returns(messages), "<lambda>"),
    ],
)
def test_every_kind_of_async_callable_is_a_model(function: Any, name: str) -> None:
    model = as_model(function)
    assert isinstance(model, FunctionModel)
    assert (model.name, repr(model), model.native_tools) == (name, f"FunctionModel({name})", False)
    reply = asyncio.run(complete(function, ["a", "b"]))
    assert reply.messages == (TextMessage("You said 2 things.", role="assistant"),)
    assert reply.finish_reason is FinishReason.STOP


@given(st.lists(st.text(max_size=3), max_size=5))
def test_what_a_generator_yields_is_the_reply(pieces: list[str]) -> None:
    async def updates() -> list[Update]:
        return [
            update async for update in FunctionModel(yields).stream(list(map(TextMessage, pieces)))
        ]

    *deltas, last = asyncio.run(updates())
    assert deltas == [TextDelta(piece) for piece in pieces if piece]
    assert last == FinishUpdate("stop")


def test_a_model_with_a_stream_method_comes_back_as_it_is() -> None:
    model = ScriptedModel()
    assert as_model(model) is model


def sync(_: Sequence[Message]) -> str:
    return "Hi"


def sync_generator(_: Sequence[Message]) -> Any:
    yield "Hi"


async def no_parameter() -> str:
    return "Hi"


async def two_parameters(_messages: Any, _tools: Any) -> str:
    return "Hi"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (7, "async generator function of strs; got int"),
        ("gpt-5", "got str"),
        (ScriptedModel, "must be an object, not the class ScriptedModel; call it first"),
        (yields([]), "only once; pass the function that creates it"),
        (sync_generator, "sync_generator must be an async function"),
        (no_parameter, r"no_parameter\(\) -> '?str'? must take the messages as its one argument"),
        (two_parameters, "must take the messages as its one argument"),
    ],
)
def test_a_value_that_is_not_a_model_is_rejected_at_once(wrong: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        as_model(wrong)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (sync, "sync must be an async function .* but returned str"),
        (lambda _: None, "but returned NoneType"),
        (Bound, "takes no arguments|positional argument|the class Bound"),
    ],
)
def test_a_sync_function_is_refused_when_it_answers(function: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        asyncio.run(complete(function, "Hi"))


async def returns_number(_: Sequence[Message]) -> Any:
    return 7


async def yields_number(_: Sequence[Message]) -> Any:
    yield "Hi"
    yield 7


@pytest.mark.parametrize("function", [returns_number, yields_number])
def test_a_model_function_answers_with_nothing_but_text(function: Any) -> None:
    with pytest.raises(TypeError, match="must return or yield str, got int"):
        asyncio.run(complete(function, "Hi"))


async def breaks(_: Sequence[Message]) -> AsyncIterator[str]:
    yield "The "
    raise ConnectionError("gone")


async def fails(_: Sequence[Message]) -> str:
    raise ConnectionError("gone")


def fails_at_once(_: Sequence[Message]) -> Any:
    raise ConnectionError("gone")


@pytest.mark.parametrize(
    ("function", "before"),
    [(breaks, [TextDelta("The ")]), (fails, []), (fails_at_once, [])],
)
def test_what_a_function_raises_is_the_cause_of_a_model_error(
    function: Callable[[Any], Any], before: list[Update]
) -> None:
    came: list[Update] = []

    async def ask() -> None:
        stream = as_model(function).stream([TextMessage("Hi")])
        while True:
            came.append(await anext(aiter(stream)))

    with pytest.raises(
        ModelError, match=f"function {function.__name__} raised ConnectionError: gone"
    ) as raised:
        asyncio.run(ask())
    assert isinstance(raised.value.__cause__, ConnectionError)
    assert came == before


def test_a_model_error_of_a_function_is_not_wrapped() -> None:
    error = ModelError("busy", "acme", 503)

    async def model(_: Sequence[Message]) -> str:
        raise error

    with pytest.raises(ModelError) as raised:
        asyncio.run(complete(model, "Hi"))
    assert raised.value is error
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("cancel", [False, True])
def test_a_generator_is_closed_when_the_reader_stops(cancel: bool) -> None:
    closed = asyncio.Event()

    async def endless(_: Sequence[Message]) -> AsyncIterator[str]:
        try:
            while True:
                yield "on and "
                await asyncio.sleep(0)
        finally:
            closed.set()

    async def close() -> None:
        stream = FunctionModel(endless).stream([])
        await anext(stream)
        await stream.aclose()
        assert closed.is_set()

    async def cancelled() -> None:
        task = asyncio.create_task(complete(endless, "Hi"))
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert closed.is_set()

    asyncio.run(cancelled() if cancel else close())


def test_a_function_takes_no_native_tools() -> None:
    with pytest.raises(
        ValueError, match="returns does not support native calls, so there must be no tools"
    ):
        asyncio.run(complete(returns, "Hi", tools=[FunctionContract("Add")]))


def test_complete_joins_text_calls_and_usage() -> None:
    model = ScriptedModel(
        [
            "Let ",
            "me.",
            ToolCallUpdate("c1", 0, "Add", '{"a"'),
            ToolCallUpdate(None, 0, None, ": 1}"),
            UsageUpdate(3, 4),
        ],
        native_tools=True,
    )
    reply = asyncio.run(complete(model, "1?", tools=[FunctionContract("Add")]))
    text, calls, usage = reply.messages
    assert text == TextMessage("Let me.", role="assistant")
    assert calls.tool_calls[0].arguments == {"a": 1}
    assert isinstance(usage, UsageMessage)
    assert (reply.finish_reason, reply.missing, reply.problems) == ("tool_calls", ("c1",), ())


def test_a_call_that_was_cut_off_is_never_taken_for_a_whole_one() -> None:
    model = ScriptedModel([ToolCallUpdate("c1", 0, "Add", '{"a": 1'), FinishUpdate("missing")])
    reply = asyncio.run(complete(model, "1?"))
    assert reply.messages == ()
    assert [(problem.kind, problem.text) for problem in reply.problems] == [("unclosed", '{"a": 1')]


def test_complete_validates_the_conversation_before_the_request() -> None:
    model = ScriptedModel("never")
    with pytest.raises(MessageError, match="message 0"):
        asyncio.run(complete(model, [{"role": "nobody"}]))
    assert model.requests == []


def test_complete_closes_streams_of_every_kind() -> None:
    closed: list[str] = []

    class Stream:
        def __init__(self) -> None:
            self.left = [TextDelta("Hi"), FinishUpdate("stop")]

        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> Update:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop(0)

    class Sync(Stream):
        def close(self) -> None:
            closed.append("sync")

    class Async(Stream):
        async def close(self) -> None:
            closed.append("async")

    class AsyncOnly(Async):
        async def aclose(self) -> None:
            closed.append("aclose")

    def model(stream: type[Stream]) -> Any:
        class Model:
            def stream(self, _: Any, **__: Any) -> Any:
                return stream()

        return Model()

    for kind in (Stream, Sync, Async, AsyncOnly):
        assert asyncio.run(complete(model(kind), "Hi")).finish_reason == "stop"
    assert closed == ["sync", "async", "aclose"]


@pytest.mark.parametrize("module", ["nowhere", "nowhere.deeper"])
def test_a_package_that_is_missing_is_named_with_its_extra(module: str) -> None:
    with pytest.raises(ImportError) as raised:
        require(module, "some")
    assert str(raised.value) == (
        f"the package {module} is not installed; pip install 'toolweave[some]'"
    )


def test_a_package_that_is_there_but_broken_says_itself_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_there.py").write_text("import nowhere_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"^No module named 'nowhere_at_all'$"):
        require("half_there", "some")


def test_complete_is_traced_as_one_request_without_content() -> None:
    # A process can set a tracer provider only once.
    program = """
import asyncio, json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from toolweave import UsageUpdate
from toolweave.exceptions import ModelError
from toolweave.models import complete
from toolweave.protocols import ModelOptions
from toolweave.testing import ScriptedModel
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
model = ScriptedModel(["Hi", UsageUpdate(3, 2)], ModelError("busy"), name="m", provider="p")
async def main():
    await complete(model, "Hello", options=ModelOptions(max_tokens=9))
    try:
        await complete(model, "Hello")
    except ModelError:
        pass
asyncio.run(main())
print(json.dumps([[span.name, dict(span.attributes)] for span in exporter.get_finished_spans()]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    (first, attributes), (second, failed) = json.loads(done.stdout)
    assert first == second == "chat m"
    shared = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "p",
        "gen_ai.request.model": "m",
    }
    assert attributes == {
        **shared,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.response.finish_reasons": ["stop"],
    }
    assert failed.pop("error.type").endswith("ModelError")
    assert failed == shared
