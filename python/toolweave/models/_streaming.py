"""Reading of streams: they are closed in every case, and their errors are translated."""

from __future__ import annotations

import inspect
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from ..kinds import FinishReason

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterable,
        AsyncIterator,
        Callable,
        Iterable,
    )

    from typing_extensions import Self

    from .._core import FinishUpdate
    from .._messages import Update
    from ..exceptions import ModelError

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


class ClosedAtExit(ABC):
    """A context manager that is closed at the end of the block."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connections."""


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


class StreamItemReader(Protocol):
    """Converter from a client's chunks or events of one reply to updates."""

    @property
    def reason(self) -> str | None:
        """Finish reason that the server has sent."""
        ...

    def push(self, item: Any, /) -> Iterable[Update]:
        """Return the updates of one chunk or event, if any."""
        ...

    def finish(self) -> FinishUpdate:
        """Return the end of the reply, after the last item: ``missing`` for an unknown reason."""
        ...


async def read_reply(
    items: AsyncIterable[object],
    reader: StreamItemReader,
    model: str,
    convert: Callable[[Exception], ModelError],
) -> AsyncIterator[Update]:
    """Yield the updates of one reply, ending with its `FinishUpdate`.

    An error after the finish reason is ignored, since the reply is complete.

    Args:
        items: The chunks or events of a client; closed in every case.
        reader: Converter of the items.
        model: Name of the model, for the log.
        convert: Function that converts the exceptions of `items`.
    """
    async with closing(items):
        iterator = aiter(items)
        while True:
            try:
                item = await anext(iterator)
            except StopAsyncIteration:
                break
            except Exception as err:
                failure = convert(err)
                if reader.reason is None:
                    if failure is err:
                        raise
                    raise failure from err
                logger.info(
                    "after the end of a reply of %s: %s", model, failure, extra={"model": model}
                )
                break
            for update in reader.push(item):
                yield update
    end = reader.finish()
    warn_if_missing(end.reason, model, reader.reason)
    yield end


def warn_if_missing(reason: FinishReason, model: str, sent: str | None = None) -> None:
    """Log a warning if a reply of a model has ended without a known reason.

    Args:
        reason: Finish reason of the reply.
        model: Name of the model.
        sent: Finish reason as the server sent it.
    """
    if reason is FinishReason.MISSING:
        logger.warning(
            "reply of %s ended %s; it is taken as cut off",
            model,
            "without a finish reason" if sent is None else f"with the finish reason {sent!r}",
            extra={"model": model, "finish_reason": sent},
        )
