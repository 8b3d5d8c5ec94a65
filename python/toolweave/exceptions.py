"""Exceptions of this package.

ToolweaveError
├── ChatRequestError          (also a RuntimeError)
├── ConsolidationError        (also a ValueError)
├── ContractError             (also a ValueError)
├── HandlerError              (also an ImportError)
├── InvalidJSONError          (also a ValueError)
├── MessageError              (also a ValueError)
├── ModelError                (also a RuntimeError)
├── OutputError               (also a ValueError)
├── OutputTypeError           (also a TypeError)
├── PoolError                 (also a RuntimeError)
├── RateLimitedError          (also a RuntimeError)
├── RegistryError             (also a ValueError)
├── ResultError               (also a TypeError)
├── SchemaError               (also a ValueError)
├── StoreError                (also a RuntimeError)
│   ├── ChatBusyError
│   ├── ChatLimitError
│   ├── ChatNotFoundError
│   └── RunLostError
├── ToolError                 (also a RuntimeError)
│   ├── ModelRetry
│   ├── ToolFailed
│   └── TransientToolError
├── ToolDefinitionError       (also a TypeError)
├── ToolServerError           (also a ConnectionError)
├── ToolUseError              (also a RuntimeError)
│   ├── MaxIterationsError
│   └── ToolUseParsingError
├── UnpricedModelError        (also a LookupError)
└── ValidationError           (also a ValueError)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._core import Diagnostic, InvalidToolCall, Violation
    from ._messages import Message

__all__ = [
    "ChatBusyError",
    "ChatLimitError",
    "ChatNotFoundError",
    "ChatRequestError",
    "ConsolidationError",
    "ContractError",
    "HandlerError",
    "InvalidJSONError",
    "MaxIterationsError",
    "MessageError",
    "ModelError",
    "ModelRetry",
    "OutputError",
    "OutputTypeError",
    "PoolError",
    "RateLimitedError",
    "RegistryError",
    "ResultError",
    "RunLostError",
    "SchemaError",
    "StoreError",
    "ToolDefinitionError",
    "ToolError",
    "ToolFailed",
    "ToolServerError",
    "ToolUseError",
    "ToolUseParsingError",
    "ToolweaveError",
    "TransientToolError",
    "UnpricedModelError",
    "ValidationError",
]


class ToolweaveError(Exception):
    """Base of every exception in this package."""

    # Subclasses pass all their arguments to `Exception`, the message first, so that they can be
    # pickled.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ChatRequestError(ToolweaveError, RuntimeError):
    """A chat server refused a request, or could not be reached. Raised by `toolweave.client`.

    The exception of the HTTP client, if there was one, is the `__cause__`.
    """

    def __init__(
        self, message: str, status: int | None, code: str, retry_after: float | None = None
    ) -> None:
        super().__init__(message, status, code, retry_after)
        self.status = status
        """HTTP status; None if there was no response."""
        self.code = code
        """Error code of the server, such as ``chat_busy`` or ``not_found``; if it gave none,
        ``unreachable``, ``unreadable``, ``event_too_long`` or ``refused``."""
        self.retry_after = retry_after
        """Seconds that the server asks the client to wait; None if it does not say."""


class ConsolidationError(ToolweaveError, ValueError):
    """A history cannot be written as text."""

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message, index)
        self.index = index
        """Index of the message that cannot be written, from 0."""


class ContractError(ToolweaveError, ValueError):
    """A function contract cannot be used."""

    def __init__(self, message: str, tool: str, place: str = "") -> None:
        super().__init__(message, tool, place)
        self.tool = tool
        """Name of the tool, as given; empty if it had none."""
        self.place = place
        """Location in its schema, as a JSON Pointer; empty for the whole schema."""


class HandlerError(ToolweaveError, ImportError):
    """A handler named in a registry cannot be imported or used."""

    def __init__(self, message: str, handler: str) -> None:
        super().__init__(message, handler)
        self.handler = handler
        """Dotted path of the handler, as written in the registry."""


class InvalidJSONError(ToolweaveError, ValueError):
    """Text is not JSON and cannot be repaired into JSON."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message, line, column)
        self.line = line
        """Line at which the text stops being JSON, from 1."""
        self.column = column
        """Column in that line, from 1."""


class MessageError(ToolweaveError, ValueError):
    """A message cannot be read, or cannot be written in the requested format."""

    def __init__(self, message: str, index: int | None = None, path: str = "") -> None:
        super().__init__(message, index, path)
        self.index = index
        """Index of the message in the given list; None if a single message was given."""
        self.path = path
        """Location in the message, as a JSON Pointer; empty for the whole message."""


class ModelError(ToolweaveError, RuntimeError):
    """A request to a model failed, or its reply broke off.

    Updates received before the failure are yielded before this is raised. The exception of the
    provider's client is the `__cause__`.
    """

    def __init__(
        self,
        message: str,
        provider: str | None = None,
        status: int | None = None,
        retry_after: float | None = None,
        transient: bool | None = None,
    ) -> None:
        if transient is None:
            transient = status is not None and _is_transient(status)
        super().__init__(message, provider, status, retry_after, transient)
        self.provider = provider
        """Provider of the model, such as ``openai``."""
        self.status = status
        """HTTP status; None if there was no response."""
        self.retry_after = retry_after
        """Seconds that the server asks the client to wait; None if it does not say."""
        self.transient = transient
        """True if a retry may succeed. Derived from the status unless given."""


def _is_transient(status: int) -> bool:
    """Return True if a request that failed with this HTTP status may succeed when retried."""
    return status in (408, 409, 425, 429) or (500 <= status < 600 and status not in (501, 505))


