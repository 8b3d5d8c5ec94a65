"""Everything this package raises.

ToolweaveError
├── ChatRequestError          (also a RuntimeError)
├── ConsolidationError        (also a ValueError)
├── ContractError             (also a ValueError)
├── HandlerError              (also an ImportError)
├── InvalidJSONError          (also a ValueError)
├── MessageError              (also a ValueError)
├── ModelError                (also a RuntimeError)
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

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._core import Diagnostic, InvalidToolCall, Violation


class ToolweaveError(Exception):
    """The base of every exception in this package."""

    # Subclasses hand all they carry to `Exception`, so that they survive
    # pickling; the message is the first of it.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ChatRequestError(ToolweaveError, RuntimeError):
    """A server of chats refused a request, or could not be reached. Raised by `toolweave.client`.

    The client's own exception, where there was one, is the `__cause__`.
    """

    def __init__(
        self, message: str, status: int | None, code: str, retry_after: float | None = None
    ) -> None:
        super().__init__(message, status, code, retry_after)
        self.status = status
        """The HTTP status; None where there was no answer."""
        self.code = code
        """The server's code, such as ``chat_busy`` or ``not_found``; otherwise ``unreachable``,
        ``unreadable``, ``event_too_long`` or ``refused``."""
        self.retry_after = retry_after
        """How many seconds the server asks to wait, where it does."""


class ConsolidationError(ToolweaveError, ValueError):
    """A history cannot be written as text."""

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message, index)
        self.index = index
        """The position of the message that is at fault, from 0."""


class ContractError(ToolweaveError, ValueError):
    """A function contract cannot be used."""

    def __init__(self, message: str, tool: str, place: str = "") -> None:
        super().__init__(message, tool, place)
        self.tool = tool
        """The name of the tool, as given; empty where there was none."""
        self.place = place
        """Where in its schema, as a JSON Pointer; empty for the whole."""


class HandlerError(ToolweaveError, ImportError):
    """The handler that a registry names cannot be had."""

    def __init__(self, message: str, handler: str) -> None:
        super().__init__(message, handler)
        self.handler = handler
        """Its dotted path, as the registry has it."""


class InvalidJSONError(ToolweaveError, ValueError):
    """Text is not JSON, or nothing that can be made into JSON."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message, line, column)
        self.line = line
        """The line of the text where it stops being JSON, from 1."""
        self.column = column
        """The column of that line, from 1."""


class MessageError(ToolweaveError, ValueError):
    """A message cannot be read, or cannot be said in the form that was asked for."""

    def __init__(self, message: str, index: int | None = None, path: str = "") -> None:
        super().__init__(message, index, path)
        self.index = index
        """The position of the message, where there was a list of them."""
        self.path = path
        """Where in the message, as a JSON Pointer; empty for the message as a whole."""


class ModelError(ToolweaveError, RuntimeError):
    """A model could not be asked, or its reply broke off.

    What had come of the reply has been handed on before this is raised. The client's own
    exception is the `__cause__`.
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
        """Whose model it is, such as ``openai``."""
        self.status = status
        """The HTTP status, where there was one."""
        self.retry_after = retry_after
        """How many seconds the server asks to wait, where it does."""
        self.transient = transient
        """Whether asking again may help. If nobody said so, the status decides."""


def _is_transient(status: int) -> bool:
    """Whether what stands behind an HTTP status may pass by itself."""
    return status in (408, 409, 425, 429) or (500 <= status < 600 and status not in (501, 505))


class PoolError(ToolweaveError, RuntimeError):
    """A pool could not run a function, or could not carry it or its result."""


class RateLimitedError(ToolweaveError, RuntimeError):
    """Somebody asks more often than a `RateLimiter` lets them, and would have to wait too long."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message, retry_after)
        self.retry_after = retry_after
        """In how many seconds asking again may help."""


class RegistryError(ToolweaveError, ValueError):
    """A registry of tools cannot be used as it is written."""

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(message, diagnostics)
        self.diagnostics = diagnostics
        """All that is wrong with it, warnings included, in the order of the text."""


