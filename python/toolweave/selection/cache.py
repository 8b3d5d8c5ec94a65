"""Selections of earlier queries, and of the same one while it is under way."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .._single_flight import ResultCache
from .result import Selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._single_flight import Follower, Hit, Leader


class CachedSelection(NamedTuple):
    """A selection, and what it was before its caller had it."""

    selection: Selection
    """The selection."""
    parameters: dict[str, Any]
    """Its parameters."""
    ranked: tuple[dict[str, Any], ...]
    """Those in its ranking."""


class SelectionCache(ResultCache[CachedSelection]):
    """As `ResultCache`, for any number of event loops at once.

    Those on the same loop wait for each other. What is kept, all have.
    """

    def __init__(
        self, max_entries: int = 1024, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(max_entries, clock=clock)
        self._lock = threading.Lock()

    def begin(
        self, key: str
    ) -> Hit[CachedSelection] | Leader[CachedSelection] | Follower[CachedSelection]:
        """Asks for a selection. To be called on a running event loop."""
        with self._lock:
            return super().begin(key)

    def store(self, key: str, value: CachedSelection, ttl: float | None) -> None:
        """Keeps a selection for `ttl` seconds: None for ever, 0 not at all."""
        with self._lock:
            super().store(key, value, ttl)


def to_cached(selection: Selection) -> CachedSelection:
    """A selection as it is now. Parameters are plain dicts, and callers may change theirs."""
    return CachedSelection(
        selection,
        _copy_parameters(selection.parameters),
        tuple(_copy_parameters(one.parameters) for one in selection.ranking),
    )


def from_cached(kept: CachedSelection, duration: float) -> Selection:
    """A selection that was made before, for somebody else.

    Args:
        kept: What was kept of it.
        duration: How long finding it took, in seconds.
    """
    return replace(
        kept.selection,
        parameters=_copy_parameters(kept.parameters),
        ranking=tuple(
            replace(one, parameters=_copy_parameters(parameters))
            for one, parameters in zip(kept.selection.ranking, kept.ranking_parameters, strict=True)
        ),
        calls=0,
        usage=None,
        duration=duration,
        cached=True,
    )


def _copy_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: _copy_json(value) for name, value in parameters.items()}


def _copy_json(value: object) -> Any:
    """A JSON value; `copy.deepcopy` takes ten times as long."""
    if isinstance(value, dict):
        return _copy_parameters(cast("dict[str, Any]", value))
    if isinstance(value, list):
        return [_copy_json(item) for item in cast("list[object]", value)]
    return value
