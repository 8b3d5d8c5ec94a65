"""Natural tool use: inline calls with any model that writes text."""

from __future__ import annotations

from .options import ExecutorOptions, ToolUseOptions
from .parser import NaturalToolUseParser, ParsedReply, ReplyEvent, ToolMode
from .run import ReplyRun, UseEvent
from .use import FunctionCalling, NaturalToolUse

__all__ = [
    "ExecutorOptions",
    "FunctionCalling",
    "NaturalToolUse",
    "NaturalToolUseParser",
    "ParsedReply",
    "ReplyEvent",
    "ReplyRun",
    "ToolMode",
    "ToolUseOptions",
    "UseEvent",
]
