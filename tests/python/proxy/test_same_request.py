"""Equal conversations reach the upstream in equal requests, whichever API they come through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai

from . import test_anthropic_client, test_responses
from .test_openai_client import KEY, TOOLS

if TYPE_CHECKING:
    from .conftest import Serve

QUESTION: Any = {"role": "user", "content": "What is 2 + 3?"}
OPTIONS: Any = {"model": "acme", "stream": False}


def chat(url: str) -> None:
    """Run a loop of one call over chat completions."""
    messages = [QUESTION]
    options: Any = {**OPTIONS, "tools": TOOLS, "max_tokens": 100}
    with openai.OpenAI(base_url=url, api_key=KEY) as client:
        ask = client.chat.completions.create
        reply = ask(messages=messages, tool_choice="required", **options).choices[0].message
        result = {"role": "tool", "tool_call_id": reply.tool_calls[0].id, "content": "5"}
        ask(messages=[*messages, reply.to_dict(), result], **options)


def responses(url: str) -> None:
    """Run the same loop over responses."""
    options: Any = {**OPTIONS, "tools": test_responses.TOOLS, "max_output_tokens": 100}
    with openai.OpenAI(base_url=url, api_key=KEY) as client:
        ask: Any = client.responses.create
        output = ask(input=[QUESTION], tool_choice="required", **options).output
        result = {"type": "function_call_output", "call_id": output[-1].call_id, "output": "5"}
        ask(input=[QUESTION, *(item.to_dict() for item in output), result], **options)


def messages(url: str) -> None:
    """Run the same loop over messages."""
    options: Any = {**OPTIONS, "tools": test_anthropic_client.TOOLS, "max_tokens": 100}
    with test_anthropic_client.client_of(url) as client:
        ask: Any = client.messages.create
        content = ask(messages=[QUESTION], tool_choice={"type": "any"}, **options).content
        result = {"type": "tool_result", "tool_use_id": content[-1].id, "content": "5"}
        turns = [
            QUESTION,
            {"role": "assistant", "content": content},
            {"role": "user", "content": [result]},
        ]
        ask(messages=turns, **options)


def test_the_apis_ask_alike(serve: Serve) -> None:
    asked = []
    for run in (chat, responses, messages):
        url, endpoint = serve(
            f"I will add.\n{test_anthropic_client.CALL}", "It is 5.", mode="natural"
        )
        run(url)
        asked.append(endpoint.requests)
    first, *others = asked
    assert len(first) == 2
    assert others == [first, first]
