"""Arguments of invalid calls, for histories."""

from __future__ import annotations

import json
from typing import Any, cast

from .._core import Validator

_ANYTHING = Validator(True)
_decoder = json.JSONDecoder()


def leading_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object at the start of a text; None if there is none.

    Histories show it, so that a model that reads the errors of its call also sees the call.
    """
    try:
        value: object = _decoder.raw_decode(text.lstrip())[0]
        _ANYTHING.validate(value)
    except (ValueError, TypeError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
