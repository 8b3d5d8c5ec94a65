"""Limits on what clients of the server can use.

Example:
    >>> limits = WebLimits(max_message_bytes=4_000, requests=RateLimit(60, 60.0))
    >>> limits.max_body_bytes
    1000000
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from ..executor._defaults import RUN_TIMEOUT
from ..tools import RateLimit

_REQUESTS = RateLimit(600, 60.0, on_limit="refuse")


@dataclass(frozen=True, kw_only=True)
class WebLimits:
    """The limits of one server process.

    Raises:
        ValueError: A number is out of range.
    """

    max_body_bytes: int = 1_000_000
    """Maximum size of a request body, in bytes."""
    max_transcript_bytes: int = 2_000_000
    """Maximum size in bytes of a body with a whole conversation, as `useChat` and AG-UI send it."""
    max_body_values: int = 50_000
    """Maximum number of values in a body: objects, arrays, member names, strings and numbers. A
    megabyte of JSON can be one value or half a million."""
    bytes_per_request: int = 32_000
    """Number of bytes of a body that count as an additional request in `requests`."""
    body_timeout: float = 15.0
    """Timeout for receiving a body, in seconds."""
    max_message_bytes: int = 200_000
    """Maximum length of a user's message, in bytes of UTF-8."""
    max_metadata_bytes: int = 16_000
    """Maximum size of a chat's metadata as JSON, in bytes; lists of chats include all of it."""
    chats_per_user: int | None = 10_000
    """Maximum number of chats of a user; None for no limit. Without users, chats are not counted.
    """
    runs_per_user: int = 8
    """Maximum number of concurrent runs of a user; without users, of a client address."""
    runs: int = 256
    """Maximum number of concurrent runs."""
    streams_per_user: int = 64
    """Maximum number of open streams of a user; without users, of a client address."""
    streams: int = 4096
    """Maximum number of open streams."""
    requests: RateLimit | None = _REQUESTS
    """Rate limit of requests of a user; without users, of a client address. Long bodies count as
    several requests. None for no limit."""
    heartbeat: float = 15.0
    """Time without events after which a stream sends a comment, in seconds."""
    send_timeout: float = 60.0
    """Time that a client may read nothing before its stream is closed, in seconds; the client can
    resume."""
    retry: float = 1.0
    """Reconnection delay that clients are asked for, in seconds."""
    buffered_events: int = 2048
    """Maximum number of a chat's latest events that are buffered in memory."""
    buffered_bytes: int = 1_000_000
    """Maximum size of a chat's latest events that are buffered in memory, in bytes."""
    batch: float = 0.05
    """Time for which deltas are collected before they are stored, in seconds."""
    max_unsaved_bytes: int = 1_000_000
    """Maximum size of unsaved events, in bytes, before the model has to wait for the store."""
    lease: float = 30.0
    """Duration of a process's lease of a run, in seconds; other processes end a run whose lease has
    expired."""
    run_timeout: float | None = RUN_TIMEOUT
    """Timeout of a run, in seconds; None for no timeout."""
    stop_grace: float = 15.0
    """Time for a run to stop before it is abandoned, in seconds."""
    shutdown_grace: float = 5.0
    """Time for runs to end when the server shuts down, in seconds, before they are interrupted."""

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
                kind = "an integer" if whole else "a number of seconds"
                raise ValueError(f"{each.name} must be {kind} of at least {least:g}, got {value!r}")
