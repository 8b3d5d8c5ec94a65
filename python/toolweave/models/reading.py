"""Reading what streams: closed in every case, and failing in one way."""

from __future__ import annotations

import inspect
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable

T = TypeVar("T")


@asynccontextmanager
async def closing(source: AsyncIterable[T]) -> AsyncGenerator[AsyncIterable[T], None]:
    """Closes `source` at the end, where it can be closed.

    Generators have an ``aclose``, the streams of clients a ``close`` or both. Whoever reads only
    the beginning of a stream lets go of its connection this way.
    """
    try:
        yield source
    finally:
        close = getattr(source, "aclose", None) or getattr(source, "close", None)
        if callable(close):
            closed = cast("Callable[[], object]", close)()
            if inspect.isawaitable(closed):
                await closed


async def guarded(
    source: AsyncIterable[T], failed: Callable[[Exception], Exception]
) -> AsyncIterator[T]:
    """Yields what `source` does, closes it, and raises what `failed` makes of its exceptions.

    Exceptions of whoever reads do not pass through here; cancellation passes as it is.
    """
    async with closing(source):
        iterator = aiter(source)
        while True:
            try:
                item = await anext(iterator)
            except StopAsyncIteration:
                return
            except Exception as err:
                failure = failed(err)
                if failure is err:
                    raise
                raise failure from err
            yield item
