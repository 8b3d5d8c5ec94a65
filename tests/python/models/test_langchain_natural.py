"""`NaturalChatModel`: a model that writes text in LangChain's chains and agents, over HTTP."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
from functools import reduce
from operator import add as plus
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.callbacks import get_usage_metadata_callback
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.output_parsers.openai_tools import JsonOutputToolsParser
from langchain_core.tools import tool
from langgraph.errors import GraphRecursionError
from pydantic import BaseModel

from langchain_chat import chat_openai
from openai_endpoint import Endpoint, Reply, serving
from toolweave import FinishUpdate, FunctionContract, TextDelta, UsageUpdate
from toolweave.exceptions import ModelError
from toolweave.integrations.langchain import AnswerInvalidCalls, NaturalChatModel
from toolweave.integrations.langchain._background import iterate, run
from toolweave.integrations.langchain._chunks import invalidating_suffix
from toolweave.testing import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

CALL = '<add>\n```json\n{"a": 15, "b": 27}\n```\n</add>'

USAGE = {
    "input_tokens": 11,
    "output_tokens": 7,
    "total_tokens": 18,
    "input_token_details": {"cache_read": 0},
    "output_token_details": {},
}
"""The usage that the endpoint reports, with the details that LangChain's own models have."""


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def never(city: str) -> str:
    """Fail if called."""
    raise AssertionError(city)


class Person(BaseModel):
    """A person."""

    name: str
    age: int


def natural(endpoint: Endpoint, **options: Any) -> NaturalChatModel:
    return NaturalChatModel(chat_openai(endpoint), **options)


def summed(chunks: Iterator[Any]) -> AIMessageChunk:
    return cast("AIMessageChunk", reduce(plus, chunks))


def calls(message: AIMessage) -> list[tuple[str, dict[str, Any]]]:
    return [(call["name"], call["args"]) for call in message.tool_calls]


def test_a_call_in_the_text_is_a_tool_call() -> None:
    with serving(f"Let me see.\n{CALL}") as endpoint:
        reply = natural(endpoint).bind_tools([add]).invoke("15 + 27?")
        (asked,) = endpoint.requests
    assert calls(reply) == [("add", {"a": 15, "b": 27})]
    assert reply.content == "Let me see.\n"
    assert reply.usage_metadata == USAGE
    assert reply.response_metadata["finish_reason"] == "tool_calls"
    assert "tools" not in asked
    assert asked["stop"] == ["<tool_response"]
    assert "## add\nAdd two numbers." in asked["messages"][0]["content"]


def test_without_tools_requests_are_unchanged() -> None:
    with serving("<add>{}</add>") as endpoint:
        assert natural(endpoint).invoke("Hi").content == "<add>{}</add>"
        assert endpoint.prompts() == [[("user", "Hi")]]
        assert "stop" not in endpoint.requests[0]


def test_arguments_stream_as_the_model_writes_them() -> None:
    with serving(Reply.of(f"Let me see.\n{CALL}", size=3)) as endpoint:
        chunks = list(natural(endpoint).bind_tools([add]).stream("15 + 27?"))
    fragments = [piece["args"] for chunk in chunks for piece in chunk.tool_call_chunks]
    assert "".join(fragments) == '{"a": 15, "b": 27}'
    assert len(fragments) > 4
    whole = summed(iter(chunks))
    assert calls(whole) == [("add", {"a": 15, "b": 27})]
    assert whole.content == "Let me see.\n"
    assert whole.usage_metadata == USAGE
    assert whole.response_metadata["finish_reason"] == "tool_calls"
    assert chunks[-1].chunk_position == "last"


REPLIES = [
    f"Let me see.\n{CALL}\n",
    f"{CALL}\n{CALL}",
    '<add>{"a": "15", "b": 27,}</add> and <add>{"a": 1, "b": 2}</add>',
    "<add>{'a': 15, 'b': 27}</add>",
    '<add>{"a": 15}</add>',
    '<add>{"a": NaN, "b": 1}</add>',
    '<tool_call name="sub">{"a": 1}</tool_call>',
    '<add>{"a": 1, "b": "x',
    '<add>{"a": 1, "b": 2}',
    "<think>Hm.</think>Nothing to call.",
    '<now></now><add>{"a": 1, "b": 2}</add>',
    '<add>{"a": 1, "b": 2}</add>\n<tool_response name="add">\n3\n</tool_response>\nSo 3.',
]


