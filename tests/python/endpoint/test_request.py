"""Requests of `HttpModel`, and invalid options."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import toolweave
from servers.adapters import KEY
from servers.dialects import openai_text
from servers.http_models import ask, model
from servers.model_answers import HI, read
from servers.raw import Request, raw_server
from servers.scripts import document, events, refusal
from toolweave import (
    FunctionContract,
    Message,
    ReasoningMessage,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolResult,
    to_openai,
)
from toolweave.models import as_model
from toolweave.models.http import HttpModel
from toolweave.protocols import ModelOptions

ADD = FunctionContract("Add", "Adds.", {"type": "object", "properties": {"a": {"type": "number"}}})
WHOLE = events(*openai_text(["Hi"]))


def request(*, asked: Any = None, messages: Any = HI, **options: Any) -> Request:
    """Return the request of a model."""
    came, server = ask(WHOLE, asked=asked, messages=messages, **options)
    assert (came.text, came.error) == ("Hi", None)
    (one,) = server.requests
    return one


def test_it_is_exported_by_the_package_and_is_a_model() -> None:
    assert toolweave.HttpModel is HttpModel
    one = HttpModel("http://h/v1", "m", KEY)
    assert as_model(one) is one
    assert (one.name, one.native_tools) == ("m", True)
    other = HttpModel("http://h/v1", "m", KEY, name="n", provider="acme", native_tools=False)
    assert (other.name, other.provider, other.native_tools) == ("n", "acme", False)


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
        extra={"top_k": 3, "user": "u"},
    )
    asked = request(
        asked={"tools": [ADD], "options": options},
        strict=True,
        extra={"user": "v", "logprobs": True},
    )
    assert (asked.method, asked.target) == ("POST", "/v1/chat/completions")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["content-type"] == "application/json"
    assert "text/event-stream" in asked.headers["accept"]
    assert asked.headers["user-agent"].startswith("toolweave/")
    definition = ADD.to_openai()
    definition["function"]["strict"] = True
    assert asked.json == {
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
    asked = request(asked={"options": ModelOptions(tool_choice="auto")})
    assert set(asked.json) == {"model", "messages", "stream", "stream_options"}


def test_without_streaming_a_document_is_asked_for() -> None:
    choice = {"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}
    came, server = ask(document({"choices": [choice]}), streaming=False)
    assert (came.text, came.error) == ("Hi", None)
    body = server.requests[0].json
    assert not body.get("stream", False)
    assert "stream_options" not in body


@pytest.mark.parametrize("send", [False, True])
def test_a_history_is_sent_as_the_api_wants_it(send: bool) -> None:
    sum_up = ToolAggregateMessage([ToolCall("c1", "Add", {"a": 1})], [ToolResult("c1", "Add", "2")])
    messages: list[Message] = [
        TextMessage("Be brief. \u2028 Ünïcode 🌍 \"'\\ \0", role="system"),
        TextMessage("1 + 1?"),
        ReasoningMessage("Hm."),
        sum_up,
    ]
    asked = request(messages=messages, send_reasoning=send)
    assert asked.json["messages"] == to_openai(messages, reasoning=send)
    assert ("reasoning_content" in json.dumps(asked.json)) is send


def test_custom_headers_are_sent_and_may_replace_all_but_that_of_the_key() -> None:
    asked = request(headers={"X-Title": "toolweave", "User-Agent": "mine"})
    assert asked.headers["x-title"] == "toolweave"
    assert asked.headers["user-agent"] == "mine"
    assert sum(name.lower() == "user-agent" for name, _ in asked.fields) == 1


def test_without_a_key_there_is_no_header_for_it() -> None:
    assert "authorization" not in request(key=None).headers


def test_a_key_function_is_called_for_each_request() -> None:
    keys = iter(["sk-first", "sk-second", "sk-third"])

    async def main(url: str) -> None:
        async with model(url, key=lambda: next(keys)) as one:
            for _ in range(3):
                assert (await read(one)).error is None

    with raw_server(WHOLE) as server:
        asyncio.run(main(server.url))
    sent = [one.headers["authorization"] for one in server.requests]
    assert sent == ["Bearer sk-first", "Bearer sk-second", "Bearer sk-third"]


@pytest.mark.parametrize("bad", ["", "sk\n", 7])
def test_a_function_that_returns_an_invalid_key_gets_an_error(bad: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="key") as raised:
        ask(WHOLE, key=lambda: bad)
    assert "sk\n" not in str(raised.value)


def test_an_exception_of_the_key_function_reaches_the_caller() -> None:
    def key() -> str:
        raise LookupError("the vault is closed")

    with pytest.raises(LookupError, match="the vault is closed"):
        ask(WHOLE, key=key)


@pytest.mark.parametrize(
    ("base", "target"),
    [
        ("", "/chat/completions"),
        ("/", "/chat/completions"),
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/api/openai/v1", "/api/openai/v1/chat/completions"),
        ("/v1?team=7", "/v1/chat/completions?team=7"),
        ("/a%20b", "/a%20b/chat/completions"),
    ],
)
def test_the_path_is_added_to_that_of_the_base_url(base: str, target: str) -> None:
    def make(url: str) -> HttpModel:
        return HttpModel(f"{url}{base}", "m", KEY, max_retries=0, proxy=None)

    _, server = ask(WHOLE, make=make)
    assert server.requests[0].target == target


@pytest.mark.parametrize("base", ["", "/", "/gate", "/gate/?x=1"])
def test_azure_requests_have_deployment_version_and_a_different_header(base: str) -> None:
    def make(url: str) -> HttpModel:
        azure = f"{url}{base}"
        return HttpModel(azure, "gpt x", KEY, api_version="2024-10-21", max_retries=0, proxy=None)

    came, server = ask(WHOLE, make=make)
    assert came.text == "Hi"
    (asked,) = server.requests
    path, _, query = asked.target.partition("?")
    prefix = base.partition("?")[0].rstrip("/")
    assert path == f"{prefix}/openai/deployments/gpt%20x/chat/completions"
    assert query.split("&")[-1] == "api-version=2024-10-21"
    assert asked.headers["api-key"] == KEY
    assert "authorization" not in asked.headers


def test_a_user_in_the_url_is_sent_as_http_wants_it_and_shown_nowhere() -> None:
    def make(url: str) -> HttpModel:
        one = HttpModel(url.replace("//", "//ann:s%20cret@"), "m", max_retries=0, proxy=None)
        assert "cret" not in repr(one)
        return one

    came, server = ask(refusal(401), make=make)
    assert server.requests[0].headers["authorization"] == "Basic YW5uOnMgY3JldA=="
    assert "cret" not in str(came.error)


@pytest.mark.parametrize(
    "base",
    [
        "",
        "h/v1",
        "ftp://h/v1",
        "file:///etc/passwd",
        "http://",
        "http:///v1",
        "http://h:99999/v1",
        f"http://u:{KEY}@ h/v1",
        f"http://h/{KEY}\n",
        f"{KEY}://h",
    ],
)
def test_an_invalid_url_is_rejected_at_once(base: str) -> None:
    with pytest.raises(ValueError, match="base_url") as raised:
        HttpModel(base, "m", KEY)
    assert KEY not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "kind", "says"),
    [
        ({"api_key": f"{KEY}\n"}, ValueError, "key"),
        ({"api_key": ""}, ValueError, "key"),
        ({"api_key": 7}, TypeError, "key"),
        ({"model": ""}, ValueError, "model"),
        ({"model": 7}, TypeError, "model"),
        ({"headers": {"X-A": "a\r\nX-B: b"}}, ValueError, "X-A"),
        ({"headers": {"X A": "a"}}, ValueError, "X A"),
        ({"headers": {"X-A": 7}}, TypeError, "X-A"),
        ({"extra": {"messages": []}}, ValueError, "must not set 'messages'"),
        ({"extra": {"stream": False}}, ValueError, "must not set 'stream'"),
        ({"extra": {"x": object()}}, TypeError, "x|JSON|object"),
        ({"max_retries": -1}, ValueError, "max_retries"),
        ({"max_retries": 1.5}, TypeError, "max_retries|integer"),
        ({"connect_timeout": 0}, ValueError, "connect_timeout"),
        ({"first_byte_timeout": -1.0}, ValueError, "first_byte_timeout"),
        ({"idle_timeout": float("nan")}, ValueError, "idle_timeout"),
        ({"timeout": "5"}, TypeError, "timeout|number"),
        ({"http_version": "3"}, ValueError, "http_version"),
        ({"proxy": "nonsense://h"}, ValueError, "proxy"),
        ({"roots": b"no certificate"}, ValueError, "certificate"),
        ({"roots": "/no/such/file.pem"}, (ValueError, OSError), "no/such"),
        ({"api_version": ""}, ValueError, "api_version"),
    ],
)
def test_invalid_options_of_a_model_are_rejected_at_once(
    options: Any, kind: Any, says: str
) -> None:
    given = {"base_url": "http://h/v1", "model": "m", "api_key": KEY, **options}
    with pytest.raises(kind, match=says) as raised:
        HttpModel(given.pop("base_url"), given.pop("model"), given.pop("api_key"), **given)
    assert KEY not in str(raised.value)


def test_a_header_that_is_not_taken_does_not_show_its_value() -> None:
    with pytest.raises(ValueError, match="X-Secret") as raised:
        HttpModel("http://h/v1", "m", headers={"X-Secret": f"{KEY}\n"})
    assert KEY not in str(raised.value)


def test_options_are_given_by_name() -> None:
    with pytest.raises(TypeError, match="positional"):
        HttpModel("http://h/v1", "m", KEY, "2024-10-21")  # type: ignore[call-arg]


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
        ask(WHOLE, asked={"tools": tools, "options": options})


def test_native_tools_can_be_switched_off() -> None:
    with pytest.raises(ValueError, match=r"does not support native calls"):
        ask(WHOLE, asked={"tools": [ADD]}, native_tools=False)


def test_a_model_does_not_show_its_keys() -> None:
    one = HttpModel(
        "http://user:secret@h/v1?token=secret",
        "m",
        KEY,
        headers={"X-Secret": "secret"},
        proxy="http://user:secret@p:1",
    )
    for shown in (repr(one), str(one)):
        assert KEY not in shown
        assert "secret" not in shown.lower()


@pytest.mark.parametrize("name", ["stream_options", "stop", "max_tokens"])
@pytest.mark.parametrize("status", [400, 422])
def test_a_rejected_parameter_is_omitted_from_then_on(
    name: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    options = ModelOptions(stop=("x",), max_tokens=9)

    async def main(url: str) -> None:
        async with model(url) as one:
            for _ in range(2):
                came = await read(one, options=options)
                assert (came.text, came.error) == ("Hi", None)

    refused = refusal(status, f"Unsupported parameter: '{name}'", param=name)
    with raw_server(refused, WHOLE) as server:
        asyncio.run(main(server.url))
    first, second, third = (request.json for request in server.requests)
    assert name in first
    assert name not in second
    assert second == third
    assert second.get("max_completion_tokens") == (9 if name == "max_tokens" else None)
    messages = [one.message for one in caplog.records if one.name.startswith("toolweave")]
    assert messages == [f"m refuses {name}; asked without"]


def test_several_parameters_can_be_rejected_one_after_the_other() -> None:
    options = ModelOptions(stop=("x",), max_tokens=9)
    names = ["stop", "max_tokens", "stream_options"]
    refused = [refusal(400, f"{name} is not known") for name in names]
    came, server = ask(*refused, WHOLE, asked={"options": options})
    assert came.text == "Hi"
    assert not any(name in server.requests[-1].json for name in names)


def test_a_parameter_that_is_rejected_repeatedly_is_an_error() -> None:
    came, server = ask(
        refusal(400, "stop is not known"), asked={"options": ModelOptions(stop=("x",))}
    )
    assert came.error is not None
    assert came.error.status == 400
    assert len(server.requests) == 2
