"""`AnthropicModel`: the real client over HTTP, with the responses of its API."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import anthropic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers.dialects import (
    KEEP_ALIVE,
    anthropic_block,
    anthropic_calls,
    anthropic_end,
    anthropic_event,
    anthropic_start,
    anthropic_text,
)
from servers.model_answers import ask_once, read, run
from servers.sse import Answer, Served
from toolweave import (
    FinishReason,
    FinishUpdate,
    FunctionContract,
    ReasoningDelta,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallUpdate,
    ToolResult,
    UsageUpdate,
    to_anthropic,
)
from toolweave.models.anthropic import AnthropicModel, EventReader
from toolweave.protocols import ModelOptions

KEY = "sk-ant-very-secret-0123456789"
ADD = FunctionContract("Add", "Adds.", {"type": "object", "properties": {"a": {"type": "number"}}})
NOW = FunctionContract("Now")


def model(url: str, **options: Any) -> AnthropicModel:
    return AnthropicModel("m", base_url=url, api_key=KEY, max_retries=0, **options)


def updates(*steps: Any, **asked: Any) -> list[Any]:
    came, _ = ask_once(model, *steps, **asked)
    assert came.error is None
    return came.updates


def test_text_arrives_unchanged_with_usage_and_the_end_last() -> None:
    ping = anthropic_event("ping")
    start, *rest = anthropic_text(["Hel", "lo ", "wörld 🌍", "\n"])
    assert updates(start, ping, KEEP_ALIVE, *rest) == [
        UsageUpdate(7, 1, 2),
        TextDelta("Hel"),
        TextDelta("lo "),
        TextDelta("wörld 🌍"),
        TextDelta("\n"),
        UsageUpdate(7, 5, 2),
        FinishUpdate("stop"),
    ]


def test_thinking_is_reasoning_and_its_signature_is_left_out() -> None:
    thinking = [
        {"type": "thinking_delta", "thinking": "Hm."},
        {"type": "signature_delta", "signature": "xyz"},
    ]
    came = updates(
        anthropic_start(),
        *anthropic_block(0, {"type": "thinking", "thinking": "", "signature": ""}, thinking),
        *anthropic_block(1, {"type": "redacted_thinking", "data": "xyz"}, []),
        *anthropic_block(2, {"type": "text", "text": "So"}, [{"type": "text_delta", "text": "."}]),
        *anthropic_end("end_turn", 1),
    )
    assert came[1:] == [
        ReasoningDelta("Hm."),
        TextDelta("So"),
        TextDelta("."),
        FinishUpdate("stop"),
    ]


def test_native_calls_arrive_in_fragments_with_ids_and_indices() -> None:
    came = updates(
        *anthropic_calls([("c1", "Add", ['{"a"', ": 1}"]), ("c2", "Now", [])]), tools=[ADD, NOW]
    )
    assert came[1:] == [
        ToolCallUpdate("c1", 0, "Add", None),
        ToolCallUpdate("c1", 0, None, '{"a"'),
        ToolCallUpdate("c1", 0, None, ": 1}"),
        ToolCallUpdate("c2", 1, "Now", None),
        UsageUpdate(7, 5, 2),
        FinishUpdate("tool_calls"),
    ]


def test_a_call_may_come_whole_and_tools_of_the_provider_are_passed_over() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    query = {"type": "input_json_delta", "partial_json": '{"query": "x"}'}
    whole = {"type": "tool_use", "id": "c1", "name": "Add", "input": {"a": 1}}
    came = updates(
        anthropic_start(),
        *anthropic_block(0, search, [query]),
        *anthropic_block(1, whole, []),
        *anthropic_end("tool_use", 1),
    )
    assert came[1:] == [ToolCallUpdate("c1", 0, "Add", '{"a": 1}'), FinishUpdate("tool_calls")]


@pytest.mark.parametrize(
    ("stop_reason", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "content_filter"),
        ("pause_turn", "missing"),
        (None, "missing"),
    ],
)
def test_finish_reasons_of_providers_are_mapped(stop_reason: str | None, reason: str) -> None:
    reader = EventReader()
    list(reader.push({"type": "message_delta", "delta": {"stop_reason": stop_reason}}))
    assert reader.finish() == FinishUpdate(reason)


def test_a_stream_that_just_ends_is_taken_as_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    came = updates(*anthropic_text(["Well"])[:3])
    assert came[1:] == [TextDelta("Well"), FinishUpdate("missing")]
    assert "reply of m ended without a finish reason; it is taken as cut off" in caplog.text


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
        extra={"extra_body": {"more": 3}, "metadata": {"user_id": "u"}},
    )
    _, request = ask_once(
        lambda url: model(url, strict=True, extra={"service_tier": "auto"}),
        *anthropic_text(["4"]),
        tools=[ADD, NOW],
        options=options,
    )
    assert request["path"] == "/v1/messages"
    assert any(KEY in value for value in request["headers"].values())
    assert request["body"] == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "max_tokens": 100,
        "tools": [
            {
                "name": "Add",
                "description": "Adds.",
                "input_schema": ADD.parameters,
                "strict": True,
            },
            {"name": "Now", "input_schema": {"type": "object"}, "strict": True},
        ],
        "tool_choice": {"type": "tool", "name": "Add"},
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["<tool_response", "User:"],
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
        "more": 3,
        "metadata": {"user_id": "u"},
        "service_tier": "auto",
    }


@pytest.mark.parametrize(
    ("choice", "sent"), [("auto", "auto"), ("none", "none"), ("required", "any")]
)
def test_the_tool_choice_is_mapped_to_the_form_of_the_api(choice: str, sent: str) -> None:
    options = ModelOptions(tool_choice=choice)
    _, request = ask_once(model, *anthropic_text(["4"]), tools=[ADD], options=options)
    assert request["body"]["tool_choice"] == {"type": sent}


def test_options_that_are_not_set_are_not_sent_except_the_limit() -> None:
    _, request = ask_once(model, *anthropic_text(["4"]), options=ModelOptions(tool_choice="auto"))
    assert set(request["body"]) == {"model", "messages", "stream", "max_tokens"}
    assert request["body"]["max_tokens"] == 4096


def test_a_history_is_sent_as_the_api_wants_it() -> None:
    sum_up = ToolAggregateMessage([ToolCall("c1", "Add", {"a": 1})], [ToolResult("c1", "Add", "2")])
    messages = [TextMessage("Be brief.", role="system"), TextMessage("1 + 1?"), sum_up]
    _, request = ask_once(model, *anthropic_text(["2"]), messages=messages)
    assert (request["body"]["system"], request["body"]["messages"]) == to_anthropic(messages)


@pytest.mark.parametrize(
    ("kind", "status"), [("overloaded_error", 529), ("rate_limit_error", 429), ("odd_error", None)]
)
def test_an_error_within_the_stream_has_the_status_that_it_stands_for(
    kind: str, status: int | None
) -> None:
    error = anthropic_event("error", error={"type": kind, "message": "Too much."})
    came, _ = ask_once(model, *anthropic_text(["Well"])[:3], error)
    assert came.text == "Well"
    assert came.error is not None
    assert (came.error.provider, came.error.status) == ("anthropic", status)
    assert str(came.error).endswith("Too much.")
    assert isinstance(came.error.__cause__, anthropic.APIStatusError)


KINDS = ["message_start", "content_block_start", "content_block_delta", "message_delta"]
KEYS = """
index message usage content_block delta text thinking id partial_json input input_tokens
output_tokens stop_reason name
"""
json_values = st.recursive(
    st.none() | st.integers(-3, 3) | st.text("ab", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(sorted(KEYS.split())), inner, max_size=4)
    ),
    max_leaves=10,
)
events = st.builds(
    lambda kind, fields: {**fields, "type": kind},
    st.sampled_from(KINDS),
    st.dictionaries(st.sampled_from(["index", "message", "delta", "usage"]), json_values),
)


@given(st.lists(events | json_values, max_size=5))
def test_whatever_a_server_sends_the_reader_ends_with_one_reason(sent: list[Any]) -> None:
    reader = EventReader()
    came = [update for event in sent for update in reader.push(event)]
    assert not any(isinstance(update, FinishUpdate) for update in came)
    assert isinstance(reader.finish().reason, FinishReason)


def test_a_client_that_is_given_is_used_and_stays_open() -> None:
    clients: list[anthropic.AsyncAnthropic] = []

    def given_client(url: str) -> AnthropicModel:
        clients.append(anthropic.AsyncAnthropic(base_url=f"{url}/x", api_key=KEY))
        return AnthropicModel("m", client=clients[0])

    async def ask(model: AnthropicModel, served: Served) -> None:
        for _ in range(2):
            assert (await read(model)).text == "Hi"
            await model.aclose()
        assert [request["path"] for request in served.requests] == ["/x/v1/messages"] * 2
        await clients[0].close()

    run(given_client, [Answer(anthropic_text(["Hi"]))], ask)


def test_no_key_is_needed_for_a_self_hosted_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    came, _ = ask_once(lambda url: AnthropicModel("m", base_url=url), *anthropic_text(["Hi"]))
    assert came.text == "Hi"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"api_key": f"{KEY}\n"}, "the API key must be printable ASCII"),
        ({"extra": {"messages": []}}, "must not set 'messages'"),
        (
            {"client": anthropic.AsyncAnthropic(api_key=KEY), "timeout": 3.0},
            "combined with timeout",
        ),
    ],
)
def test_invalid_options_of_a_model_are_rejected_at_once(options: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says) as raised:
        AnthropicModel("m", **options)
    assert KEY not in str(raised.value)


def test_native_tools_can_be_switched_off() -> None:
    with pytest.raises(
        ValueError, match=r"AnthropicModel\('m', .*\) does not support native calls"
    ):
        ask_once(lambda url: model(url, native_tools=False), tools=[ADD])


def test_without_the_extra_the_error_says_how_to_get_it() -> None:
    program = (
        "import sys; sys.modules['anthropic'] = None\n"
        "from toolweave.models.anthropic import AnthropicModel\n"
        "try: AnthropicModel('m')\n"
        "except ImportError as err: print(err)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "pip install 'toolweave[anthropic]'" in done.stdout
