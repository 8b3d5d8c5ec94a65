"""Server-sent events: how payloads are framed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def frame(payloads: Sequence[str], sequence_number: int | None = None) -> bytes:
    r"""The payloads of an event as they stand in the stream.

    Each is JSON, and one line of the stream, also for clients that split lines as `str.splitlines`
    does. The number is the `id:` of the last, so that a client which saw some of them is told all
    of them again.

    Example:
        >>> frame(['{"a":1}', '{"b":2}'], 7)
        b'data: {"a":1}\n\nid: 7\ndata: {"b":2}\n\n'
    """
    last = len(payloads) - 1
    return "".join(
        f"id: {sequence_number}\ndata: {one_line(payload)}\n\n"
        if sequence_number is not None and number == last
        else f"data: {one_line(payload)}\n\n"
        for number, payload in enumerate(payloads)
    ).encode()


def one_line(payload: str) -> str:
    r"""JSON without the line separators that JSON may hold and `str.splitlines` splits at.

    They stand in strings only, where an escape is the same character; all others that
    `str.splitlines` splits at are escaped in any JSON.

    Example:
        >>> one_line('"a\u2028b\x85"')
        '"a\\u2028b\\u0085"'
    """
    if payload.isascii():
        return payload
    # Where there is nothing to replace, the text itself comes back.
    return (
        payload.replace("\x85", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )


def retry(seconds: float) -> bytes:
    """Tells a client after how many seconds to connect again."""
    return f"retry: {round(seconds * 1000)}\n\n".encode()
