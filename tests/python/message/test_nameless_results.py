"""Results on the wire that do not name their tool."""

from __future__ import annotations

from typing import Any

import pytest

import toolweave as tw
from toolweave.models import as_messages

USER = "What is 2 + 3?"
CALLS: dict[str, Any] = {
    "kind": "tools_call",
    "role": "assistant",
    "toolCalls": [
        {"toolCallId": "a", "name": "add", "arguments": {"x": 2, "y": 3}},
        {"toolCallId": "b", "name": "sub", "arguments": {}},
    ],
}
RESULTS: dict[str, Any] = {
    "kind": "tool_result",
    "role": "tool",
    "toolResults": [{"toolCallId": "b", "result": "1"}, {"toolCallId": "a", "result": "5"}],
}


@pytest.mark.parametrize(
    "calls",
    [
        CALLS,
        tw.message_from_dict(CALLS),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": call, "type": "function", "function": {"name": name, "arguments": "{}"}}
                for call, name in (("a", "add"), ("b", "sub"))
            ],
        },
    ],
    ids=["wire", "message", "openai"],
)
def test_a_result_has_the_name_of_the_latest_call_with_its_id(calls: Any) -> None:
    older = tw.ToolCallMessage([tw.ToolCall("a", "multiply", {})])
    answered = as_messages([USER, older, calls, RESULTS])[-1]
    assert isinstance(answered, tw.ToolResultMessage)
    assert [result.name for result in answered.tool_results] == ["sub", "add"]


def test_a_result_without_a_call_is_refused_with_its_place() -> None:
    with pytest.raises(tw.MessageError) as caught:
        as_messages([USER, RESULTS])
    assert (caught.value.index, caught.value.path) == (1, "/toolResults/0/name")
    assert "a message before it with the call of this id" in str(caught.value)
