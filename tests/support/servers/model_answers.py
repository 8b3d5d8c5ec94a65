"""Replies of models, read to their end or error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from toolweave import TextDelta, TextMessage, Update
from toolweave.exceptions import ModelError
from toolweave.models import closing
from toolweave.protocols import ChatModel

from .sse import Answer, Served, serving

HI = [TextMessage("Hi")]


@dataclass
class Read:
    """The outcome of a reply."""

    updates: list[Update] = field(default_factory=list)
    error: ModelError | None = None

    @property
    def text(self) -> str:
        return "".join(update.text for update in self.updates if isinstance(update, TextDelta))


async def read(model: ChatModel, messages: Any = HI, **asked: Any) -> Read:
    """Read a reply to its end or error."""
    came = Read()
    try:
        async with closing(model.stream(messages, **asked)) as updates:
            async for update in updates:
                came.updates.append(update)
    except ModelError as err:
        came.error = err
    return came


def in_use(model: Any) -> AbstractAsyncContextManager[Any]:
    """Return a context manager that closes the model if it can be closed."""
    return model if hasattr(model, "__aexit__") else nullcontext(model)


def run(
    make: Callable[[str], Any],
    answers: list[Answer],
    ask: Callable[[Any, Served], Coroutine[Any, Any, Any]],
) -> Any:
    """Run `ask(model, server)` on a new loop, with a model made for the server's URL."""

    async def main() -> Any:
        async with serving(*answers) as served, in_use(make(served.url)) as model:
            return await ask(model, served)

    return asyncio.run(main())


def ask_once(
    make: Callable[[str], Any], *steps: Any, messages: Any = HI, **asked: Any
) -> tuple[Read, dict[str, Any]]:
    """Return the outcome of a reply of these steps, and the request that the server got."""
    shape = {key: asked.pop(key) for key in ("status", "kind", "chunked") if key in asked}

    async def ask(model: Any, served: Served) -> tuple[Read, dict[str, Any]]:
        return await read(model, messages, **asked), served.requests[-1]

    return run(make, [Answer(steps, **shape)], ask)
