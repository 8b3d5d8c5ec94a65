"""Plain functions as models."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterable, Awaitable
from typing import TYPE_CHECKING, cast

from .._checks import check_text
from .._core import FinishUpdate, TextDelta
from ..exceptions import ModelError, ToolweaveError
from ._errors import is_transient_error
from ._streaming import closing, map_errors

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from .._core import FunctionContract
    from .._messages import Message, Update
    from ..protocols import FunctionModel as Function
    from ..protocols import ModelOptions

_EXPECTED = "an async function that returns a str, or an async generator function of strs"


class FunctionModel:
    """A model implemented by a function of the messages.

    The function receives neither tools nor options: it returns text, which may contain calls.

    Args:
        function: An async function that returns the reply, or an async generator function that
            yields pieces of it. Run blocking code in it with `asyncio.to_thread`.
        name: Name of the model in traces and errors; defaults to the name of the function.

    Raises:
        TypeError: `function` is neither.

    Example:
        >>> import asyncio
        >>> from toolweave.models import complete
        >>> async def shout(messages):
        ...     return messages[-1].text.upper()
        >>> asyncio.run(complete(FunctionModel(shout), "hello")).messages[0].text
        'HELLO'
    """

    native_tools = False

    def __init__(self, function: Function, *, name: str | None = None) -> None:
        check_text("name", name, none=True)
        self.name: str = _name(function) if name is None else name
        """Name of the model in traces and errors."""
        _check(function, self.name)
        self._function = cast("Callable[[Sequence[Message]], object]", function)

    def __repr__(self) -> str:
        return f"FunctionModel({self.name})"

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,  # noqa: ARG002 - a function has none
    ) -> AsyncIterator[Update]:
        """Stream what the function returns or yields.

        Raises:
            ModelError: The function raised an exception, which is the cause.
            TypeError: The function returned or yielded something other than text.
            ValueError: Tools were given.
        """
        if tools:
            raise ValueError(
                f"the model function {self.name} does not support native calls, so there must be "
                "no tools; describe them in its prompt, as NaturalToolUse does"
            )
        try:
            answer = self._function(messages)
        except Exception as err:
            raise self._to_model_error(err) from err
        if isinstance(answer, AsyncIterable):
            source = cast("AsyncIterable[object]", answer)
        elif isinstance(answer, Awaitable):
            source = _single(cast("Awaitable[object]", answer))
        else:
            raise TypeError(
                f"the model function {self.name} must be {_EXPECTED}, "
                f"but returned {type(answer).__name__}"
            )
        async with closing(map_errors(source, self._to_model_error)) as pieces:
            async for piece in pieces:
                if not isinstance(piece, str):
                    raise TypeError(
                        f"the model function {self.name} must return or yield str, "
                        f"got {type(piece).__name__}"
                    )
                if piece:
                    yield TextDelta(piece)
        yield FinishUpdate("stop")

    def _to_model_error(self, err: Exception) -> Exception:
        if isinstance(err, ToolweaveError):
            return err
        message = f"the model function {self.name} raised {type(err).__name__}: {err}"
        return ModelError(message, transient=is_transient_error(err, None, None))


async def _single(answer: Awaitable[object]) -> AsyncIterator[object]:
    yield await answer


def _name(function: object) -> str:
    while isinstance(function, functools.partial):
        function = cast("functools.partial[object]", function).func
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def _check(function: object, name: str) -> None:
    """Check that a function can be a model, without calling it."""
    if inspect.isgeneratorfunction(function):
        raise TypeError(
            f"the model function {name} must be {_EXPECTED}, "
            "got a generator function that is not async"
        )
    if not callable(function) or isinstance(function, type):
        given = f"the class {name}" if isinstance(function, type) else type(function).__name__
        raise TypeError(f"a model function must be {_EXPECTED}, got {given}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built-in functions may have no signature
        return
    try:
        signature.bind(())
    except TypeError as err:
        raise TypeError(
            f"the model function {name}{signature} must take the messages as its one argument"
        ) from err
