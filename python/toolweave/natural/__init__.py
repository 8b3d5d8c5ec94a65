"""Natural tool use: inline calls with any model that writes text."""

from __future__ import annotations

from .parser import NaturalToolUseParser, ParsedReply, ReplyEvent, ToolMode

__all__ = ["NaturalToolUseParser", "ParsedReply", "ReplyEvent", "ToolMode"]
