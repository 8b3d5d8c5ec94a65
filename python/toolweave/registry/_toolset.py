"""Toolset of a registry for agents, executors and MCP servers."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from .._core import FunctionContract, PromptTemplate
from ..tools import RunContext, Tool, ToolContext, Toolset
from ..tools._function import is_tool
from ..tools._names import valid_tool_name
from ._purpose import QUERY_PLACEHOLDERS, purpose
from ._registrations import ToolKey, handler_for

if TYPE_CHECKING:
    from .._core import ToolEntry
    from ..handlers import HandlerRun
    from ..tools._function import AnyTool
    from ._registrations import RegistryState


class RunHandler(Protocol):
    """Function that runs the handler of a tool with valid parameters."""

    def __call__(
        self,
        chosen: ToolEntry,
        parameters: Mapping[str, Any],
        handler: object,
        /,
        *,
        run_context: RunContext[Any],
    ) -> Awaitable[HandlerRun]:
        """Run the handler."""
        ...


Describe: TypeAlias = "Callable[[ToolEntry], str | None]"
"""Function that returns the description of a tool for a model."""

_EXAMPLES = 3


@dataclass
class MessageCollector:
    """Substitute for NLWeb's handler outside of NLWeb that collects the messages sent to it."""

    item_type: str
    site: str | None
    query: str = ""
    """The user's query."""
    query_params: dict[str, Any] = field(default_factory=dict[str, Any])
    """Parameters of the query's URL, as NLWeb's handlers have them."""
    messages: list[Any] = field(default_factory=list[Any])
    """Messages in the order in which they were sent."""

    async def send_message(self, message: Any) -> None:
        """Collect a message that a handler sends to the user."""
        self.messages.append(message)


class _CachedTool(NamedTuple):
    """Tool with everything that it was built from."""

    entry: ToolEntry
    served: object
    contract: FunctionContract | None
    tool: AnyTool

    def matches(self, entry: ToolEntry, served: object, contract: FunctionContract | None) -> bool:
        """Return True if the tool would be built from the same."""
        return entry == self.entry and served is self.served and contract == self.contract


class RegistryToolset(Toolset):
    """Toolset of a type and a site that is updated with its registry."""

    def __init__(
        self,
        asked: tuple[str, str | None],
        *,
        handler: object,
        describe: Describe | None,
        run: RunHandler,
    ) -> None:
        super().__init__()
        self._asked = asked
        self._handler = handler
        self._describe = describe or description_of
        self._run = run
        self._cached: dict[str, _CachedTool] = {}

    def update(self, state: RegistryState) -> None:
        """Replace the tools with those of a new state of the registry.

        Raises:
            ContractError: A tool cannot be described to a model.
        """
        tools: dict[str, AnyTool] = {}
        cached: dict[str, _CachedTool] = {}
        for entry in state.snapshot.tools_for(*self._asked):
            name = valid_tool_name(entry.name, "", tools)
            served = handler_for(entry, state.snapshot, state.handlers)
            contract = state.contracts.get(ToolKey(entry.name, entry.type, entry.site))
            # Most tools have not changed.
            same = self._cached.get(name)
            if same is None or not same.matches(entry, served, contract):
                tool = self._tool(entry, served, contract, name)
                # Raise errors here, before anything has changed.
                _ = tool.contract, tool.validator
                same = _CachedTool(entry, served, contract, tool)
            cached[name] = same
            tools[name] = same.tool
        with self._lock:
            self._cached = cached
            self._replace(tools)

    def _tool(
        self, entry: ToolEntry, served: object, contract: FunctionContract | None, name: str
    ) -> AnyTool:
        if is_tool(served) and served.name == name:
            # The tool has its own contract and options.
            return served
        parameters = entry.parameters if contract is None else contract.parameters
        description = contract.description if contract is not None else self._describe(entry)
        shown = FunctionContract(name, description, parameters)
        return Tool.from_contract(shown, self._caller(entry))

    def _caller(self, entry: ToolEntry) -> Callable[..., Awaitable[Any]]:
        item_type, site = self._asked

        async def call(*, toolweave_context: ToolContext[Any], **arguments: Any) -> Any:
            run = functools.partial(self._run, run_context=toolweave_context.run)
            if self._handler is not None:
                return (await run(entry, arguments, self._handler)).value
            collector = MessageCollector(item_type, site)
            value = (await run(entry, arguments, collector)).value
            if value is None and collector.messages:
                return collector.messages if len(collector.messages) > 1 else collector.messages[0]
            return value

        return call


def description_of(entry: ToolEntry) -> str | None:
    """Return the description of a tool for a model that may call it, from its prompt.

    Introductions of the query and demands for a score are left out, and placeholders are named in
    words. At most three examples follow.
    """
    values = {name: _in_words(name) for name in entry.placeholders if "." in name}
    purpose_text = PromptTemplate(purpose(entry.prompt, entry.name)).render(values)
    parts = [purpose_text] if purpose_text else []
    if entry.examples:
        lines = [f"- {' '.join(example.split())}" for example in entry.examples[:_EXAMPLES]]
        parts.append("\n".join(["Examples of what it is for:", *lines]))
    return "\n\n".join(parts) or None


def _in_words(placeholder: str) -> str:
    """Return a placeholder in words, such as ``the previous queries``."""
    if placeholder in QUERY_PLACEHOLDERS:
        return "the query"
    name = placeholder.rpartition(".")[2]
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)
    return f"the {words.replace('_', ' ').strip()}"
