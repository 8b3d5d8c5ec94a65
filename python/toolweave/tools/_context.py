"""Context of a running tool: its call, and what it can request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol

from ._run_context import ContextDeps, RunContext

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._core import ToolCall


class Host(Protocol):
    """Runner of a call, as its context uses it. Implemented by the executor."""

    @property
    def cancelled(self) -> bool:
        """True if the result is no longer needed."""
        ...

    def progress(self, value: Any) -> None:
        """Report progress. Thread-safe."""
        ...

    async def ask(self, question: str, schema: Mapping[str, Any] | None) -> Any:
        """Ask the user."""
        ...

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run another tool on behalf of the tool."""
        ...


class ToolContext(Generic[ContextDeps]):
    """Context of a call. A tool gets it through a parameter annotated with this class.

    The type in brackets is that of the dependencies of the run. `ToolContext` alone fits
    dependencies of any type.

    Example:
        >>> async def count(up_to: int, context: ToolContext) -> int:
        ...     for number in range(up_to):
        ...         context.progress(number)
        ...     return up_to
    """

    __slots__ = ("_host", "attempt", "metadata", "run", "tool_call")

    def __init__(
        self,
        host: Host,
        tool_call: ToolCall,
        run: RunContext[ContextDeps],
        *,
        attempt: int = 1,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self._host = host
        self.tool_call = tool_call
        """The call."""
        self.run = run
        """The context of the request whose reply has the call."""
        self.attempt = attempt
        """Number of the current attempt, from 1."""
        self.metadata: Mapping[str, Any] = {} if metadata is None else metadata
        """Metadata that the application passed to the executor."""

    @property
    def deps(self) -> ContextDeps:
        """The dependencies that the application passed to the run."""
        return self.run.deps

    @property
    def call_id(self) -> str:
        """The id of the call."""
        return self.tool_call.id

    @property
    def cancelled(self) -> bool:
        """True if the result is no longer needed. Tools in threads should check it and return."""
        return self._host.cancelled

    def progress(self, value: Any) -> None:
        """Report progress. Thread-safe."""
        self._host.progress(value)

    async def ask(self, question: str, schema: Mapping[str, Any] | None = None) -> Any:
        """Ask the user and wait for the answer.

        Args:
            question: The question.
            schema: JSON Schema of the answer.
        """
        return await self._host.ask(question, schema)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call another tool, with validation, the same limits, and a maximum depth.

        Returns:
            The return value of its function.

        Raises:
            ToolFailed: The call failed; the text has the reason.
        """
        return await self._host.call_tool(name, arguments)
