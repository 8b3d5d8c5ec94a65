"""Tools: functions that a model may call."""

from __future__ import annotations

from .context import ToolContext

__all__ = ["ToolContext"]
