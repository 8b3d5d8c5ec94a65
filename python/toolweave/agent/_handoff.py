"""Handing a conversation over to another agent: its tool and its event."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias

from .._checks import check_methods, check_text, wrong_type
from ..exceptions import ToolFailed
from ..tools import ToolContext, tool
from ..tools._names import provider_name
from ..tools._run_context import Deps

if TYPE_CHECKING:
    from ..executor import ToolExecutor
    from ..natural import NaturalToolUse
    from ..protocols import Messages
    from ..tools import Tool
    from ._history import HistoryProcessor
    from ._options import AgentSettings
    from ._result import RunnableAgent


class AgentSource(Protocol[Deps]):
    """An `Agent` with dependencies of this type and any output, as tools and handoffs run it."""

    @property
    def name(self) -> str | None:
        """The name of the agent."""
        ...

    @property
    def executor(self) -> ToolExecutor:
        """The executor of its calls."""
        ...

    def open(
        self,
        input: Messages | None,  # noqa: A002
        *,
        deps: Deps,
    ) -> Any:
        """Create a run; see `Agent.open`."""
        ...


@dataclass(frozen=True, eq=False)
class Handoff(Generic[Deps]):
    """Another agent that the model can hand the conversation over to, by calling a tool.

    The run continues with the instructions, the tools and the model of the other agent, which gets
    the same dependencies. Stored messages are not filtered: for each run of the agent, use its
    `history_processors`.

    Example:
        >>> from toolweave.testing import ScriptedModel
        >>> billing = Agent(ScriptedModel(), name="Billing")
        >>> Handoff(billing, "Answers questions about invoices.").tool_name
        'transfer_to_Billing'

    Raises:
        TypeError: The agent is not an agent, or the filter is not a function.
        ValueError: The agent has no name, or the name of the tool is empty.
    """

    agent: AgentSource[Deps]
    """The agent."""
    description: str | None = None
    """The purpose of the agent, by which the model decides."""
    input_filter: HistoryProcessor | None = None
    """History processor for the messages before the handoff: it decides what the agent is sent of
    them in the rest of the run."""
    name: str | None = None
    """The name of the tool; ``transfer_to_`` and the name of the agent if not given."""

    def __post_init__(self) -> None:
        check_methods("agent", self.agent, "an Agent", "open", "as_tool")
        check_text("description", self.description, none=True)
        check_text("name", self.name, none=True, empty=False)
        if self.input_filter is not None and not callable(self.input_filter):
            raise wrong_type("input_filter", "a function of a list of messages", self.input_filter)
        if self.agent.name is None:
            raise ValueError("an agent must have a name to be handed over to, got none")

    @property
    def tool_name(self) -> str:
        """The name of the tool that the model calls."""
        agent = provider_name(str(self.agent.name), default="agent")
        return provider_name(f"transfer_to_{agent}") if self.name is None else self.name

    @property
    def purpose(self) -> str:
        """The description of the tool."""
        default = f"Hand the conversation over to the agent {self.agent.name!r}."
        return default if self.description is None else self.description


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
    """The name of the agent."""
    use: NaturalToolUse
    """The model and the tools of the agent."""
    settings: AgentSettings
    """The settings of the agent."""
    input_filter: HistoryProcessor | None
    """The filter of the messages before the handoff."""


Transfer: TypeAlias = "Callable[[Target, str], None]"
"""A function that requests a handoff for the id of a call. It raises ToolFailed if the run is being
handed over already."""

current_transfer: contextvars.ContextVar[Transfer | None] = contextvars.ContextVar(
    "toolweave_transfer", default=None
)
"""The function that requests a handoff in the current run; None outside of runs."""


def handoff_tool(name: str, description: str, find: Callable[[], Target]) -> Tool[..., Any]:
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

    made: Tool[..., Any] = tool(transfer, name=name, description=description)
    return made
