"""A LangChain agent on a model without function calling.

The model here is scripted, so that the example runs offline. Use any chat model instead, such as
`NaturalChatModel(ChatOllama(model="gemma3"))`.

Prints:

    ai: I'll add them.
      add({'a': 15, 'b': 27})
    tool: 42
    ai:
      invalid call: {"town": "Oslo"} (/city: missing; a string is required)
    tool: /city: missing; a string is required
    ai: 15 + 27 is 42. I could not find out about the weather.
"""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

from toolweave.integrations.langchain import AnswerInvalidCalls, NaturalChatModel
from toolweave.testing import ScriptedModel


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def weather(city: str) -> str:
    """Get the weather."""
    return f"8 degrees in {city}"


model = NaturalChatModel(
    ScriptedModel(
        ["I'll add", ' them.\n<add>{"a": 15, ', '"b": "27"}</add>'],
        '<weather>{"town": "Oslo"}</weather>',
        "15 + 27 is 42. I could not find out about the weather.",
    )
)
agent = create_agent(model, [add, weather], middleware=[AnswerInvalidCalls()])
question = "What is 15 + 27, and how is the weather?"

for message in agent.invoke({"messages": [("user", question)]})["messages"]:
    if isinstance(message, AIMessage):
        print(f"ai: {message.text}".rstrip())
        for call in message.tool_calls:
            print(f"  {call['name']}({call['args']})")
        for invalid in message.invalid_tool_calls:
            print(f"  invalid call: {invalid['args']} ({invalid['error']})")
    elif isinstance(message, ToolMessage):
        print(f"tool: {message.text}")