@pytest.mark.parametrize("finish", ["stop", "length", None])
@pytest.mark.parametrize("text", REPLIES)
def test_chunks_add_up_to_what_comes_whole(text: str, finish: str | None) -> None:
    now = FunctionContract("now", "The time.", {"type": "object", "properties": {}})
    with serving(Reply.of(text, finish=finish), Reply.of(text, finish=finish)) as endpoint:
        model = natural(endpoint).bind_tools([add, now])
        whole = model.invoke("Hi")
        total = summed(model.stream("Hi"))
    assert total.content == whole.content
    assert calls(total) == calls(whole)
    assert total.additional_kwargs == whole.additional_kwargs
    assert total.usage_metadata == whole.usage_metadata
    assert [call["id"] for call in total.tool_calls] != [None] * len(total.tool_calls) or not calls(
        total
    )
    # The original form of repaired calls is included.
    repaired = {call["id"] for call in total.tool_calls}
    unrepaired = [call for call in total.invalid_tool_calls if call["id"] not in repaired]
    assert len(unrepaired) == len(whole.invalid_tool_calls)
    for call in unrepaired:
        assert total.response_metadata["invalid_tool_calls"][call["id"]]


@pytest.mark.parametrize("finish", ["length", "content_filter", None])
@pytest.mark.parametrize("size", [1, 5, 100])
def test_a_call_that_was_cut_off_is_never_a_whole_one(finish: str | None, size: int) -> None:
    # LangChain completes what is missing at the end of arguments.
    for cut in range(len("<add>"), len('<add>{"a": 1, "b": 2}') + 1):
        text = '<add>{"a": 1, "b": 2}'[:cut]
        model = ScriptedModel(
            [text[at : at + size] for at in range(0, len(text), size)]
            + ([FinishUpdate(finish)] if finish else [FinishUpdate("missing")])
        )
        total = summed(NaturalChatModel(model).bind_tools([add]).stream("Hi"))
        assert total.tool_calls == []


json_like = st.text('{}[]",:\\ \n1ab', max_size=30)


@given(json_like | json_like.map(lambda text: '{"a": ' + text))
def test_arguments_can_always_be_made_invalid(text: str) -> None:
    piece = {"name": "add", "args": text + invalidating_suffix(text), "id": "c", "index": 0}
    chunk = AIMessageChunk("", tool_call_chunks=[{**piece, "type": "tool_call_chunk"}])
    assert chunk.tool_calls == []
    assert len(chunk.invalid_tool_calls) == 1


def test_a_connection_that_breaks_is_an_error_and_no_call() -> None:
    with serving(Reply(['<add>{"a": 1, "b": 2}'], drop=True)) as endpoint:
        came: list[Any] = []
        with pytest.raises(ModelError):
            came.extend(iter(natural(endpoint).bind_tools([add]).stream("Hi")))


def test_results_and_calls_are_text_in_the_next_request() -> None:
    history = [
        HumanMessage("15 + 27?"),
        AIMessage("", tool_calls=[{"name": "add", "args": {"a": 15, "b": 27}, "id": "c1"}]),
        ToolMessage("42 <add>{}</add>", tool_call_id="c1"),
    ]
    with serving("42") as endpoint:
        natural(endpoint).bind_tools([add]).invoke(history)
        system, *prompt = endpoint.prompts()[0]
    assert system[0] == "system"
    assert prompt == [
        ("user", "15 + 27?"),
        ("assistant", '<add>\n{\n  "a": 15,\n  "b": 27\n}\n</add>'),
        ("user", '<tool_response name="add">\n42 &lt;add>{}&lt;/add>\n</tool_response>'),
    ]


def test_chains_with_parsers_work() -> None:
    with serving(CALL, "Hello") as endpoint:
        model = natural(endpoint)
        chain = model.bind_tools([add]) | JsonOutputToolsParser()
        assert chain.invoke("Hi") == [{"type": "add", "args": {"a": 15, "b": 27}}]
        assert "".join((model | StrOutputParser()).stream("Hi")) == "Hello"


def test_structured_output_comes_from_a_call() -> None:
    with serving('<Person>{"name": "Ann", "age": "7"}</Person>') as endpoint:
        person = natural(endpoint).with_structured_output(Person).invoke("Who?")
        prompt = endpoint.prompts()[0][0][1]
    assert person == Person(name="Ann", age=7)
    assert "Text alone is no answer." in prompt


