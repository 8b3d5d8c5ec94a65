"""Cache of selections, shared by identical questions in flight."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .._aio.single_flight import ResultCache
from ._result import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from .._aio.single_flight import Follower, Hit, Leader


class CachedSelection(NamedTuple):
    """Selection with copies of its mutable parts."""

    selection: Selection
    """The selection."""
    parameters: dict[str, Any]
    """Copy of its parameters."""
    ranking_parameters: tuple[dict[str, Any], ...]
    """Copies of the parameters in its ranking."""


class SelectionCache(ResultCache[CachedSelection]):
    """`ResultCache` for any number of event loops at once.

    Identical questions wait for each other on the same loop only. Stored selections are shared by
    all loops.
    """

    def __init__(
        self, max_entries: int = 1024, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(max_entries, clock=clock)
        self._lock = threading.Lock()

    def begin(
        self, key: Hashable
    ) -> Hit[CachedSelection] | Leader[CachedSelection] | Follower[CachedSelection]:
        """Look up a selection. Call it on a running event loop."""
        with self._lock:
            return super().begin(key)

    def store(self, key: Hashable, value: CachedSelection, ttl: float | None) -> None:
        """Store a selection for `ttl` seconds; None means forever, 0 not at all."""
        with self._lock:
            super().store(key, value, ttl)


def to_cached(selection: Selection) -> CachedSelection:
    """Return a selection for the cache, with copied parameters, since callers may change them."""
    return CachedSelection(
        selection,
        _copy_parameters(selection.parameters),
        tuple(_copy_parameters(one.parameters) for one in selection.ranking),
    )


def from_cached(cached: CachedSelection, duration: float) -> Selection:
    """Return a cached selection for another caller.

    Args:
        cached: The cached selection.
        duration: Duration of the lookup, in seconds.
    """
    return replace(
        cached.selection,
        parameters=_copy_parameters(cached.parameters),
        ranking=tuple(
            replace(one, parameters=_copy_parameters(parameters))
            for one, parameters in zip(
                cached.selection.ranking, cached.ranking_parameters, strict=True
            )
        ),
        calls=0,
        usage=None,
        duration=duration,
        cached=True,
    )


def _copy_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: _copy_json(value) for name, value in parameters.items()}


def _copy_json(value: object) -> Any:
    """Copy a JSON value; `copy.deepcopy` takes ten times as long."""
    if isinstance(value, dict):
        return _copy_parameters(cast("dict[str, Any]", value))
    if isinstance(value, list):
        return [_copy_json(item) for item in cast("list[object]", value)]
    return value
