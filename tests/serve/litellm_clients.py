"""Clients of LiteLLM, in whose environment no other framework is."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from loops import KEY, MODEL, QUESTION, Outcome, Tools

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "true"  # its import would ask GitHub for prices

import litellm

if TYPE_CHECKING:
    from loops import Run

PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
FUNCTIONS: Any = [
    {"name": "add", "description": "Add two numbers.", "parameters": PARAMETERS},
    {"name": "multiply", "description": "Multiply two numbers.", "parameters": PARAMETERS},
]
MAX_REQUESTS = 5


def completion(model: str, path: str = "") -> Run:
    """Run a loop of `litellm.completion` against a provider's API."""
    definitions: Any = [{"type": "function", "function": function} for function in FUNCTIONS]

    def run(url: str, stream: bool) -> Outcome:
        tools = Tools()
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        for _ in range(MAX_REQUESTS):
            reply: Any = litellm.completion(
                model=model,
                api_base=url.removesuffix("/v1") + path,
                api_key=KEY,
                messages=messages,
                tools=definitions,
                stream=stream,
                max_retries=0,
            )
            if stream:
                reply = litellm.stream_chunk_builder(list(reply), messages=messages)
            message = reply.choices[0].message
            if not message.tool_calls:
                return message.content, tools.calls
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls:
                result = getattr(tools, call.function.name)(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        raise AssertionError("the loop did not end")

    return run


def responses(url: str, stream: bool) -> Outcome:
    """Run a loop of `litellm.responses`."""
    tools = Tools()
    definitions: Any = [{"type": "function", **function} for function in FUNCTIONS]
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    for _ in range(MAX_REQUESTS):
        reply: Any = litellm.responses(
            model=f"openai/{MODEL}",
            api_base=url,
            api_key=KEY,
            input=items,
            tools=definitions,
            stream=stream,
        )
        if stream:
            reply = list(reply)[-1].response
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return reply.output_text, tools.calls
        items += [item.model_dump(exclude_none=True) for item in reply.output]
        for call in calls:
            result = getattr(tools, call.name)(**json.loads(call.arguments))
            items.append(
                {"type": "function_call_output", "call_id": call.call_id, "output": result}
            )
    raise AssertionError("the loop did not end")


CLIENTS: dict[str, Run] = {
    "completion openai": completion(f"openai/{MODEL}", "/v1"),
    "completion anthropic": completion(f"anthropic/{MODEL}"),
    "responses": responses,
}
