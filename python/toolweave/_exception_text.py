"""Texts of exceptions."""

from __future__ import annotations


def exception_text(error: BaseException, default: str = "") -> str:
    """Return the text of an exception, or a default if its `__str__` raises.

    Args:
        error: The exception.
        default: Text to return in that case.
    """
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - `__str__` may raise anything
        return default
