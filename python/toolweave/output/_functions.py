"""Functions of the application in the path of an output: validators, and functions as output."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

from ..executor._invocation import call
from ..tools._run_context import Deps

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from typing_extensions import TypeVar

    from ..tools import RunContext
    from ._reading import ReadOutput

    T = TypeVar("T", default=Any)

# Functions that check an output, and return it or another one; they may raise `ModelRetry`.
Validator: TypeAlias = "Callable[[T], T]"
ContextValidator: TypeAlias = "Callable[[RunContext[Deps], T], T]"
AsyncValidator: TypeAlias = "Callable[[T], Awaitable[T]]"
AsyncContextValidator: TypeAlias = "Callable[[RunContext[Deps], T], Awaitable[T]]"


class CheckedValidator(Generic[Deps]):
    """A validator, whose parameters are known.

    Raises:
        TypeError: The function does not take one or two arguments by position.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._takes_context = _takes_context(function)

    async def __call__(self, context: RunContext[Deps], output: Any) -> Any:
        """Return the output that the function returns."""
        arguments = (context, output) if self._takes_context else (output,)
        return await call(partial(self._function, *arguments))


async def run_output(
    read: ReadOutput, validators: Sequence[CheckedValidator[Deps]], context: RunContext[Deps]
) -> Any:
    """Return the output of a reply: of its function, if it has one, and of all validators.

    Functions that are not async run in threads, as tools do.

    Raises:
        ModelRetry: A function asks the model to answer again.
        Exception: Any other exception of a function.
    """
    output = read.output
    function = read.member.function
    if function is not None:
        context_of = {} if function.context is None else {function.context: context}
        output = await call(partial(function.call, **output, **context_of))
    for validator in validators:
        output = await validator(context, output)
    return output


def _takes_context(function: Callable[..., Any]) -> bool:
    """Return True if a validator takes a context before the output."""
    if not callable(function):
        raise TypeError(f"a validator must be a function, got {type(function).__name__}")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        # A built-in, such as `str.strip`, takes the output.
        return False
    positional = [
        each
        for each in parameters
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    required = [each for each in positional if each.default is each.empty]
    if not positional or len(required) > 2:
        raise TypeError(
            "a validator must take the output, or a RunContext and the output, "
            f"got {getattr(function, '__name__', function)}{inspect.signature(function)}"
        )
    return len(required) == 2
