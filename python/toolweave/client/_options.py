"""Options of a client and their checks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._checks import check_mapping
from .._core import StreamReducer
from ._exchanges import Backoff
from ._follow_state import FollowState

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class Options:
    """Options of a client: its server, headers, timeouts, retries and limits."""

    base_url: str
    headers: Mapping[str, str]
    timeout: float
    retries: int
    backoff: float
    max_event_bytes: int

    def __post_init__(self) -> None:
        if not isinstance(self.base_url, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"base_url must be a string, got {type(self.base_url).__name__}")
        if not self.base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url must start with http:// or https://, got {self.base_url!r}")
        self.base_url = self.base_url.rstrip("/")
        check_mapping("headers", self.headers)
        self.headers = dict(self.headers)
        for name, value in (("timeout", self.timeout), ("backoff", self.backoff)):
            if not isinstance(value, (int, float)) or isinstance(value, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"{name} must be a number, got {type(value).__name__}")
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be a number above 0, got {value!r}")
        _check_integer("retries", self.retries, 0)
        _check_integer("max_event_bytes", self.max_event_bytes, 1)

    def follow_state(
        self, chat_id: str, after: int | None, further_runs: bool, reducer: StreamReducer | None
    ) -> FollowState:
        """Return the initial state of a client that follows a chat."""
        if reducer is None:
            reducer = StreamReducer()
        if after is None:
            after = reducer.last_sequence_number
        _check_integer("after", after, 0)
        return FollowState(
            self.base_url,
            chat_id,
            reducer=reducer,
            after=after,
            further_runs=further_runs,
            backoff=Backoff(self.retries, self.backoff),
            max_event_bytes=self.max_event_bytes,
        )


def check_client(given: object, wanted: type) -> None:
    """Raise if an httpx client is given and is not of the expected type."""
    if given is not None and not isinstance(given, wanted):
        raise TypeError(
            f"http_client must be an httpx.{wanted.__name__}, got {type(given).__name__}"
        )


def _check_integer(name: str, value: int, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
