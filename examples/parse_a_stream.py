"""Find the tool calls in a reply while it streams.

Prints:

    text: I'll check the weather in Nice, France.
    call: GetWeather {'location': 'Nice, France', 'unit': 'celsius'}
    text: One moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolweave import FunctionContract, InvalidToolCall, TextDelta, ToolCall, parse_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

WEATHER = FunctionContract(
    "GetWeather",
    description="Get the current weather for a location.",
    parameters={
        "type": "object",
        "properties": {
            "location": {"type": "string"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        },
        "required": ["location"],
        "additionalProperties": False,
    },
)


def model() -> Iterator[str]:
    """Yield a model's reply in pieces that split words and tags."""
    reply = (
        "I'll check the weather in Nice, France.\n"
        '<GetWeather>\n```json\n{"location": "Nice, France", "unit": "celsius"}\n```\n'
        "</GetWeather>\n"
        "One moment.\n"
    )
    for at in range(0, len(reply), 7):
        yield reply[at : at + 7]


text = ""
for event in parse_stream(model(), [WEATHER]):
    match event:
        case TextDelta(text=more):
            text += more
        case ToolCall(name=name, arguments=arguments):
            print("text:", text.strip())
            print("call:", name, arguments)
            text = ""
        case InvalidToolCall(name=name, kind=kind):
            print("invalid:", name, kind)
        case _:
            pass
print("text:", text.strip())
