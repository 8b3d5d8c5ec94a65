"""What a model wrote for arguments, as far as it can be shown again."""

from __future__ import annotations

import json
from typing import Any, cast

from .._core import Validator

_ANYTHING = Validator(True)
_decoder = json.JSONDecoder()


def leading_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text begins with, if it begins with one.

    For histories: a model that reads what was wrong with its call should see the call.
    """
    try:
        value: object = _decoder.raw_decode(text.lstrip())[0]
        _ANYTHING.validate(value)
    except (ValueError, TypeError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
