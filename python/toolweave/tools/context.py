"""What a running tool knows of its call, and may ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._core import ToolCall


class Host(Protocol):
    """What runs a call, as its context sees it. Implemented by the executor."""

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the result any more."""
        ...

    def progress(self, call: ToolCall, value: Any) -> None:
        """Shows a value to whoever watches, from any thread."""
        ...

    async def ask(self, call: ToolCall, question: str, schema: Mapping[str, Any] | None) -> Any:
        """Asks the user."""
        ...

    async def call(self, parent: ToolCall, name: str, arguments: Mapping[str, Any]) -> Any:
        """Runs another tool for the one that serves `parent`."""
        ...


class ToolContext:
    """The call that a tool serves. A parameter annotated with this class is given one.

    Example:
        >>> async def count(up_to: int, context: ToolContext) -> int:
        ...     for number in range(up_to):
        ...         context.progress(number)
        ...     return up_to
    """

    __slots__ = ("_host", "attempt", "metadata", "tool_call")

    def __init__(
        self,
        host: Host,
        tool_call: ToolCall,
        *,
        attempt: int = 1,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self._host = host
        self.tool_call = tool_call
        """The call."""
        self.attempt = attempt
        """How often the tool has been started for it, this time included."""
        self.metadata: Mapping[str, Any] = {} if metadata is None else metadata
        """What the application gave the executor for its tools."""

    @property
    def call_id(self) -> str:
        """The id of the call."""
        return self.tool_call.id

    @property
    def cancelled(self) -> bool:
        """Whether the result is no longer wanted. For tools in threads, which cannot be stopped."""
        return self._host.cancelled

    def progress(self, value: Any) -> None:
        """Shows something to whoever watches. Any thread may call this."""
        self._host.progress(self.tool_call, value)

    async def ask(self, question: str, schema: Mapping[str, Any] | None = None) -> Any:
        """Asks the user and waits for the answer.

        Args:
            question: What to ask.
            schema: The JSON Schema that the answer has to fit.
        """
        return await self._host.ask(self.tool_call, question, schema)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Calls another tool: validated, under the same limits, up to a depth.

        Returns:
            What its function returned.

        Raises:
            ToolFailed: It did not succeed; the text says why.
        """
        return await self._host.call(self.tool_call, name, arguments)
