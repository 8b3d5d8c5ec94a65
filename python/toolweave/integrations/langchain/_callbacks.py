"""Wrapped chat models without inherited callbacks."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers import context as tracers

from ...models._streaming import closing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Sequence
    from contextvars import ContextVar

    from ..._core import FunctionContract
    from ..._messages import Message, Update
    from ...protocols import ModelOptions
    from ._model import LangChainModel


class WithoutCallbacks:
    """A model whose runs do not reach inherited callbacks, since the outer run represents them.

    Callbacks are inherited through context variables. If they observed the wrapped model, it would
    stream the markup of its calls to the users of LangGraph, and its tokens would count twice.
    Callbacks of the wrapped model itself are called as usual.

    Args:
        model: The wrapped model.
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
        """Stream the reply of the model; see `LangChainModel.stream`."""
        stream = self._model.stream(messages, tools=tools, options=options)
        async with closing(stream) as updates:
            iterator = aiter(updates)
            while True:
                # Only while the model runs, since the caller shares the variables.
                with _without_callbacks():
                    try:
                        update = await anext(iterator)
                    except StopAsyncIteration:
                        return
                yield update


@contextmanager
def _without_callbacks() -> Generator[None]:
    variables: list[ContextVar[Any]] = [var_child_runnable_config]
    # Callbacks of `with` statements, for which LangChain has no public API.
    variables += [hook[0] for hook in getattr(tracers, "_configure_hooks", ())]
    tokens = [(variable, variable.set(None)) for variable in variables]
    try:
        yield
    finally:
        for variable, token in reversed(tokens):
            variable.reset(token)
