"""Limits on the size of responses."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class HttpLimits:
    """Limits on the size of responses, in bytes. All of them must be positive.

    Raises:
        ValueError: A limit is not a positive integer.
    """

    max_header_bytes: int = 64 << 10
    """Maximum size of the status line and headers."""
    max_line_bytes: int = 4 << 20
    """Maximum size of one line of a stream, which holds one chunk."""
    max_body_bytes: int = 256 << 20
    """Maximum size of a body."""
    max_queued_bytes: int = 256 << 10
    """Maximum size of unread data. Above it, reading from the socket pauses."""

    def __post_init__(self) -> None:
        for name in fields(self):
            value: object = getattr(self, name.name)
            if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
                raise ValueError(f"{name.name} must be a positive number of bytes, got {value!r}")
