"""Whether a failure may pass by itself, and how long the server asks to wait for that."""

from __future__ import annotations

import email.utils
import json
import math
import time
from collections.abc import Mapping
from typing import Any, cast

_EXHAUSTED = frozenset({"insufficient_quota", "billing_hard_limit_reached", "credit_balance"})
"""Words for a 429 that is no matter of waiting."""

_CONNECTIONS = frozenset({"APIConnectionError", "TransportError", "Timeout"})
"""Names of the clients' classes for connections that failed. The clients are not imported here."""

_LONGEST_CHAIN = 20


def is_transient_error(error: BaseException, status: int | None, body: object) -> bool | None:
    """Whether a failure may pass; None where its status says so.

    Args:
        error: What the client raised.
        status: The HTTP status, where there is one.
        body: What the server said, without the wrapping.
    """
    if status is not None:
        return False if _words(body) & _EXHAUSTED else None
    link: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if link is None:
            break
        # A chunk that cannot be read is most often one that was cut.
        if isinstance(
            link, (ConnectionError, TimeoutError, json.JSONDecodeError, UnicodeDecodeError)
        ) or any(kind.__name__ in _CONNECTIONS for kind in type(link).__mro__):
            return True
        link = link.__cause__
    return False


def retry_after(error: BaseException) -> float | None:
    """The seconds that a server asks to wait, if it does.

    Args:
        error: What the client raised; its response has the headers.
    """
    headers: object = getattr(getattr(error, "response", None), "headers", None)
    if not isinstance(headers, Mapping):
        return None
    said = cast("Mapping[str, str]", headers)
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(said.get(name, "")) * unit
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    date = email.utils.parsedate_tz(said.get("retry-after", ""))
    if date is None:
        return None
    try:
        return max(email.utils.mktime_tz(date) - time.time(), 0.0)
    except (OverflowError, ValueError):
        return None


def _words(body: object) -> set[str]:
    if not isinstance(body, Mapping):
        return set()
    fields = cast("Mapping[str, Any]", body)
    return {str(fields.get(name)) for name in ("code", "type")}
