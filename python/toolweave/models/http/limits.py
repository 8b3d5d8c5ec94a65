"""How large an answer may be."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class HttpLimits:
    """Bounds on what a server may send, in bytes. All of them are positive.

    Raises:
        ValueError: One of them is not.
    """

    max_header_bytes: int = 64 << 10
    """The head of an answer."""
    max_line_bytes: int = 4 << 20
    """One line of a stream, which holds one chunk."""
    max_body_bytes: int = 256 << 20
    """All of a reply."""
    max_queued_bytes: int = 256 << 10
    """What may wait to be read. Past that the socket is left alone until some of it has been."""

    def __post_init__(self) -> None:
        for name in fields(self):
            value: object = getattr(self, name.name)
            if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
                raise ValueError(f"{name.name} must be a positive number of bytes, not {value!r}")
