"""Base classes of both clients: options with their checks, and the events of a chat."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import httpx

from .._checks import check_mapping
from .._core import StreamReducer
from ._attempts import Backoff, RequestAttempts
from ._exchanges import path_of
from ._follow_state import FollowState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ._exchanges import Exchange

_T = TypeVar("_T")
_Http = TypeVar("_Http", httpx.Client, httpx.AsyncClient)
_Events = TypeVar("_Events")


class EventsBase(Generic[_Events]):
    """Events of a chat as they arrive, and the state after them.

    Args:
        read: Function that reads the events after those of a state.
        follow_state: The state.
    """

    def __init__(self, read: Callable[[FollowState], _Events], follow_state: FollowState) -> None:
        self._read = read
        self._follow_state = follow_state
        self._events = read(follow_state)
        self._closed = False

    def _restart(self) -> bool:
        """Start anew after an error was raised; return False if the iteration has ended."""
        if self._closed or self._follow_state.done:
            return False
        self._follow_state.restart()
        self._events = self._read(self._follow_state)
        return True

    @property
    def last_sequence_number(self) -> int:
        """Sequence number of the last event that was read, from which to resume."""
        return self._follow_state.after

    def snapshot(self) -> dict[str, Any]:
        """Return a snapshot of the chat after the events so far; see `StreamReducer.snapshot`."""
        return self._follow_state.reducer.snapshot()


class ClientBase(Generic[_Http]):
    """The options of a client: its server, headers, timeouts, retries and limits."""

    _http_type: type[_Http]

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        retries: int = 8,
        backoff: float = 0.5,
        max_event_bytes: int = 64 * 1024 * 1024,
        http_client: _Http | None = None,
    ) -> None:
        if not isinstance(base_url, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"base_url must be a string, got {type(base_url).__name__}")
        if not base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url must start with http:// or https://, got {base_url!r}")
        headers = {} if headers is None else headers
        check_mapping("headers", headers)
        for name, value in (("timeout", timeout), ("backoff", backoff)):
            if not isinstance(value, (int, float)) or isinstance(value, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"{name} must be a number, got {type(value).__name__}")
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be a number above 0, got {value!r}")
        _check_integer("retries", retries, 0)
        _check_integer("max_event_bytes", max_event_bytes, 1)
        if not (http_client is None or isinstance(http_client, self._http_type)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"http_client must be an httpx.{self._http_type.__name__}, got "
                f"{type(http_client).__name__}"
            )
        self._base_url = base_url.rstrip("/")
        self._headers = dict(headers)
        self._timeout = timeout
        self._retries = retries
        self._backoff = backoff
        self._max_event_bytes = max_event_bytes
        self._owns_http = http_client is None
        self._http: _Http = self._http_type() if http_client is None else http_client

    def _attempts(self, exchange: Exchange[_T]) -> RequestAttempts[_T]:
        backoff = Backoff(self._retries, self._backoff)
        return RequestAttempts(exchange, f"{self._base_url}{exchange.path}", backoff)

    def _follow_state(
        self, chat_id: str, after: int | None, further_runs: bool, reducer: StreamReducer | None
    ) -> FollowState:
        """Return the state of a client that has not read any events yet."""
        if reducer is None:
            reducer = StreamReducer()
        if after is None:
            after = reducer.last_sequence_number
        _check_integer("after", after, 0)
        url = f"{self._base_url}{path_of(chat_id)}/events{'?follow=1' if further_runs else ''}"
        backoff = Backoff(self._retries, self._backoff)
        return FollowState(url, backoff, reducer, after, self._max_event_bytes)


def _check_integer(name: str, value: int, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
