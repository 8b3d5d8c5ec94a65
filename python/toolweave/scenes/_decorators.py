"""Distinction of ``@scene.tool``, which returns the function, from ``scene.tool(function)``."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from ..tools._function import is_tool

if TYPE_CHECKING:
    from types import FrameType


def is_decorating(made: object, called: FrameType | None) -> bool:
    """Return True if the caller of `called` applies it as a decorator to a function it defines.

    The code of the function is then a constant of the caller's code, and the current line of the
    caller is one of its decorators; a function begins with the first of them.

    Args:
        made: The decorated object; inner decorators may have replaced the function.
        called: The frame of the decorator.
    """
    caller = None if called is None else called.f_back
    if caller is None:
        return False
    function = made.function if is_tool(made) else made
    # Inner decorators may have returned a wrapper.
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
