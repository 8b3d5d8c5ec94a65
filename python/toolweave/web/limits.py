"""What a client of the server may cost.

Example:
    >>> limits = WebLimits(max_message_bytes=4_000, requests=RateLimit(60, 60.0))
    >>> limits.max_body_bytes
    1000000
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from ..executor.defaults import RUN_TIMEOUT
from ..tools import RateLimit

_REQUESTS = RateLimit(600, 60.0, on_limit="refuse")


@dataclass(frozen=True, kw_only=True)
class WebLimits:
    """The limits of one server process.

    Raises:
        ValueError: A number is out of range.
    """

    max_body_bytes: int = 1_000_000
    """How long the body of a request may be."""
    max_transcript_bytes: int = 2_000_000
    """How long a body may be in which a client of another protocol sends all that it has."""
    max_body_values: int = 50_000
    """How many values a body may hold: objects, arrays, names of members, texts, numbers. A
    megabyte may be one of them, or half a million."""
    bytes_per_request: int = 32_000
    """How much of a body counts as one more request in `requests`."""
    body_timeout: float = 15.0
    """How long a body may take to arrive, in seconds."""
    max_message_bytes: int = 200_000
    """How long what a user says may be, in UTF-8."""
    max_metadata_bytes: int = 16_000
    """How long what a client keeps with a chat may be, as JSON; lists of chats hold all of it."""
    chats_per_user: int | None = 10_000
    """How many chats a user may have; None for as many as they like. Without users, chats are not
    counted."""
    runs_per_user: int = 8
    """How many runs of a user may go on at once; without users, of each client address."""
    runs: int = 256
    """How many runs may go on at once."""
    streams_per_user: int = 64
    """How many streams a user may have open at once; without users, each client address."""
    streams: int = 4096
    """How many streams may be open at once."""
    requests: RateLimit | None = _REQUESTS
    """How often a user may ask; without users, each client address. Long bodies count as several
    requests. None for as often as they like."""
    heartbeat: float = 15.0
    """After how many seconds of silence a stream says that it is still there."""
    send_timeout: float = 60.0
    """For how many seconds a client may take nothing before its stream ends; it can resume."""
    retry: float = 1.0
    """After how many seconds a client is told to connect again."""
    buffered_events: int = 2048
    """How many of the last events of a chat are kept in memory for those who read them."""
    buffered_bytes: int = 1_000_000
    """How many bytes of the last events of a chat are kept in memory for those who read them."""
    batch: float = 0.05
    """For how many seconds pieces of text are collected before they are stored."""
    max_unsaved_bytes: int = 1_000_000
    """How much a model may have said that is not stored yet, before it has to wait."""
    lease: float = 30.0
    """For how many seconds a run is this process's without a sign of life; then another process may
    end it."""
    run_timeout: float | None = RUN_TIMEOUT
    """How long a run may take, in seconds; None for as long as it likes."""
    stop_grace: float = 15.0
    """How long a run may take to stop, in seconds, before it is given up."""
    shutdown_grace: float = 5.0
    """How long runs may still go on when the server shuts down, in seconds."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, RateLimit) or (
                value is None and each.name in {"requests", "run_timeout", "chats_per_user"}
            ):
                continue
            whole = str(each.type).startswith("int")
            least = 0 if each.name in {"batch", "shutdown_grace"} else 1 if whole else 1e-3
            if (
                isinstance(value, bool)
                or not isinstance(value, int if whole else (int, float))
                or not least <= value < math.inf
            ):
                kind = "whole number" if whole else "number of seconds"
                raise ValueError(f"{each.name} is a {kind} from {least:g}, not {value!r}")