@pytest.mark.parametrize(
    ("choice", "described", "required"),
    [
        ("auto", ["add", "never"], False),
        ("none", [], False),
        ("required", ["add", "never"], True),
        (True, ["add", "never"], True),
        ("add", ["add"], True),
        ({"type": "function", "function": {"name": "add"}}, ["add"], True),
    ],
)
def test_a_tool_choice_restricts_the_described_tools(
    choice: Any, described: list[str], required: bool
) -> None:
    with serving("Hello") as endpoint:
        natural(endpoint).bind_tools([add, never], tool_choice=choice).invoke(
            [("system", "Be brief."), ("user", "Hi")]
        )
        prompt = endpoint.prompts()[0][0][1]
    assert [name for name in ("add", "never") if f"## {name}\n" in prompt] == described
    assert ("Text alone is no answer." in prompt) == required
    assert prompt.startswith("Be brief.")


def test_a_tool_choice_must_be_a_tool() -> None:
    with pytest.raises(ValueError, match=r"the name of a tool \(add\), got 'sub'"):
        NaturalChatModel(ScriptedModel()).bind_tools([add], tool_choice="sub")


def test_stops_and_options_reach_the_model() -> None:
    model = ScriptedModel("Hello")
    NaturalChatModel(model).bind_tools([add]).invoke("Hi", stop=["END"], temperature=0, top_k=3)
    options = model.requests[0].options
    assert options is not None
    assert options.stop == ("END", "<tool_response")
    assert options.temperature == 0
    assert options.extra == {"top_k": 3}


def test_usage_that_grows_counts_once() -> None:
    updates = [UsageUpdate(5, 0), TextDelta("Hi"), UsageUpdate(5, 1, 2), FinishUpdate("stop")]
    total = summed(NaturalChatModel(ScriptedModel(updates)).stream("Hi"))
    assert total.usage_metadata == {
        "input_tokens": 5,
        "output_tokens": 1,
        "total_tokens": 6,
        "input_token_details": {"cache_read": 2},
        "output_token_details": {},
    }


def test_a_fallback_repairs_calls() -> None:
    fallback = ScriptedModel('{"a": 15, "b": 27}')
    model = NaturalChatModel(ScriptedModel("<add>15 and 27</add>", '<add>{"a": 15}</add>'))
    assert model.bind_tools([add]).invoke("Hi").tool_calls == []
    model = NaturalChatModel(ScriptedModel('<add>{"a": 15}</add>'), fallback=fallback)
    assert calls(summed(model.bind_tools([add]).stream("Hi"))) == [("add", {"a": 15, "b": 27})]


# Agents.


@pytest.mark.parametrize("streamed", [False, True])
def test_an_agent_of_langchains_runs_on_a_model_without_function_calling(streamed: bool) -> None:
    with serving(f"Let me see.\n{CALL}", "It is 42.") as endpoint:
        agent = create_agent(natural(endpoint), [add], system_prompt="Be brief.")
        asked = {"messages": [("user", "15 + 27?")]}
        if streamed:
            pieces = list(agent.stream(asked, stream_mode="messages"))
            text = "".join(m.text for m, _ in pieces if isinstance(m, AIMessageChunk))
            assert text == "Let me see.\nIt is 42."
            assert [m.content for m, _ in pieces if isinstance(m, ToolMessage)] == ["42"]
        else:
            messages = asyncio.run(agent.ainvoke(asked))["messages"]
            assert [message.type for message in messages] == ["human", "ai", "tool", "ai"]
            assert messages[-1].content == "It is 42."
        last = endpoint.prompts()[1]
    assert last[0][1].startswith("Be brief.\n\n---\n\n# Tool Calls")
    assert [role for role, _ in last] == ["system", "user", "assistant", "user"]
    assert last[-1] == ("user", '<tool_response name="add">\n42\n</tool_response>')


def test_an_agent_gives_structured_output() -> None:
    with serving('<Person>{"name": "Ann", "age": 7}</Person>') as endpoint:
        agent = create_agent(natural(endpoint), [], response_format=Person)
        result = agent.invoke({"messages": [("user", "Who?")]})
    assert result["structured_response"] == Person(name="Ann", age=7)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_that_violates_its_schema_never_runs_and_the_model_reads_why(streamed: bool) -> None:
    bad = f'{CALL}\n<never>{{"city": 7, "x": []}}</never>\n<never>{{}}</never>'
    with serving(bad, '<never>{"town": "Oslo"}</never>', "I give up.") as endpoint:
        agent = create_agent(
            natural(endpoint, repair="none"), [add, never], middleware=[AnswerInvalidCalls()]
        )
        asked = {"messages": [("user", "Hi")]}
        if streamed:
            for _ in agent.stream(asked, stream_mode="messages"):
                pass
        else:
            messages = agent.invoke(asked)["messages"]
            assert messages[-1].content == "I give up."
            assert [m.status for m in messages if isinstance(m, ToolMessage)] == [
                "error",
                "error",
                "success",
                "error",
            ]
        second, third = endpoint.prompts()[1:]
    assert "42" in second[-1][1]
    assert second[-1][1].count('status="error"') == 2
    assert '"x": []' in second[-2][1]
    assert "/city: missing" in third[-1][1]
    assert '"town": "Oslo"' in third[-2][1]


