"""Turn a structured history back into the text that a model reads.

Prints:

    What is 15 + 27?
    I'll add them.
    <tool_call name="Add">
    {
      "a": 15,
      "b": 27
    }
    </tool_call>
    <tool_response name="Add">
    42
    </tool_response>
"""

from __future__ import annotations

from toolweave import (
    FunctionContract,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolResult,
    consolidate,
    parse,
)

ADD = FunctionContract("Add", parameters={"type": "object", "required": ["a", "b"]})
REPLY = 'I\'ll add them.\n<Add>{"a": 15, "b": 27}</Add>'

messages = [TextMessage("What is 15 + 27?", role="user")]
for event in parse(REPLY, [ADD]):
    match event:
        case TextDelta(text=text):
            messages.append(TextMessage(text, role="assistant"))
        case ToolCall(id=call_id, name=name, arguments=arguments):
            result = ToolResult(call_id, name, str(arguments["a"] + arguments["b"]))
            messages.append(ToolAggregateMessage(tool_calls=[event], tool_results=[result]))
        case _:
            pass

for message in consolidate(messages, tools=[ADD]):
    print(message.text)
