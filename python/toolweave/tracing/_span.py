"""The interface of spans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing_extensions import Self

    from .._core import ToolResult, UsageUpdate


class Span(Protocol):
    """A traced operation, used as a context manager. An exception that leaves it is recorded."""

    def set(self, name: str, value: Any) -> None:
        """Set an attribute, unless the value is None."""
        ...

    def content(self, name: str, value: Any) -> None:
        """Set an attribute with message content, if capturing content is enabled."""
        ...

    def result(self, result: ToolResult) -> None:
        """Record the result of a tool."""
        ...

    def usage(self, usage: UsageUpdate) -> None:
        """Record the number of tokens used."""
        ...

    def fail(self, kind: str, description: str | None = None) -> None:
        """Record that the operation failed.

        Args:
            kind: Type of the error, such as an error code or the name of an exception.
            description: Description of the error; recorded only if content is captured.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None: ...
