"""Inline tool calls for language models."""

from __future__ import annotations

from ._core import Repair, __version__
from .exceptions import ContractError, ToolweaveError

__all__ = [
    "ContractError",
    "Repair",
    "ToolweaveError",
    "__version__",
]
