"""Tools: functions that a model can call.

`tool` turns a function into a tool. Its contract comes from the function's types and docstring, or
from a JSON Schema or a contract that you pass. A `Toolset` holds tools by name. Arguments are
always validated before the function runs.

    >>> @tool(timeout=5.0)
    ... async def get_weather(city: str, unit: Literal["c", "f"] = "c") -> str:
    ...     '''Look up the weather.
    ...
    ...     Args:
    ...         city: The city, in English.
    ...     '''
    ...     return f"8 degrees in {city}"
    >>> get_weather.contract.description
    'Look up the weather.'
    >>> get_weather.validator.is_valid({"city": "Oslo", "unit": "k"})
    False
"""

from __future__ import annotations

from .._public import claim_exports
from ._context import ToolContext
from ._decorator import tool
from ._function import Tool
from ._options import RateLimit, RetryPolicy, ToolOptions
from ._run_context import RunContext
from ._toolset import Toolset

__all__ = [
    "RateLimit",
    "RetryPolicy",
    "RunContext",
    "Tool",
    "ToolContext",
    "ToolOptions",
    "Toolset",
    "tool",
]

claim_exports(globals())
