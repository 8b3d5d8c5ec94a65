"""What is told of calls while they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from .._core import ToolAggregateMessage, ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool begins to run. Calls that are refused before that have only a result."""

    tool_call_id: str
    """The call."""
    name: str
    """The tool."""
    arguments: Mapping[str, Any]
    """What it is called with."""


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A running tool has something to show."""

    tool_call_id: str
    """The call."""
    value: Any
    """What the tool yielded, or gave to `ToolContext.progress`."""


@dataclass(frozen=True, slots=True)
class ToolQuestion:
    """A running tool asks the user, and waits for `ToolExecutor.resolve`."""

    tool_call_id: str
    """The call."""
    key: str
    """What to resolve."""
    question: str
    """What the tool wants to know."""
    schema: Mapping[str, Any] | None
    """The JSON Schema of an answer, where the tool gave one."""


@dataclass(frozen=True, slots=True)
class ToolApprovalRequested:
    """An approver is being asked about a call, and the call waits."""

    tool_call_id: str
    """The call."""
    name: str
    """The tool."""
    arguments: Mapping[str, Any]
    """What it is to be called with."""


@dataclass(frozen=True, slots=True)
class ToolApproval:
    """An approver has decided."""

    tool_call_id: str
    """The call."""
    outcome: str
    """``allowed``, ``denied``, ``timeout``, ``error`` or ``missing_approver``."""
    reason: str | None
    """Why, where something was said."""
    decided_by: str | None = None
    """The person or the rule that decided, where the approver names one."""


@dataclass(frozen=True, slots=True)
class ToolDeferred:
    """A tool will answer later: its call is pending until `ToolExecutor.resolve`."""

    tool_call_id: str
    """The call."""
    name: str
    """The tool."""
    key: str
    """What to resolve."""


ToolEvent: TypeAlias = (
    ToolStarted
    | ToolProgress
    | ToolQuestion
    | ToolApprovalRequested
    | ToolApproval
    | ToolDeferred
    | ToolResult
    | ToolAggregateMessage
)
"""One thing that happened to the calls of a reply; the aggregate is the last."""
