"""Agent loops of the `openai` client through the proxy, with its responses API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import openai
import pytest

from openai_endpoint import Reply

if TYPE_CHECKING:
    from openai.types.responses import Response

    from .conftest import Serve

KEY = "unused"
TOOLS: Any = [
    {
        "type": "function",
        "name": "add",
        "description": "Add two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
        "strict": False,
    }
]
CALL = "<add>{'a': 2, b: \"3\"}</add>"
"""A call that needs repairs."""


def ask(client: openai.OpenAI, *, stream: bool, **request: Any) -> Response:
    asked: Any = {"model": "acme", "tools": TOOLS, **request}
    if not stream:
        return client.responses.create(**asked)
    with client.responses.stream(**asked) as events:
        return events.get_final_response()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", ["natural", "recover", None])
def test_a_loop_runs_to_its_answer(serve: Serve, mode: str | None, stream: bool) -> None:
    url, endpoint = serve(f"I will add.\n{CALL}", "It is 5.", mode=mode)
    items: list[Any] = [{"role": "user", "content": "What is 2 + 3?"}]
    with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
        first = ask(client, stream=stream, input=items, instructions="Be brief.")
        assert first.status == "completed"
        assert [item.type for item in first.output] == ["message", "function_call"]
        call = first.output[1]
        assert call.type == "function_call"
        assert json.loads(call.arguments) == {"a": 2, "b": 3}
        items += [item.to_dict() for item in first.output]
        items.append({"type": "function_call_output", "call_id": call.call_id, "output": "5"})
        last = ask(client, stream=stream, input=items, instructions="Be brief.")
    assert last.output_text == "It is 5."
    assert last.usage is not None
    assert last.usage.total_tokens == 18
    sent = endpoint.requests[1]["messages"]
    roles = [message["role"] for message in sent]
    if mode == "natural":
        assert roles == ["system", "user", "assistant", "user"]
    else:
        assert roles == ["system", "user", "assistant", "tool"]
        assert sent[2]["content"].strip() == "I will add."


def test_a_reply_that_was_cut_off_is_incomplete(serve: Serve) -> None:
    url, _ = serve(Reply([{"reasoning_content": "Hm."}, {"content": "One"}], finish="length"))
    with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
        last = list(client.responses.create(model="acme", input="Count", stream=True))[-1]
    assert last.type == "response.incomplete"
    assert [item.type for item in last.response.output] == ["reasoning", "message"]


def test_errors_are_those_of_the_api(serve: Serve) -> None:
    url, endpoint = serve(Reply(status=400), Reply(["one"], finish=None, drop=True))
    with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
        with pytest.raises(openai.BadRequestError, match="out of order"):
            ask(client, stream=False, input="Hi")
        events = list(client.responses.create(model="acme", input="Hi", stream=True))
        assert events[-1].type == "response.failed"
        with pytest.raises(openai.BadRequestError, match="keeps no state") as caught:
            ask(client, stream=False, input="Hi", previous_response_id="resp_1")
        assert caught.value.param == "previous_response_id"
    assert len(endpoint.requests) == 2
