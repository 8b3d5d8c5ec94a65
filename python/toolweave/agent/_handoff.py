"""Handing a conversation over to another agent: its tool and its event."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ..exceptions import ToolFailed
from ..tools import ToolContext, tool
from ..tools._names import provider_name

if TYPE_CHECKING:
    from ..natural import NaturalToolUse
    from ..tools import Tool
    from ._history import HistoryProcessor
    from ._options import AgentSettings
    from ._result import RunnableAgent


@dataclass(frozen=True)
class HandoffEvent:
    """The handoff of a run to another agent. The replies that follow are those of the other."""

    from_agent: str | None
    """The name of the agent whose model called the tool."""
    to_agent: str
    """The name of the agent that continues."""
    tool_call_id: str
    """The id of the call."""


@dataclass(frozen=True, eq=False)
class Target:
    """The agent that continues a run, as the run needs it."""

    agent: RunnableAgent
    """The agent."""
    name: str
    """Its name."""
    use: NaturalToolUse
    """Its model and its tools."""
    settings: AgentSettings
    """Its settings."""
    input_filter: HistoryProcessor | None
    """The filter of the messages before the handoff."""


Transfer: TypeAlias = "Callable[[Target, str], None]"
"""A function that requests a handoff for the id of a call. It raises ToolFailed if the run is being
handed over already."""

current_transfer: contextvars.ContextVar[Transfer | None] = contextvars.ContextVar(
    "toolweave_transfer", default=None
)
"""The function that requests a handoff in the current run; None outside of runs."""


def handoff_tool_name(agent: str) -> str:
    """Return the name of the tool that hands over to the agent of this name."""
    return provider_name(f"transfer_to_{provider_name(agent, default='agent')}")


def handoff_tool(name: str, description: str, find: Callable[[], Target]) -> Tool[..., str]:
    """Return the tool by which a model hands the conversation over.

    Args:
        name: The name of the tool.
        description: The purpose of the other agent.
        find: Function that returns the other agent.
    """

    async def transfer(context: ToolContext) -> str:
        request = current_transfer.get()
        if request is None:
            raise ToolFailed("A conversation can be handed over only in the run of an agent.")
        target = find()
        request(target, context.call_id)
        return f"Transferred to {target.name}."

    return tool(transfer, name=name, description=description)
