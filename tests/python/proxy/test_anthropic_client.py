"""Agent loops of the `anthropic` client through the proxy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anthropic
import pytest

from openai_endpoint import Reply

if TYPE_CHECKING:
    from .conftest import Serve

KEY = "unused"
TOOLS: Any = [
    {
        "name": "add",
        "description": "Add two numbers.",
        "input_schema": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    }
]
CALL = "<add>{'a': 2, b: \"3\"}</add>"
"""A call that needs repairs."""


def client_of(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key=KEY, max_retries=0)


def ask(client: anthropic.Anthropic, *, stream: bool, **request: Any) -> anthropic.types.Message:
    asked: Any = {"model": "acme", "max_tokens": 100, "tools": TOOLS, **request}
    if not stream:
        return client.messages.create(**asked)
    with client.messages.stream(**asked) as events:
        return events.get_final_message()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", ["natural", "recover", None])
def test_a_loop_runs_to_its_answer(serve: Serve, mode: str | None, stream: bool) -> None:
    url, endpoint = serve(f"I will add.\n{CALL}", "It is 5.", mode=mode)
    messages: list[Any] = [{"role": "user", "content": "What is 2 + 3?"}]
    with client_of(url) as client:
        first = ask(client, stream=stream, messages=messages, system="Be brief.")
        assert first.stop_reason == "tool_use"
        assert [block.type for block in first.content] == ["text", "tool_use"]
        call = first.content[1]
        assert call.type == "tool_use"
        assert (call.name, call.input) == ("add", {"a": 2, "b": 3})
        assert (first.usage.input_tokens, first.usage.output_tokens) == (11, 7)
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "5"}
        messages += [
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": [result]},
        ]
        last = ask(client, stream=stream, messages=messages, system="Be brief.")
    assert last.stop_reason == "end_turn"
    assert [block.text for block in last.content if block.type == "text"] == ["It is 5."]
    sent = endpoint.requests[1]["messages"]
    roles = [message["role"] for message in sent]
    if mode == "natural":
        assert roles == ["system", "user", "assistant", "user"]
        assert sent[0]["content"].startswith("Be brief.")
    else:
        assert roles == ["system", "user", "assistant", "tool"]
        assert sent[3] == {"role": "tool", "tool_call_id": call.id, "content": "5"}


def test_thinking_comes_before_the_text(serve: Serve) -> None:
    url, _ = serve(Reply([{"reasoning_content": "Hm."}, {"content": "Hi."}]))
    messages: Any = [{"role": "user", "content": "Hi"}]
    with client_of(url) as client:
        reply = ask(client, stream=True, messages=messages)
    assert [block.type for block in reply.content] == ["thinking", "text"]


def test_a_conversation_without_tools_is_answered(serve: Serve) -> None:
    url, _ = serve("Hello.", "Hello.")
    messages: Any = [{"role": "user", "content": "Hi"}]
    with client_of(url) as client:
        for stream in (False, True):
            reply = ask(client, stream=stream, messages=messages, tools=[])
            assert reply.content[0].to_dict() == {"type": "text", "text": "Hello."}


def test_errors_are_those_of_the_api(serve: Serve) -> None:
    url, endpoint = serve(Reply(status=400), Reply(["one"], finish=None, drop=True))
    messages: Any = [{"role": "user", "content": "Hi"}]
    with client_of(url) as client:
        with pytest.raises(anthropic.BadRequestError, match="out of order"):
            ask(client, stream=False, messages=messages)
        with pytest.raises(anthropic.APIError, match=r"after .* bytes of the reply"):
            ask(client, stream=True, messages=messages)
        with pytest.raises(anthropic.BadRequestError, match=r"tools\[0\].type"):
            ask(
                client,
                stream=False,
                messages=messages,
                tools=[{"type": "web_search_20250305", "name": "web_search"}],
            )
        with pytest.raises(anthropic.NotFoundError, match="/v1/messages/count_tokens"):
            client.messages.count_tokens(model="acme", messages=messages)
    assert len(endpoint.requests) == 2
