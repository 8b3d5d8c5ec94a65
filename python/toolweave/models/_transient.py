"""Classification of errors as transient, and the delay that a server asks for."""

from __future__ import annotations

import email.utils
import json
import math
import time
from collections.abc import Mapping
from typing import Any, cast

_EXHAUSTED = frozenset({"insufficient_quota", "billing_hard_limit_reached", "credit_balance"})
"""Error codes of a status 429 that waiting does not resolve."""

_CONNECTIONS = frozenset({"APIConnectionError", "TransportError", "Timeout"})
"""Class names of connection errors of clients, which are not imported here."""

_LONGEST_CHAIN = 20


def is_transient_error(error: BaseException, status: int | None, body: object) -> bool | None:
    """Return True if an error is transient; None if its status decides.

    Args:
        error: Exception of the client.
        status: HTTP status of the response, if there is one.
        body: Error object of the response body.
    """
    if status is not None:
        return False if _error_codes(body) & _EXHAUSTED else None
    link: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if link is None:
            break
        # An unreadable chunk is most often a truncated one.
        if isinstance(
            link, (ConnectionError, TimeoutError, json.JSONDecodeError, UnicodeDecodeError)
        ) or any(kind.__name__ in _CONNECTIONS for kind in type(link).__mro__):
            return True
        link = link.__cause__
    return False


def retry_after(error: BaseException) -> float | None:
    """Return the delay that a server asks for, in seconds; None if it asks for none.

    Args:
        error: Exception of the client, whose response has the headers.
    """
    headers: object = getattr(getattr(error, "response", None), "headers", None)
    if not isinstance(headers, Mapping):
        return None
    fields = cast("Mapping[str, str]", headers)
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(fields.get(name, "")) * unit
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    date = email.utils.parsedate_tz(fields.get("retry-after", ""))
    if date is None:
        return None
    try:
        return max(email.utils.mktime_tz(date) - time.time(), 0.0)
    except (OverflowError, ValueError):
        return None


def _error_codes(body: object) -> set[str]:
    if not isinstance(body, Mapping):
        return set()
    fields = cast("Mapping[str, Any]", body)
    return {str(fields.get(name)) for name in ("code", "type")}