class OutputError(ToolweaveError, ValueError):
    """A run has no output: the model did not write a valid one, or the run ended before it."""

    def __init__(
        self,
        message: str,
        text: str = "",
        violations: tuple[Violation, ...] = (),
        messages: tuple[Message, ...] = (),
        partial: Any = None,
    ) -> None:
        super().__init__(message, text, violations, messages, partial)
        self.text = text
        """Last reply of the model, as written; empty if the run ended before it."""
        self.violations = violations
        """Violations in that reply; empty if a function refused it, or there is none."""
        self.messages = messages
        """Messages of the conversation, valid history for another run."""
        self.partial = partial
        """JSON value of the last reply, before validation; None if the reply is not JSON."""


class OutputTypeError(ToolweaveError, TypeError):
    """A type cannot be the type of an output."""

    def __init__(self, message: str, output_type: str) -> None:
        super().__init__(message, output_type)
        self.output_type = output_type
        """The type, as text."""


class PoolError(ToolweaveError, RuntimeError):
    """A pool could not run a function, or could not transfer the function or its result."""


class RateLimitedError(ToolweaveError, RuntimeError):
    """A `RateLimiter` refused a request that would have had to wait too long."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message, retry_after)
        self.retry_after = retry_after
        """Seconds after which a retry may succeed."""


class RegistryError(ToolweaveError, ValueError):
    """A tool registry is invalid."""

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(message, diagnostics)
        self.diagnostics = diagnostics
        """Errors and warnings, in the order of the text."""


class ResultError(ToolweaveError, TypeError):
    """The return value of a tool cannot be written as JSON."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message, path)
        self.path = path
        """Location in the value, as a JSON Pointer; empty for the whole value."""


class SchemaError(ToolweaveError, ValueError):
    """A JSON Schema is invalid or not supported."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message, path)
        self.path = path
        """Location in the schema, as a JSON Pointer; empty for the whole schema."""


class StoreError(ToolweaveError, RuntimeError):
    """The database of a store cannot be used, or rejects an operation."""

    def __init__(self, message: str, transient: bool = False) -> None:
        super().__init__(message, transient)
        self.transient = transient
        """True if a retry may succeed: the server is unavailable, or the database is locked."""


class ChatBusyError(StoreError):
    """A run cannot start while another run of the same chat is active."""

    def __init__(self, message: str, chat_id: str, run_id: str) -> None:
        super().__init__(message)
        self.args = (message, chat_id, run_id)
        self.chat_id = chat_id
        """Id of the chat."""
        self.run_id = run_id
        """Id of the active run."""


class ChatLimitError(StoreError):
    """A chat cannot be created because its user has reached the limit."""

    def __init__(self, message: str, user_id: str, limit: int) -> None:
        super().__init__(message)
        self.args = (message, user_id, limit)
        self.user_id = user_id
        """Id of the user."""
        self.limit = limit
        """Maximum number of chats per user."""


class ChatNotFoundError(StoreError):
    """The chat does not exist, or was deleted."""

    def __init__(self, message: str, chat_id: str) -> None:
        super().__init__(message)
        self.args = (message, chat_id)
        self.chat_id = chat_id
        """Id of the chat."""


class RunLostError(StoreError):
    """A run no longer belongs to its owner: it has ended, or its lease has expired."""

    def __init__(self, message: str, run_id: str) -> None:
        super().__init__(message)
        self.args = (message, run_id)
        self.run_id = run_id
        """Id of the run."""


class ToolError(ToolweaveError, RuntimeError):
    """Base of exceptions that tools raise on purpose. The model reads the message."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        """Text for the model, passed on unchanged."""


class ModelRetry(ToolError):  # noqa: N818 - known by this name
    """The call is unsuitable; the model should call the tool again with other arguments."""


class ToolFailed(ToolError):  # noqa: N818 - known by this name
    """The tool cannot serve the call, and a retry will not help."""


class TransientToolError(ToolError):
    """The tool is temporarily unavailable; the executor retries the call if retries are allowed."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        # `ToolError` stores only the message, but pickling needs all arguments.
        self.args = (message, retry_after)
        self.retry_after = retry_after
        """Seconds to wait before the retry; None if the tool does not say."""


class ToolDefinitionError(ToolweaveError, TypeError):
    """A function cannot be turned into a tool."""

    def __init__(self, message: str, tool: str) -> None:
        super().__init__(message, tool)
        self.tool = tool
        """Name of the tool."""


class ToolServerError(ToolweaveError, ConnectionError):
    """A tool server cannot be reached, or violates the protocol."""

    def __init__(self, message: str, server: str) -> None:
        super().__init__(message, server)
        self.server = server
        """Name of the server."""


class ToolUseError(ToolweaveError, RuntimeError):
    """Base of errors that strict mode raises instead of reporting them to the model."""


class MaxIterationsError(ToolUseError):
    """The model still called tools in the last permitted iteration."""

    def __init__(self, message: str, max_iterations: int) -> None:
        super().__init__(message, max_iterations)
        self.max_iterations = max_iterations
        """Maximum number of iterations."""


class ToolUseParsingError(ToolUseError):
    """A reply contains a call that cannot be executed."""

    def __init__(self, message: str, call: InvalidToolCall) -> None:
        super().__init__(message, call)
        self.call = call
        """The invalid call, with its raw text and the error."""


class UnpricedModelError(ToolweaveError, LookupError):
    """A model has no price, so a budget cannot be enforced for it."""

    def __init__(self, message: str, model: str) -> None:
        super().__init__(message, model)
        self.model = model
        """Name of the model."""


class ValidationError(ToolweaveError, ValueError):
    """A value does not match its schema."""

    def __init__(self, message: str, violations: tuple[Violation, ...]) -> None:
        super().__init__(message, violations)
        self.violations = violations
        """Violations of the schema: at least one."""
