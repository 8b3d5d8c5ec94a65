"""A chat model of LangChain's within another."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers import context as tracers

from ..streaming import closing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Sequence
    from contextvars import ContextVar

    from ... import FunctionContract, Message, Update
    from ...protocols import ModelOptions
    from .model import LangChainModel


class WithoutCallbacks:
    """A model whose runs no callback hears of, because the run around them stands for them.

    Callbacks are inherited through context variables. Heard by them, a wrapped model would stream
    the tags of its calls to the users of LangGraph, and its tokens would count twice. Callbacks
    that were given to the wrapped model itself hear of it as ever.

    Args:
        model: The model.
    """

    native_tools = False

    def __init__(self, model: LangChainModel) -> None:
        self._model = model
        self.name = model.name
        self.provider = model.provider

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Answers as the model does; see `LangChainModel.stream`."""
        asked = self._model.stream(messages, tools=tools, options=options)
        async with closing(asked) as updates:
            iterator = aiter(updates)
            while True:
                # Only while the model is at work: the variables are the caller's, too.
                with _without_callbacks():
                    try:
                        update = await anext(iterator)
                    except StopAsyncIteration:
                        return
                yield update


@contextmanager
def _without_callbacks() -> Generator[None]:
    variables: list[ContextVar[Any]] = [var_child_runnable_config]
    # Callbacks from `with` statements; LangChain has a way in for them, but no way out.
    variables += [hook[0] for hook in getattr(tracers, "_configure_hooks", ())]
    tokens = [(variable, variable.set(None)) for variable in variables]
    try:
        yield
    finally:
        for variable, token in reversed(tokens):
            variable.reset(token)
