"""Agent loops of the `openai` client through the proxy."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import openai
import pytest

from openai_endpoint import Reply

if TYPE_CHECKING:
    from .conftest import Serve

KEY = "unused"
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add two numbers.",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a", "b"],
            },
        },
    }
]
CALL = "<add>{'a': 2, b: \"3\"}</add>"
"""A call that needs repairs."""


def run_loop(client: openai.OpenAI, *, stream: bool, **more: Any) -> tuple[str, list[Any]]:
    """Ask until a reply has no calls; return its text and the conversation."""
    messages: list[Any] = [{"role": "user", "content": "What is 2 + 3?"}]
    for _ in range(5):
        request: Any = {"model": "acme", "messages": messages, "tools": TOOLS, **more}
        if stream:
            with client.chat.completions.stream(**request) as events:
                message = events.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(**request).choices[0].message
        if not message.tool_calls:
            return message.content or "", messages
        messages.append(message.to_dict())
        for call in message.tool_calls:
            assert call.type == "function"
            given = json.loads(call.function.arguments)
            result = str(given["a"] + given["b"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    raise AssertionError("the loop did not end")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", ["natural", "recover", None])
def test_a_loop_runs_to_its_answer(serve: Serve, mode: str | None, stream: bool) -> None:
    url, endpoint = serve(f"I will add.\n{CALL}", "It is 5.", mode=mode)
    with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
        text, messages = run_loop(client, stream=stream)
    assert text == "It is 5."
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert messages[2]["content"] == "5"
    first, second = endpoint.requests
    if mode == "natural":
        assert "tools" not in first
        assert [message["role"] for message in second["messages"]] == [
            "system",
            "user",
            "assistant",
            "user",
        ]
        assert "5" in second["messages"][3]["content"]
    else:
        assert first["tools"] == TOOLS
        assert second["messages"] == messages


def test_reasoning_and_usage_arrive(serve: Serve) -> None:
    url, _ = serve(Reply([{"reasoning_content": "Hm."}, {"content": "Hi."}]))
    with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
        chunks = list(
            client.chat.completions.create(
                model="acme",
                messages=[{"role": "user", "content": "Hi"}],
                tools=TOOLS,
                stream=True,
                stream_options={"include_usage": True},
            )
        )
    deltas = [chunk.choices[0].delta.to_dict() for chunk in chunks if chunk.choices]
    assert deltas[1] == {"reasoning_content": "Hm."}
    assert deltas[2] == {"content": "Hi."}
    usage = chunks[-1].usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (11, 7)


def test_errors_are_those_of_the_api(serve: Serve) -> None:
    url, endpoint = serve(Reply(status=400), Reply(["one"], finish=None, drop=True))
    with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
        ask: Any = lambda **more: client.chat.completions.create(  # noqa: E731
            model="acme",
            messages=[{"role": "user", "content": "Hi"}],
            **{"tools": TOOLS, **more},
        )
        with pytest.raises(openai.BadRequestError, match="out of order"):
            ask()
        with pytest.raises(openai.APIError, match=r"after .* bytes of the reply"):
            list(ask(stream=True))
        with pytest.raises(openai.BadRequestError) as caught:
            ask(tools=[{"type": "custom", "custom": {"name": "x"}}])
        assert caught.value.param == "tools[0].type"
        with pytest.raises(openai.NotFoundError, match="--pass"):
            client.embeddings.create(model="acme", input="x")
    assert len(endpoint.requests) == 2


def test_a_key_is_required_if_there_is_one(serve: Serve) -> None:
    url, endpoint = serve("Hi.", "Hi.", api_key="tw-client", upstream_key="sk-upstream")
    ask: Any = {"model": "acme", "messages": [{"role": "user", "content": "Hi"}]}
    with openai.OpenAI(base_url=url, api_key="wrong", max_retries=0) as client:
        with pytest.raises(openai.AuthenticationError):
            client.chat.completions.create(**ask)
        assert not endpoint.requests
        known = client.with_options(api_key="tw-client")
        assert known.chat.completions.create(**ask).choices[0].message.content == "Hi."


def test_many_clients_are_served_at_once(serve: Serve) -> None:
    count = 50
    url, _ = serve(*[f"Sure. {CALL}"] * count)

    async def main() -> list[Any]:
        async with openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
            ask = client.chat.completions.create
            messages: Any = [{"role": "user", "content": "2 + 3"}]
            requests = (ask(model="acme", messages=messages, tools=TOOLS) for _ in range(count))
            return await asyncio.gather(*requests)

    replies = asyncio.run(main())
    calls = [reply.choices[0].message.tool_calls[0] for reply in replies]
    assert {call.function.arguments for call in calls} == {'{"a":2,"b":3}'}
    assert len({call.id for call in calls}) == count
