"""Reading of streams: they are closed in every case, and their errors are translated."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from .._core import FinishUpdate
from ..exceptions import ModelError

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterable,
        AsyncIterator,
        Callable,
        Iterable,
    )

    from .._messages import Update

logger = logging.getLogger("toolweave.models")

T = TypeVar("T")


@asynccontextmanager
async def closing(source: AsyncIterable[T]) -> AsyncGenerator[AsyncIterable[T], None]:
    """Close `source` on exit, if it can be closed.

    Generators have an ``aclose``; the streams of clients have a ``close`` or both. Use this to
    release the connection of a stream that is not read to its end.
    """
    try:
        yield source
    finally:
        close = getattr(source, "aclose", None) or getattr(source, "close", None)
        if callable(close):
            closed = cast("Callable[[], object]", close)()
            if inspect.isawaitable(closed):
                await closed


async def map_errors(
    source: AsyncIterable[T], convert: Callable[[Exception], Exception]
) -> AsyncIterator[T]:
    """Yield the items of `source`, close it, and convert its exceptions with `convert`.

    Exceptions of the reader are not converted, nor is cancellation.
    """
    async with closing(source):
        iterator = aiter(source)
        while True:
            try:
                item = await anext(iterator)
            except StopAsyncIteration:
                return
            except Exception as err:
                failure = convert(err)
                if failure is err:
                    raise
                raise failure from err
            yield item


def field(value: object, name: str) -> object:
    """Return a field of an object or a dict; None if it is absent.

    Clients do not validate what servers send, so any field may be missing.
    """
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value).get(name)
    return getattr(value, name, None)


def text(value: object) -> str | None:
    """Return `value` if it is a non-empty text."""
    return value if isinstance(value, str) and value else None


def count(value: object) -> int:
    """Return `value` if it is a positive integer, otherwise 0."""
    return value if isinstance(value, int) and value > 0 else 0


class StreamItemReader(Protocol):
    """Converter from a client's chunks or events of one reply to updates."""

    @property
    def finished(self) -> bool:
        """True if the server has sent a finish reason."""
        ...

    def push(self, item: object, /) -> Iterable[Update]:
        """Return the updates of one chunk or event, if any."""
        ...

    def finish(self) -> FinishUpdate:
        """Return the end of the reply, after the last item."""
        ...


async def read_reply(
    items: AsyncIterable[object], reader: StreamItemReader, model: str
) -> AsyncIterator[Update]:
    """Yield the updates of one reply, ending with its `FinishUpdate`.

    An error after the finish reason is ignored, since the reply is complete.

    Args:
        items: The chunks or events of a client; closed in every case.
        reader: Converter of the items.
        model: Name of the model, for the log.
    """
    async with closing(items):
        iterator = aiter(items)
        while True:
            try:
                item = await anext(iterator)
            except StopAsyncIteration:
                break
            except ModelError as err:
                if not reader.finished:
                    raise
                logger.info(
                    "after the end of a reply of %s: %s", model, err, extra={"model": model}
                )
                break
            for update in reader.push(item):
                yield update
    yield reader.finish()


def finish_update(reason: str | None, known: Mapping[str, str], model: str) -> FinishUpdate:
    """Return the end of a reply: ``missing`` if its reason is absent or unknown.

    Args:
        reason: Finish reason that the server sent.
        known: Finish reasons of this API, and those of `FinishUpdate` that they mean.
        model: Name of the model, for the log.
    """
    finish = known.get((reason or "").lower())
    if finish is None:
        logger.warning(
            "reply of %s ended %s; it is taken as cut off",
            model,
            "without a finish reason" if reason is None else f"with the finish reason {reason!r}",
            extra={"model": model, "finish_reason": reason},
        )
    return FinishUpdate(finish or "missing")
