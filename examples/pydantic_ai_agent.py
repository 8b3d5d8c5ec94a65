"""A pydantic-ai agent with tools and structured output, on a model without function calling.

The model here is a function, so that the example runs offline. Use any model instead, such as
`NaturalToolUseModel("ollama:gemma3")`.

Prints:

    request: How warm is it in Oslo and in Bergen?
    request: <tool_response name="temperature"> 8.5 </tool_response> <tool_response ...
    request: <tool_response name="final_result" status="error"> /warmest: missing;  ...
    warmest='Bergen' difference=2.5
    3 requests
"""

from __future__ import annotations

from pydantic import BaseModel
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from toolweave.integrations.pydantic_ai import NaturalToolUseModel

CALLS = '<temperature>{"city": "Oslo"}</temperature><temperature>{"city": "Bergen"}</temperature>'
REPLIES = [
    f"I'll look. {CALLS}",
    '<final_result>{"difference": 2.5}</final_result>',
    '<final_result>{"warmest": "Bergen", "difference": "2.5"}</final_result>',
]


class Comparison(BaseModel):
    warmest: str
    difference: float


def text_model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Answer as a model that supports text only."""
    assert not info.function_tools
    assert not info.output_tools
    asked = " ".join(str(messages[-1].parts[-1].content).split())
    print("request:", asked if len(asked) < 70 else asked[:70] + " ...")
    return ModelResponse([TextPart(REPLIES.pop(0))])


agent = Agent(NaturalToolUseModel(FunctionModel(text_model)), output_type=Comparison)


@agent.tool_plain
def temperature(city: str) -> float:
    """Get the temperature in a city, in degrees Celsius."""
    return {"Oslo": 8.5, "Bergen": 11.0}[city]


result = agent.run_sync("How warm is it in Oslo and in Bergen?")
print(result.output)
print(result.usage.requests, "requests")
