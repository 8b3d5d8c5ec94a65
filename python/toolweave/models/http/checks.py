"""Options that would fail in the first request, refused before it. No value is repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._core import HttpClient

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_options(**options: object) -> None:
    """Texts must say something, and counts count.

    Raises:
        TypeError: An option is of the wrong type.
        ValueError: A text is empty, or a count is negative.
    """
    for name, value in options.items():
        wanted = int if name.startswith("max_") else str
        if not isinstance(value, wanted) or isinstance(value, bool):
            kind = type(value).__name__
            raise TypeError(f"{name} must be of the type {wanted.__name__}, not {kind}")
        if value == "" or (isinstance(value, int) and not 0 <= value < 1 << 32):
            raise ValueError(f"{name} must not be {value!r}")


def check_headers(headers: Mapping[str, str]) -> None:
    """Headers must be such as can be sent.

    Raises:
        TypeError: One of them is no text.
        ValueError: One of them holds what no header can.
    """
    HttpClient.check("http://localhost", dict(headers))
