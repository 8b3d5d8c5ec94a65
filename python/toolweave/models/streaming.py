"""Reading what streams: closed in every case, and failing in one way."""

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

    from .. import Update

logger = logging.getLogger("toolweave.models")

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


async def map_errors(
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


def field(value: object, name: str) -> object:
    """A field of an object or of a dict; None where there is none.

    Clients do not check what servers send, so nothing is certain to be there.
    """
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value).get(name)
    return getattr(value, name, None)


def text(value: object) -> str | None:
    """Text that is not empty."""
    return value if isinstance(value, str) and value else None


def count(value: object) -> int:
    """A count; 0 where it is none."""
    return value if isinstance(value, int) and value > 0 else 0


class Reader(Protocol):
    """Turns what a client gives for one reply into updates."""

    @property
    def finished(self) -> bool:
        """Whether the server has said why the reply ended."""
        ...

    def push(self, item: object, /) -> Iterable[Update]:
        """What one chunk or event says; often nothing."""
        ...

    def finish(self) -> FinishUpdate:
        """Why the reply ended, once everything has come."""
        ...


async def read_reply(
    items: AsyncIterable[object], reader: Reader, model: str
) -> AsyncIterator[Update]:
    """The updates of one reply, and last why it ended.

    What breaks after the server has said that is of no matter: the reply is whole.

    Args:
        items: The chunks or events of a client; closed in every case.
        reader: What understands them.
        model: Whose reply it is, for the log.
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


def finish(said: str | None, known: Mapping[str, str], model: str) -> FinishUpdate:
    """Why a reply ended, in our words: ``missing`` if nobody said so, or nothing we know.

    Args:
        said: What the server said.
        known: Our words for what it may say.
        model: Whose reply it is, for the log.
    """
    reason = known.get((said or "").lower())
    if reason is None:
        logger.warning(
            "reply of %s ended %s; it is taken as cut off",
            model,
            "without a finish reason" if said is None else f"with the finish reason {said!r}",
            extra={"model": model, "finish_reason": said},
        )
    return FinishUpdate(reason or "missing")
