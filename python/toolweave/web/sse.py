"""Server-sent events: how payloads are framed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def frame(payloads: Sequence[str], sequence_number: int | None = None) -> bytes:
    r"""The payloads of an event as they stand in the stream.

    Each is one line of JSON. The number is the `id:` of the last, so that a client which saw some
    of them is told all of them again.

    Example:
        >>> frame(['{"a":1}', '{"b":2}'], 7)
        b'data: {"a":1}\n\nid: 7\ndata: {"b":2}\n\n'
    """
    last = len(payloads) - 1
    return "".join(
        f"id: {sequence_number}\ndata: {payload}\n\n"
        if sequence_number is not None and number == last
        else f"data: {payload}\n\n"
        for number, payload in enumerate(payloads)
    ).encode()


def retry(seconds: float) -> bytes:
    """Tells a client after how many seconds to connect again."""
    return f"retry: {round(seconds * 1000)}\n\n".encode()
