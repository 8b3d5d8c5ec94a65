"""Framing of server-sent events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def to_json(value: object) -> str:
    """Return a value as compact JSON, on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def frame(payloads: Sequence[str], sequence_number: int | None = None) -> bytes:
    r"""Frame the payloads of an event for the stream.

    Each payload is JSON on one line, even for clients that split lines like `str.splitlines`. The
    sequence number is the `id:` of the last payload, so that a client that got only some of them
    receives all of them again.

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
    r"""Escape the line separators that JSON allows and `str.splitlines` splits at.

    They can occur only in strings, where an escape means the same character. JSON requires escapes
    for all others that `str.splitlines` splits at.

    Example:
        >>> one_line('"a\u2028b\x85"')
        '"a\\u2028b\\u0085"'
    """
    if payload.isascii():
        return payload
    # If there is nothing to replace, `str.replace` returns the same object.
    return (
        payload.replace("\x85", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )


def retry(seconds: float) -> bytes:
    """Return the field that sets a client's reconnection delay, in seconds."""
    return f"retry: {round(seconds * 1000)}\n\n".encode()
