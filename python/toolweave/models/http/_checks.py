"""Early checks of options. Their errors do not repeat values, which may be secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._core import HttpClient

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_options(**options: object) -> None:
    """Check text options and counts (those named ``max_...``).

    Raises:
        TypeError: An option has the wrong type.
        ValueError: A text is empty, or a count is negative.
    """
    for name, value in options.items():
        wanted = int if name.startswith("max_") else str
        if not isinstance(value, wanted) or isinstance(value, bool):
            kind = type(value).__name__
            raise TypeError(f"{name} must be of type {wanted.__name__}, got {kind}")
        if value == "" or (isinstance(value, int) and not 0 <= value < 1 << 32):
            raise ValueError(f"{name} must not be {value!r}")


def check_headers(headers: Mapping[str, str]) -> None:
    """Check that headers are valid in HTTP.

    Raises:
        TypeError: The value of a header is not a string.
        ValueError: A header has an invalid character.
    """
    HttpClient.check("http://localhost", dict(headers))
