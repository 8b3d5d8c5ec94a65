"""Natural tool use as a whole: calls run while the model writes."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

import toolweave as tw
from coroutine_tests import collect, of_kind, on_a_loop
from sample_natural_tools import ADD, REPLY, add, boom, call, natural_use, ping
from toolweave.exceptions import (
    ToolDefinitionError,
)
from toolweave.executor import ToolExecutor, ToolProgress, ToolStarted
from toolweave.natural import ExecutorOptions, FunctionCalling, NaturalToolUse, NaturalToolUseParser
from toolweave.testing import ScriptedModel
from toolweave.tools import Toolset


@on_a_loop
async def test_complete_gives_texts_and_calls_with_results_in_order_then_usage() -> None:
    messages = await natural_use(REPLY, name="ann").complete("Hi!")
    first, one, second, two, third, usage = messages
    assert [m.text for m in (first, second, third)] == ["Let me see. ", " And ", " Done."]
    assert [[(c.name, c.index) for c in each.tool_calls] for each in (one, two)] == [
        [("add", 0)],
        [("ping", 1), ("boom", 2)],
    ]
    assert [[result.result for result in each.tool_results] for each in (one, two)] == [
        ["5"],
        ["pong", "Error executing tool: it broke"],
    ]
    assert isinstance(usage, tw.UsageMessage)
    assert (usage.input_tokens, usage.output_tokens) == (9, 8)


@on_a_loop
async def test_all_messages_of_a_reply_have_one_generation_id_and_ids_of_their_own() -> None:
    ids = iter(["g1", "g2"])
    natural = natural_use(REPLY, REPLY, name="ann", generation_ids=lambda: next(ids))
    for generation in ("g1", "g2"):
        messages = await natural.complete("Hi!")
        assert {message.generation_id for message in messages} == {generation}
        assert {message.from_agent for message in messages} == {"ann"}
        assert [message.id for message in messages] == [
            f"{generation}.0",
            f"{generation}.calls",
            f"{generation}.1",
            f"{generation}.calls2",
            f"{generation}.2",
            f"{generation}.usage",
        ]
        assert [c.id for m in messages for c in getattr(m, "tool_calls", ())] == [
            f"call_{generation}_{index}" for index in range(3)
        ]


@on_a_loop
async def test_call_ids_can_be_customized() -> None:
    natural = natural_use(REPLY, id_factory=lambda index: f"mine-{index}")
    calls = of_kind(tw.ToolCall, await collect(natural.stream("Hi!")))
    assert [c.id for c in calls] == ["mine-0", "mine-1", "mine-2"]


@on_a_loop
async def test_a_stream_has_all_events_and_ends_with_aggregates_usage_and_finish() -> None:
    natural = natural_use(REPLY)
    async with natural.open("Hi!") as reply:
        events = await collect(reply)
    *_, one, two, usage, finish = events
    assert finish == tw.FinishUpdate("tool_calls")
    assert [one, two, usage] == [m for m in reply.messages if not isinstance(m, tw.TextMessage)]
    assert "".join(event.text for event in of_kind(tw.TextDelta, events)) == reply.text
    calls = of_kind(tw.ToolCall, events)
    assert [*one.tool_calls, *two.tool_calls] == calls
    for made in calls:
        about = [
            type(event)
            for event in events
            if getattr(event, "tool_call_id", getattr(event, "id", None)) == made.id
        ]
        assert about == [tw.ToolCallStart, tw.ToolCall, ToolStarted, tw.ToolResult]
    assert not of_kind(tw.UsageUpdate, events)


@on_a_loop
async def test_the_text_and_usage_of_a_reply_can_be_read_at_any_time() -> None:
    pieces = ["One ", "two ", tw.UsageUpdate(9, 1), "three.", tw.UsageUpdate(9, 3)]
    seen: list[tuple[str, tw.UsageMessage | None, int]] = []
    async with natural_use(pieces).open("Hi!") as reply:
        async for event in reply:
            seen.append((reply.text, reply.usage, len(reply.messages)))
            if isinstance(event, tw.TextDelta):
                assert reply.text.endswith(event.text)
    assert seen[0] == ("One ", None, 1)
    assert reply.text == "One two three."
    assert reply.usage is not None
    assert (reply.usage.output_tokens, reply.usage.id) == (3, reply.messages[-1].id)


@on_a_loop
async def test_the_history_that_comes_out_ends_with_the_results() -> None:
    model = ScriptedModel(["Well. ", ADD, " I wait."], "It is 5.")
    natural = NaturalToolUse(model, [add])
    messages = [tw.TextMessage("2 + 3?"), *await natural.complete("2 + 3?")]
    await natural.complete(messages)
    *_, asked, called, answered = model.requests[1].messages
    assert asked.text == "2 + 3?"
    assert called.text.startswith("Well. \n<add>")
    assert called.text.endswith("I wait.")
    assert (answered.role, answered.text) == (
        "user",
        '<tool_response name="add">\n5\n</tool_response>',
    )


@on_a_loop
async def test_white_space_between_calls_is_no_message() -> None:
    messages = await natural_use([ADD, "\n\n", call("ping"), " "]).complete("Hi!")
    assert [type(message) for message in messages] == [tw.ToolAggregateMessage]


@on_a_loop
async def test_an_empty_reply_has_no_messages() -> None:
    natural = natural_use("", "", "", "")
    assert await natural.complete("Hi!") == []
    assert await collect(natural.stream("Hi!")) == [tw.FinishUpdate("stop")]


@on_a_loop
async def test_a_call_starts_while_the_model_still_writes() -> None:
    started = asyncio.Event()
    released = asyncio.Event()

    async def slow() -> str:
        started.set()
        await released.wait()
        return "at last"

    async def model(_: Any) -> AsyncIterator[str]:
        yield call("slow")
        await started.wait()
        yield " The tool runs."
        released.set()

    events = await collect(NaturalToolUse(model, [slow]).stream("Hi!"))
    names = [type(event).__name__ for event in events]
    assert names.index("ToolStarted") < names.index("TextDelta") < names.index("ToolResult")


@on_a_loop
async def test_calls_run_at_the_same_time_and_results_come_as_they_finish() -> None:
    first = asyncio.Event()

    async def waits() -> str:
        await first.wait()
        return "second"

    async def goes() -> str:
        first.set()
        return "first"

    natural = natural_use([call("waits"), call("goes")], tools=[waits, goes])
    events = await collect(natural.stream("Hi!"))
    assert [event.result for event in of_kind(tw.ToolResult, events)] == ["first", "second"]
    (aggregate,) = of_kind(tw.ToolAggregateMessage, events)
    assert [result.result for result in aggregate.tool_results] == ["second", "first"]


@on_a_loop
async def test_progress_comes_as_it_is_reported() -> None:
    async def count() -> AsyncIterator[int]:
        for number in range(3):
            yield number

    events = await collect(natural_use(call("count"), tools=[count]).stream("Hi!"))
    assert [event.value for event in of_kind(ToolProgress, events)] == [0, 1, 2]
    assert of_kind(tw.ToolResult, events)[0].result == "2"


@on_a_loop
async def test_a_bad_call_has_a_result_that_says_what_is_wrong_and_keeps_its_arguments() -> None:
    reply = [call("add", '{"a": 2}'), call("add", "{nope}"), '<tool_call name="nope">{"x": 1}', ADD]
    (message,) = await natural_use(["", *reply[:2], f"{reply[2]}</tool_call>", ADD]).complete("Hi!")
    assert isinstance(message, tw.ToolAggregateMessage)
    assert [c.arguments for c in message.tool_calls] == [{"a": 2}, {}, {"x": 1}, {"a": 2, "b": 3}]
    assert [c.raw for c in message.tool_calls[:2]] == reply[:2]
    assert [result.error_code for result in message.tool_results] == [
        "invalid_arguments",
        "invalid_arguments",
        "unknown_tool",
        None,
    ]
    assert "/b: missing" in message.tool_results[0].result
    assert "Available tools: add, ping, boom" in message.tool_results[2].result


@on_a_loop
async def test_a_call_that_was_cut_off_never_runs() -> None:
    ran: list[int] = []

    def note(number: int) -> None:
        ran.append(number)

    reply = [call("note", '{"number": 1}'), '<note>{"number": 2}', tw.FinishUpdate("length")]
    natural = natural_use(reply, tools=[note])
    async with natural.open("Hi!") as run:
        (message,) = await run.wait()
    assert ran == [1]
    assert run.finish_reason == "length"
    assert message.tool_results[1].error_code == "invalid_arguments"


@on_a_loop
async def test_made_up_results_are_reported_and_in_no_message() -> None:
    made_up = '<tool_response name="ping">I am fine</tool_response>'
    natural = natural_use([call("ping"), made_up, "So."])
    async with natural.open("Hi!") as run:
        events = await collect(run)
    assert of_kind(tw.FabricatedResult, events) == [tw.FabricatedResult("ping", made_up)]
    calls, text = run.messages
    assert text.text == "So."
    assert [result.result for result in calls.tool_results] == ["pong"]


# One object, many conversations.


@on_a_loop
async def test_one_object_serves_200_conversations_at_once() -> None:
    there = 0
    all_there = asyncio.Event()

    async def meet(number: int) -> int:
        nonlocal there
        there += 1
        if there == 200:
            all_there.set()
        await all_there.wait()
        return number

    async def model(messages: Any) -> AsyncIterator[str]:
        number = messages[-1].text
        for piece in ("I am ", number, ". <me", 'et>{"number": ', number, "}</meet> Bye."):
            await asyncio.sleep(0)
            yield piece

    natural = NaturalToolUse(model, [meet], max_concurrency=None)
    replies = await asyncio.gather(*(natural.complete(str(number)) for number in range(200)))
    for number, (text, calls, bye) in enumerate(replies):
        assert (text.text, bye.text) == (f"I am {number}. ", " Bye.")
        assert [r.value for r in calls.tool_results] == [number]
    assert len({message.generation_id for reply in replies for message in reply}) == 200
    assert len({reply[1].tool_calls[0].id for reply in replies}) == 200


def test_one_object_serves_one_loop_after_another_and_two_threads_at_once() -> None:
    async def model(_: Any) -> str:
        return ADD

    natural = NaturalToolUse(model, [add])

    def ask() -> None:
        for _ in range(3):
            (message,) = asyncio.run(natural.complete("Hi!"))
            assert [r.result for r in message.tool_results] == ["5"]

    ask()
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()


@on_a_loop
async def test_contextvars_of_the_caller_reach_model_and_tools() -> None:
    user = contextvars.ContextVar("user", default="nobody")
    seen: list[str] = []

    def who() -> str:
        seen.append(user.get())
        return user.get()

    async def model(_: Any) -> str:
        seen.append(user.get())
        return call("who")

    user.set("ann")
    await NaturalToolUse(model, [who]).complete("Hi!")
    assert seen == ["ann", "ann"]


# The halves.


@on_a_loop
async def test_the_halves_compose() -> None:
    model = ScriptedModel(REPLY)
    composed = FunctionCalling(NaturalToolUseParser(model), [add, ping, boom])
    messages = await composed.complete("Hi!")
    kinds = [message.kind.value for message in messages]
    assert kinds == ["text", "tools_aggregate", "text", "tools_aggregate", "text", "usage"]
    assert "## add" in model.requests[0].messages[0].text


@on_a_loop
async def test_function_calling_runs_native_calls_of_any_model() -> None:
    model = ScriptedModel(["Hm. ", tw.ToolCall("c1", "add", {"a": 2, "b": 3})], native_tools=True)
    text, calls = await FunctionCalling(model, [add]).complete("Hi!")
    assert text.text == "Hm. "
    assert [c.id for c in calls.tool_calls] == ["c1"]
    assert [r.result for r in calls.tool_results] == ["5"]
    assert [contract.name for contract in model.requests[0].tools] == ["add"]


@on_a_loop
async def test_an_executor_may_be_shared() -> None:
    executor = ToolExecutor([add], timeout=5)
    natural = NaturalToolUse(ScriptedModel(ADD), executor=executor)
    (message,) = await natural.complete("Hi!")
    assert natural.executor is executor
    assert message.tool_results[0].result == "5"


@on_a_loop
async def test_tools_that_come_and_go_count_from_the_next_reply() -> None:
    tools = Toolset([add])
    model = ScriptedModel(f"{ADD}{call('ping')}", f"{ADD}{call('ping')}")
    natural = NaturalToolUse(model, tools)
    first = await natural.complete("Hi!")
    tools.add(ping)
    tools.remove("add")
    second = await natural.complete("Hi!")
    for messages, known, unknown in ((first, "add", "ping"), (second, "ping", "add")):
        text, calls = sorted(messages, key=lambda message: str(message.kind))
        assert f"<{unknown}>" in text.text
        assert [c.name for c in calls.tool_calls] == [known]
    assert "## add" not in model.requests[1].messages[0].text


@on_a_loop
async def test_contracts_with_handlers_are_tools_too() -> None:
    contract = tw.FunctionContract("twice", None, {"properties": {"n": {"type": "integer"}}})
    reply = call("twice", '{"n": 4}')
    natural = natural_use(reply, tools=[contract], handlers={"twice": lambda n: 2 * n})
    (message,) = await natural.complete("Hi!")
    assert message.tool_results[0].result == "8"


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        (
            {"executor": ToolExecutor([add]), "tools": [add]},
            ValueError,
            "must not be combined with: tools",
        ),
        (
            {"executor": ToolExecutor([add]), "timeout": 3.0},
            ValueError,
            "must not be combined with: timeout",
        ),
        (
            {"executor": ToolExecutor([add]), "handlers": {"x": add}},
            ValueError,
            "must not be combined with: handlers",
        ),
        ({"tools": ["unserved"]}, ToolDefinitionError, "unserved"),
        ({"tols": []}, TypeError, "'tols'"),
        ({"model": 7}, TypeError, "model must"),
        ({"tool_mode": "x"}, ValueError, "tool_mode"),
    ],
)
def test_wrong_options_are_errors_that_name_them(
    options: dict[str, Any], error: type[Exception], match: str
) -> None:
    options = {"model": ScriptedModel(), **options}
    with pytest.raises(error, match=match):
        NaturalToolUse(**options)


def test_the_options_are_those_of_the_executor() -> None:
    known = set(inspect.signature(ToolExecutor).parameters) - {"tools", "handlers"}
    assert set(ExecutorOptions.__annotations__) == known
