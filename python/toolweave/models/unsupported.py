"""Asking again without what a server does not know."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .streaming import logger

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPTIONAL = ("stream_options", "stop", "max_tokens")
"""What not every server takes, and what a request makes sense without."""


def unsupported_parameter(
    status: object, said: str, asked: Mapping[str, Any], before: frozenset[str]
) -> str | None:
    """The parameter that a server does not take, if it is one that can be left out.

    Args:
        status: The HTTP status of its answer.
        said: What it said.
        asked: What the request was to say.
        before: What has been left out already.
    """
    if status not in (400, 422):
        return None
    for name in _OPTIONAL:
        if name in asked and name not in before and re.search(rf"\b{name}\b", said):
            return name
    return None


def without(asked: Mapping[str, Any], refused: frozenset[str]) -> dict[str, Any]:
    """The request without these parameters, or with what newer servers call them."""
    kept = {name: value for name, value in asked.items() if name not in refused}
    if "max_tokens" in refused and "max_tokens" in asked:
        kept["max_completion_tokens"] = asked["max_tokens"]
    return kept


def log_unsupported(model: str, refused: frozenset[str]) -> None:
    """Says what a server has refused and a model has been asked without."""
    names = sorted(refused)
    logger.warning(
        "%s refuses %s; asked without",
        model,
        ", ".join(names),
        extra={"model": model, "refused": names},
    )
