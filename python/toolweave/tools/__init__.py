"""Tools: functions that a model may call.

`tool` makes one of a function: what the model is told follows from its types and its docstring,
or from a JSON Schema or a contract. A `Toolset` holds them by name. Whatever says what the
arguments are, they are validated before the function runs.

    >>> @tool(timeout=5.0)
    ... async def get_weather(city: str, unit: Literal["c", "f"] = "c") -> str:
    ...     '''Looks up the weather.
    ...
    ...     Args:
    ...         city: The city, in English.
    ...     '''
    ...     return f"8 degrees in {city}"
    >>> get_weather.contract.description
    'Looks up the weather.'
    >>> get_weather.validator.is_valid({"city": "Oslo", "unit": "k"})
    False
"""

from __future__ import annotations

from .context import ToolContext
from .decorator import tool
from .function import Tool
from .options import RateLimit, RetryPolicy, ToolOptions
from .toolset import Toolset

__all__ = [
    "RateLimit",
    "RetryPolicy",
    "Tool",
    "ToolContext",
    "ToolOptions",
    "Toolset",
    "tool",
]
