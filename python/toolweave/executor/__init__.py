"""Running calls: concurrently, in bounds, with one result for each."""

from __future__ import annotations

from .events import (
    ToolApproval,
    ToolDeferred,
    ToolEvent,
    ToolProgress,
    ToolQuestion,
    ToolStarted,
)

__all__ = [
    "ToolApproval",
    "ToolDeferred",
    "ToolEvent",
    "ToolProgress",
    "ToolQuestion",
    "ToolStarted",
]