class ResultError(ToolweaveError, TypeError):
    """What a tool returned cannot be written as JSON."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message, path)
        self.path = path
        """Where in the value, as a JSON Pointer; empty for the value as a whole."""


class SchemaError(ToolweaveError, ValueError):
    """A JSON Schema cannot be used."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message, path)
        self.path = path
        """Where in the schema, as a JSON Pointer; empty for the whole schema."""


class StoreError(ToolweaveError, RuntimeError):
    """The database of a store cannot be used, or does not take what it is given."""

    def __init__(self, message: str, transient: bool = False) -> None:
        super().__init__(message, transient)
        self.transient = transient
        """Whether the same may go well in a while: the server is away, or others hold it."""


class ChatBusyError(StoreError):
    """A run cannot be started while another one of the same chat is active."""

    def __init__(self, message: str, chat_id: str, run_id: str) -> None:
        super().__init__(message)
        self.args = (message, chat_id, run_id)
        self.chat_id = chat_id
        """The chat."""
        self.run_id = run_id
        """The run that is active."""


class ChatLimitError(StoreError):
    """A chat cannot be made, since its user has as many as they may have."""

    def __init__(self, message: str, user_id: str, limit: int) -> None:
        super().__init__(message)
        self.args = (message, user_id, limit)
        self.user_id = user_id
        """The user."""
        self.limit = limit
        """How many they may have."""


class ChatNotFoundError(StoreError):
    """There is no such chat, or not any more."""

    def __init__(self, message: str, chat_id: str) -> None:
        super().__init__(message)
        self.args = (message, chat_id)
        self.chat_id = chat_id
        """The chat."""


class RunLostError(StoreError):
    """A run is not its owner's any more: it has ended, or was taken for dead."""

    def __init__(self, message: str, run_id: str) -> None:
        super().__init__(message)
        self.args = (message, run_id)
        self.run_id = run_id
        """The run."""


class ToolError(ToolweaveError, RuntimeError):
    """The base of what tools raise on purpose: the text is meant for the model to read."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        """What the model reads, whole and as it is."""


class ModelRetry(ToolError):  # noqa: N818 - known by this name
    """The call cannot be served as it is; the model should call again, with other arguments."""


class ToolFailed(ToolError):  # noqa: N818 - known by this name
    """The tool cannot do what it was asked, and trying again will not help."""


class TransientToolError(ToolError):
    """The tool cannot answer just now; the executor may try again, if retries are allowed."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        # Not by `ToolError`, which knows of the message only: pickling needs all of it.
        self.args = (message, retry_after)
        self.retry_after = retry_after
        """How long to wait before that, in seconds, where the tool knows."""


class ToolDefinitionError(ToolweaveError, TypeError):
    """A function cannot be made into a tool."""

    def __init__(self, message: str, tool: str) -> None:
        super().__init__(message, tool)
        self.tool = tool
        """The name of the tool."""


class ToolServerError(ToolweaveError, ConnectionError):
    """A server that has tools cannot be reached, or does not answer as one."""

    def __init__(self, message: str, server: str) -> None:
        super().__init__(message, server)
        self.server = server
        """What the server is called."""


class ToolUseError(ToolweaveError, RuntimeError):
    """The base of what strict mode raises where the model would otherwise be told."""


class MaxIterationsError(ToolUseError):
    """The model still called tools when the last permitted round was over."""

    def __init__(self, message: str, max_iterations: int) -> None:
        super().__init__(message, max_iterations)
        self.max_iterations = max_iterations
        """The limit."""


class ToolUseParsingError(ToolUseError):
    """A reply holds a call that cannot be run."""

    def __init__(self, message: str, call: InvalidToolCall) -> None:
        super().__init__(message, call)
        self.call = call
        """The call, with the text of it and what is wrong."""


class UnpricedModelError(ToolweaveError, LookupError):
    """A model has no price, and something depends on one: a budget would not hold for it."""

    def __init__(self, message: str, model: str) -> None:
        super().__init__(message, model)
        self.model = model
        """The name of the model."""


class ValidationError(ToolweaveError, ValueError):
    """A value does not fit its schema."""

    def __init__(self, message: str, violations: tuple[Violation, ...]) -> None:
        super().__init__(message, violations)
        self.violations = violations
        """In which ways it does not fit: at least one."""