def test_retries_of_invalid_calls_are_limited() -> None:
    with serving(*["<add>{}</add>"] * 9) as endpoint:
        agent = create_agent(natural(endpoint), [add], middleware=[AnswerInvalidCalls(limit=2)])
        messages = agent.invoke({"messages": [("user", "Hi")]})["messages"]
        assert len(endpoint.requests) == 3
    assert isinstance(messages[-1], AIMessage)
    with pytest.raises(ValueError, match="at least 1"):
        AnswerInvalidCalls(limit=0)


def test_an_agent_that_calls_for_ever_meets_the_limit_of_langgraph() -> None:
    with serving(*[CALL] * 20) as endpoint:
        agent = create_agent(natural(endpoint), [add])
        with pytest.raises(GraphRecursionError):
            agent.invoke({"messages": [("user", "Hi")]}, {"recursion_limit": 5})


def test_an_agent_without_the_middleware_ends_but_reports_errors_together_with_valid_calls() -> (
    None
):
    with serving(f"{CALL}<never>{{}}</never>", "<never>{}</never>") as endpoint:
        agent = create_agent(natural(endpoint), [add, never])
        messages = agent.invoke({"messages": [("user", "Hi")]})["messages"]
        assert len(endpoint.requests) == 2
        assert "/city: missing" in endpoint.prompts()[1][-1][1]
    assert messages[-1].invalid_tool_calls


def test_callbacks_observe_one_run_and_count_its_tokens_once() -> None:
    with serving("Hello", "Hello") as endpoint, get_usage_metadata_callback() as usage:
        natural(endpoint).invoke("Hi")
        list(natural(endpoint).stream("Hi"))
    (counted,) = usage.usage_metadata.values()
    assert counted["total_tokens"] == 2 * 18


# What is not async.

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


def test_context_reaches_a_model_that_is_called_from_sync_code() -> None:
    async def model(_: Any) -> str:
        return variable.get()

    variable.set("set")
    assert NaturalChatModel(model).invoke("Hi").content == "set"
    assert "".join(c.text for c in NaturalChatModel(model).stream("Hi")) == "set"


def test_sync_calls_work_inside_a_running_loop() -> None:
    async def main() -> str:
        return str(NaturalChatModel(ScriptedModel("Hello")).invoke("Hi").content)

    assert asyncio.run(main()) == "Hello"


def test_all_sync_calls_share_one_loop() -> None:
    async def loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    loops = {run(loop())}
    threads = [threading.Thread(target=lambda: loops.add(run(loop()))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loops) == 1


FORK = """
import os
from toolweave.integrations.langchain import NaturalChatModel
from toolweave.testing import ScriptedModel

model = NaturalChatModel(ScriptedModel("parent", "child"))
assert model.invoke("Hi").content == "parent"
if child := os.fork():
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status))
else:
    os._exit(7 if model.invoke("Hi").content == "child" else 1)
"""


def test_a_forked_process_gets_a_loop_of_its_own() -> None:
    # Newer Pythons warn of forks beside threads; that these go well is what this is about.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "7\n"


def test_a_partially_read_stream_is_closed() -> None:
    closed = threading.Event()

    async def numbers() -> AsyncIterator[int]:
        try:
            for number in range(10):
                yield number
            await asyncio.Event().wait()
        finally:
            closed.set()

    streaming = iterate(numbers())
    assert [next(streaming) for _ in range(10)] == list(range(10))
    streaming.close()
    assert closed.wait(5)


def test_an_error_reaches_the_reader_after_what_came_before() -> None:
    async def numbers() -> AsyncIterator[int]:
        yield 1
        raise KeyError("x")

    streaming = iterate(numbers())
    assert next(streaming) == 1
    with pytest.raises(KeyError):
        next(streaming)
