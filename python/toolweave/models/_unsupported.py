"""Repeating requests without parameters that a server does not support."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ._streaming import logger

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPTIONAL = ("stream_options", "stop", "max_tokens")
"""Parameters that some servers reject, and that a request can omit."""


def unsupported_parameter(
    status: object, text: str, request: Mapping[str, Any], omitted: frozenset[str]
) -> str | None:
    """Return the parameter that a server rejected, if the request can omit it.

    Args:
        status: HTTP status of the response.
        text: Error text of the response.
        request: Fields of the request.
        omitted: Parameters that have been omitted already.
    """
    if status not in (400, 422):
        return None
    for name in _OPTIONAL:
        if name in request and name not in omitted and re.search(rf"\b{name}\b", text):
            return name
    return None


def without_parameters(request: Mapping[str, Any], omitted: frozenset[str]) -> dict[str, Any]:
    """Return a request without some parameters, or with the newer names of those."""
    remaining = {name: value for name, value in request.items() if name not in omitted}
    if "max_tokens" in omitted and "max_tokens" in request:
        remaining["max_completion_tokens"] = request["max_tokens"]
    return remaining


def log_unsupported(model: str, omitted: frozenset[str]) -> None:
    """Log the parameters that a server rejected, and that requests now omit."""
    names = sorted(omitted)
    logger.warning(
        "%s refuses %s; asked without",
        model,
        ", ".join(names),
        extra={"model": model, "refused": names},
    )
