"""The repairs of a call, and violations that are reported instead.

Prints:

    SetTimer {'minutes': 10, 'label': 'tea'}
      repaired quotes, trailing_comma, type
    SetTimer is not called: schema_violation
      minimum at /minutes
"""

from __future__ import annotations

from toolweave import FunctionContract, InvalidToolCall, ToolCall, parse

TIMER = FunctionContract(
    "SetTimer",
    parameters={
        "type": "object",
        "properties": {
            "minutes": {"type": "integer", "minimum": 1},
            "label": {"type": "string"},
        },
        "required": ["minutes"],
    },
)

REPLIES = (
    """<SetTimer>{'minutes': "10", 'label': 'tea',}</SetTimer>""",
    # Repairs never invent a value, and never change an invalid one.
    """<SetTimer>{"minutes": 0}</SetTimer>""",
)

for reply in REPLIES:
    for event in parse(reply, [TIMER]):
        match event:
            case ToolCall(name=name, arguments=arguments, repairs=repairs):
                print(name, arguments)
                print("  repaired", ", ".join(dict.fromkeys(repair.kind for repair in repairs)))
            case InvalidToolCall(name=name, kind=kind, violations=violations):
                print(f"{name} is not called: {kind}")
                for violation in violations:
                    print(f"  {violation.keyword} at {violation.path}")
            case _:
                pass
