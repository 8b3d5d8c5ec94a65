"""What exceptions say."""

from __future__ import annotations


def exception_text(error: BaseException, default: str = "") -> str:
    """The message of an exception, which may be anybody's and may not be able to say it.

    Args:
        error: The exception.
        otherwise: What to say in its place.
    """
    try:
        return str(error)
    except Exception:
        return default
