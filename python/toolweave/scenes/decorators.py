"""Telling ``@scene.tool`` from ``scene.tool(function)``: one wants the function, one the scene."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from ..tools.function import is_tool

if TYPE_CHECKING:
    from types import FrameType


def is_decorating(made: object, called: FrameType | None) -> bool:
    """Return True if a function is just being defined, by the code that calls, and decorated.

    Its code is part of the code of the caller then, and that stands in its decorators: a function
    begins with the first of them.

    Args:
        made: What is decorated, perhaps by others before.
        called: The frame of the decorator.
    """
    caller = None if called is None else called.f_back
    if caller is None:
        return False
    function = made.function if is_tool(made) else made
    # What is decorated before may be a wrapper.
    while not isinstance(function, types.FunctionType) or hasattr(function, "__wrapped__"):
        inner: object = getattr(function, "__wrapped__", None)
        if inner is None:
            return False
        function = inner
    code = function.__code__
    if code not in caller.f_code.co_consts or function.__name__ == "<lambda>":
        return False
    body = min(
        (line for _, _, line in code.co_lines() if line and line > code.co_firstlineno),
        default=code.co_firstlineno,
    )
    return code.co_firstlineno <= caller.f_lineno <= body
