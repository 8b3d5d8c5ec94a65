"""Events of calls while they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from .._core import ToolAggregateMessage, ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """Start of a tool. A call that is refused before that emits only its result."""

    tool_call_id: str
    """Id of the call."""
    name: str
    """Name of the tool."""
    arguments: Mapping[str, Any]
    """Arguments of the call."""


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """Progress that a running tool reports."""

    tool_call_id: str
    """Id of the call."""
    value: Any
    """Value that the tool yielded, or passed to `ToolContext.progress`."""


@dataclass(frozen=True, slots=True)
class ToolQuestion:
    """Question of a running tool to the user. The tool waits for `ToolExecutor.resolve`."""

    tool_call_id: str
    """Id of the call."""
    key: str
    """Key to pass to `ToolExecutor.resolve`."""
    question: str
    """Text of the question."""
    schema: Mapping[str, Any] | None
    """JSON Schema of the answer, if the tool gave one."""


@dataclass(frozen=True, slots=True)
class ToolApprovalRequested:
    """Request for approval. The call waits for the approver's decision."""

    tool_call_id: str
    """Id of the call."""
    name: str
    """Name of the tool."""
    arguments: Mapping[str, Any]
    """Arguments that the tool would be called with."""


@dataclass(frozen=True, slots=True)
class ToolApproval:
    """Decision of an approver."""

    tool_call_id: str
    """Id of the call."""
    outcome: str
    """``allowed``, ``denied``, ``timeout``, ``error`` or ``missing_approver``."""
    reason: str | None
    """Reason for the decision, if the approver gave one."""
    decided_by: str | None = None
    """Person or rule that decided, if the approver names one."""


@dataclass(frozen=True, slots=True)
class ToolDeferred:
    """Deferral of a result. The call is pending until `ToolExecutor.resolve` delivers it."""

    tool_call_id: str
    """Id of the call."""
    name: str
    """Name of the tool."""
    key: str
    """Key to pass to `ToolExecutor.resolve`."""


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
"""Event of the calls of a reply. The aggregate is the last one."""
