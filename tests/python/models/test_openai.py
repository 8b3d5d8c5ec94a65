"""`OpenAIModel`: the real client over HTTP, with responses and rejections of servers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import openai
import pytest

from servers.dialects import (
    DONE,
    KEEP_ALIVE,
    call,
    delta,
    openai_calls,
    openai_chunk,
    openai_text,
    openai_usage,
)
from servers.model_answers import ask_once, read, run
from servers.sse import Answer, Served, serving
from toolweave import (
    FinishUpdate,
    FunctionContract,
    Joiner,
    ReasoningDelta,
    ReasoningMessage,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallUpdate,
    ToolResult,
    UsageUpdate,
    to_openai,
)
from toolweave.models.openai import OpenAIModel
from toolweave.protocols import ModelOptions

KEY = "sk-very-secret-0123456789"
ADD = FunctionContract("Add", "Adds.", {"type": "object", "properties": {"a": {"type": "number"}}})


def model(url: str, **options: Any) -> OpenAIModel:
    return OpenAIModel("m", base_url=f"{url}/v1", api_key=KEY, max_retries=0, **options)


def updates(*steps: Any, **asked: Any) -> list[Any]:
    came, _ = ask_once(model, *steps, **asked)
    assert came.error is None
    return came.updates


def test_text_is_followed_by_usage_and_the_end() -> None:
    assert updates(*openai_text(["Hel", "lo ", "wörld 🌍", "\n"])) == [
        TextDelta("Hel"),
        TextDelta("lo "),
        TextDelta("wörld 🌍"),
        TextDelta("\n"),
        UsageUpdate(7, 5, 2),
        FinishUpdate("stop"),
    ]


def test_the_request_has_all_options() -> None:
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    options = ModelOptions(
        temperature=0.5,
        top_p=0.9,
        max_tokens=100,
        stop=("<tool_response", "User:"),
        seed=7,
        response_schema=schema,
        tool_choice="Add",
        extra={"extra_body": {"top_k": 3}, "user": "u"},
    )
    _, request = ask_once(
        lambda url: model(url, strict=True, extra={"user": "v", "logprobs": True}),
        *openai_text(["4"]),
        tools=[ADD],
        options=options,
    )
    assert request["path"] == "/v1/chat/completions"
    assert request["headers"]["authorization"] == f"Bearer {KEY}"
    definition = ADD.to_openai()
    definition["function"]["strict"] = True
    assert request["body"] == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [definition],
        "tool_choice": {"type": "function", "function": {"name": "Add"}},
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 100,
        "stop": ["<tool_response", "User:"],
        "seed": 7,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": schema, "strict": True},
        },
        "top_k": 3,
        "user": "u",
        "logprobs": True,
    }


def test_options_that_are_not_set_are_not_sent() -> None:
    _, request = ask_once(model, *openai_text(["4"]), options=ModelOptions(tool_choice="auto"))
    assert set(request["body"]) == {"model", "messages", "stream", "stream_options"}


@pytest.mark.parametrize("send", [False, True])
def test_a_history_is_sent_as_the_api_wants_it(send: bool) -> None:
    sum_up = ToolAggregateMessage([ToolCall("c1", "Add", {"a": 1})], [ToolResult("c1", "Add", "2")])
    messages = [
        TextMessage("Be brief.", role="system"),
        TextMessage("1 + 1?"),
        ReasoningMessage("Hm."),
        sum_up,
    ]
    _, request = ask_once(
        lambda url: model(url, send_reasoning=send), *openai_text(["2"]), messages=messages
    )
    assert request["body"]["messages"] == to_openai(messages, reasoning=send)
    assert ("reasoning_content" in json.dumps(request["body"])) is send


def test_native_calls_arrive_in_fragments_with_ids_and_indices() -> None:
    came = updates(
        *openai_calls([("c1", "Add", ['{"a"', ": 1}"]), ("c2", "Sub", ["{}"])]), tools=[ADD]
    )
    assert came == [
        ToolCallUpdate("c1", 0, "Add", None),
        ToolCallUpdate("c1", 0, None, '{"a"'),
        ToolCallUpdate("c1", 0, None, ": 1}"),
        ToolCallUpdate("c2", 1, "Sub", None),
        ToolCallUpdate("c2", 1, None, "{}"),
        UsageUpdate(7, 5, 2),
        FinishUpdate("tool_calls"),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_content": "Hm."},
        {"reasoning": "Hm."},
        {"reasoning_content": "Hm.", "reasoning": "Hm."},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]},
    ],
)
def test_reasoning_is_read_from_all_field_names(fields: dict[str, Any]) -> None:
    came = updates(delta(**fields), delta(content="So."), delta("stop"), DONE)
    assert came == [ReasoningDelta("Hm."), TextDelta("So."), FinishUpdate("stop")]


def test_a_refusal_and_text_in_parts_are_text() -> None:
    parts = [{"type": "text", "text": "I "}, {"type": "text", "text": "cannot"}]
    assert updates(delta(content=parts), delta(refusal=" do that."), delta("stop"), DONE) == [
        TextDelta("I "),
        TextDelta("cannot"),
        TextDelta(" do that."),
        FinishUpdate("stop"),
    ]


def test_empty_chunks_and_further_choices_are_skipped() -> None:
    other = {"index": 1, "delta": {"content": "Other."}, "finish_reason": "length"}
    came = updates(
        KEEP_ALIVE,
        openai_chunk(prompt_filter_results=[]),
        openai_chunk({"index": 0, "delta": None, "finish_reason": None}),
        delta(role="assistant", content=None),
        openai_chunk({"delta": {"content": "One"}}, other),
        KEEP_ALIVE,
        openai_chunk(other, {"index": 0, "delta": {"content": "."}, "finish_reason": ""}),
        openai_chunk(usage=None),
        delta("stop"),
        openai_chunk(other),
        openai_usage(0, 0),
        DONE,
    )
    assert came == [TextDelta("One"), TextDelta("."), FinishUpdate("stop")]


@pytest.mark.parametrize("end", [[DONE], []])
def test_a_call_that_was_cut_off_without_a_word_is_never_a_whole_one(
    end: list[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    first, *_ = openai_calls([("c1", "Add", [])])
    with caplog.at_level("WARNING", "toolweave.models"):
        came = updates(first, delta(tool_calls=[call(arguments='{"a": 1')]), *end, tools=[ADD])
    assert came[-1] == FinishUpdate("missing")
    assert caplog.messages == ["reply of m ended without a finish reason; it is taken as cut off"]
    joiner = Joiner()
    for update in came:
        joiner.push(update)
    joined = joiner.finish()
    assert joined.messages == ()
    assert [problem.kind for problem in joined.problems] == ["unclosed"]


@pytest.mark.parametrize("name", ["stream_options", "stop", "max_tokens"])
@pytest.mark.parametrize("status", [400, 422])
def test_a_rejected_parameter_is_omitted_from_then_on(
    name: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = {"error": {"message": f"Unsupported parameter: '{name}'", "param": name}}
    options = ModelOptions(stop=("x",), max_tokens=9)

    async def ask(model: OpenAIModel, served: Served) -> None:
        for _ in range(2):
            came = await read(model, options=options)
            assert (came.text, came.error) == ("Hi", None)
        first, second, third = (request["body"] for request in served.requests)
        assert name in first
        assert name not in second
        assert second == third
        assert second.get("max_completion_tokens") == (9 if name == "max_tokens" else None)

    refused = Answer([json.dumps(refusal).encode()], status=status, kind="application/json")
    run(model, [refused, Answer(openai_text(["Hi"]))], ask)
    assert [record.message for record in caplog.records] == [f"m refuses {name}; asked without"]


def test_a_rejection_for_another_reason_is_an_error() -> None:
    refusal = json.dumps({"error": {"message": "'temperature' must be at most 2"}}).encode()

    async def ask(model: OpenAIModel, served: Served) -> None:
        came = await read(model)
        assert came.error is not None
        assert str(came.error).endswith(
            "/chat/completions answered with status 400: 'temperature' must be at most 2"
        )
        assert len(served.requests) == 1

    run(model, [Answer([refusal], status=400, kind="application/json")], ask)


def test_azure_requests_have_deployment_and_version() -> None:
    def azure(url: str) -> OpenAIModel:
        return OpenAIModel("gpt-x", azure_endpoint=url, api_version="2024-10-21", api_key=KEY)

    # The first chunk of Azure has no choices.
    came, request = ask_once(azure, openai_chunk(prompt_filter_results=[]), *openai_text(["Hi"]))
    assert came.text == "Hi"
    assert request["path"] == ("/openai/deployments/gpt-x/chat/completions?api-version=2024-10-21")
    assert request["headers"]["api-key"] == KEY
    assert azure("http://h").provider == "azure.ai.openai"


def test_a_client_that_is_given_is_used_and_stays_open() -> None:
    clients: list[openai.AsyncOpenAI] = []

    def given(url: str) -> OpenAIModel:
        clients.append(openai.AsyncOpenAI(base_url=f"{url}/v2", api_key=KEY))
        return OpenAIModel("m", client=clients[0])

    async def ask(model: OpenAIModel, served: Served) -> None:
        assert (await read(model)).text == "Hi"
        await model.aclose()
        assert (await read(model)).text == "Hi"
        assert [request["path"] for request in served.requests] == ["/v2/chat/completions"] * 2
        await clients[0].close()

    run(given, [Answer(openai_text(["Hi"]))], ask)


def test_one_model_can_be_used_on_one_loop_after_another() -> None:
    first: list[OpenAIModel] = []

    async def ask(port: int) -> int:
        async with serving(Answer(openai_text(["Hi"])), port=port) as served:
            if not first:
                first.append(model(served.url))
            for _ in range(2):
                assert (await read(first[0])).text == "Hi"
            await first[0].aclose()
            return int(served.url.rpartition(":")[2])

    port = asyncio.run(ask(0))
    asyncio.run(ask(port))
    asyncio.run(ask(port))


def test_no_key_is_needed_for_a_self_hosted_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    came, request = ask_once(lambda url: OpenAIModel("m", base_url=url), *openai_text(["Hi"]))
    assert came.text == "Hi"
    assert request["headers"]["authorization"] == "Bearer none"
    with pytest.raises(ValueError, match="OPENAI_API_KEY"):
        OpenAIModel("m")


def test_native_tools_can_be_switched_off() -> None:
    with pytest.raises(ValueError, match=r"OpenAIModel\('m', .*\) does not support native calls"):
        ask_once(lambda url: model(url, native_tools=False), tools=[ADD])


@pytest.mark.parametrize(
    ("tools", "options", "says"),
    [
        ([ADD], ModelOptions(tool_choice="Sub"), r"'required' or a tool \(Add\), got 'Sub'"),
        ([], ModelOptions(tool_choice="required"), "'none' without tools, got 'required'"),
        ([], ModelOptions(extra={"stream": False}), "`extra` must not set 'stream'"),
    ],
)
def test_invalid_options_of_a_request_are_rejected(tools: Any, options: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ask_once(model, tools=tools, options=options)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"api_key": f"{KEY}\n"}, "the API key must be printable ASCII"),
        ({"api_key": ""}, "and not empty"),
        (
            {"base_url": "http://h", "azure_endpoint": "http://h"},
            "base_url must not be combined with azure_endpoint",
        ),
        ({"api_version": "1"}, "api_version requires azure_endpoint"),
        ({"extra": {"messages": []}}, "must not set 'messages'"),
        ({"client": openai.AsyncOpenAI(api_key=KEY), "api_key": KEY}, "combined with api_key"),
    ],
)
def test_invalid_options_of_a_model_are_rejected_at_once(options: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says) as raised:
        OpenAIModel("m", **{"api_key": KEY, **options} if "client" not in options else options)
    assert KEY not in str(raised.value)


def test_a_model_does_not_show_its_key() -> None:
    shown = OpenAIModel("m", base_url="http://user:secret@h/v1", api_key=KEY, name="n")
    assert repr(shown) == "OpenAIModel('m', provider='h')"
    assert (shown.name, shown.provider, shown.native_tools) == ("n", "h", True)


def test_without_the_extra_the_error_says_how_to_get_it() -> None:
    program = (
        "import sys; sys.modules['openai'] = None\n"
        "from toolweave.models.openai import OpenAIModel\n"
        "try: OpenAIModel('m')\n"
        "except ImportError as err: print(err)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "the package openai is not installed; pip install 'toolweave[openai]'\n"
