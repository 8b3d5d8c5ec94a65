"""Calls, their repairs and their results."""

from collections.abc import Iterable, Mapping
from typing import Any, final

from ..kinds import ErrorCode

@final
class Repair:
    """A change that made a call valid.

    Attributes:
        path: Location in the arguments, as a JSON Pointer; empty for the call as a whole.
        kind: The kind of change, such as ``trailing_comma`` or ``type``.
        before: The text or value before the change.
        after: The text or value after the change.
    """

    __match_args__ = ("path", "kind", "before", "after")

    def __new__(cls, path: str, kind: str, before: Any, after: Any) -> Repair: ...
    @property
    def path(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def before(self) -> Any: ...
    @property
    def after(self) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> Repair: ...

@final
class ToolCall:
    """A request by the model to run one tool.

    Raises:
        TypeError: The arguments are not a dict of JSON values, or a repair is not a `Repair`.
    """

    __match_args__ = ("id", "name", "arguments", "raw", "index", "repairs", "dialect", "recovered")

    def __new__(
        cls,
        id: str,
        name: str,
        arguments: Mapping[str, Any],
        raw: str = "",
        index: int = 0,
        repairs: Iterable[Repair] = (),
        dialect: str = "natural",
        recovered: bool = False,
    ) -> ToolCall: ...
    @property
    def id(self) -> str:
        """The id, unique within the reply; the result refers to it."""
    @property
    def name(self) -> str:
        """The name of the tool, as in its contract."""
    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments, a JSON object. Integers of any size are exact."""
    @property
    def raw(self) -> str:
        """Source text of the call; empty for a call that is not from a reply.

        The span of the reply with its tags, or the text of a native call's arguments.
        """
    @property
    def index(self) -> int:
        """The position among the calls of the reply."""
    @property
    def repairs(self) -> tuple[Repair, ...]:
        """The repairs of the arguments, in order."""
    @property
    def dialect(self) -> str:
        """The dialect in which the model wrote the call, such as ``natural``.

        ``native`` for a call that the provider's API transports apart from the text.
        """
    @property
    def recovered(self) -> bool:
        """True for a call that was found in the text of a reply to a request with native tools."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> ToolCall: ...

@final
class ToolResult:
    """The result of a tool call.

    Two results are equal if their wire forms are: `value`, `exception` and `reference` are not
    compared.

    Raises:
        ValueError: The error code is unknown, or the duration is not finite.
    """

    __match_args__ = (
        "tool_call_id",
        "name",
        "result",
        "value",
        "is_error",
        "error_code",
        "duration",
        "exception",
        "reference",
    )

    def __new__(
        cls,
        tool_call_id: str,
        name: str,
        result: str,
        *,
        value: Any = None,
        is_error: bool = False,
        error_code: ErrorCode | str | None = None,
        duration: float | None = None,
        exception: BaseException | None = None,
        reference: str | None = None,
    ) -> ToolResult: ...
    @property
    def tool_call_id(self) -> str:
        """The id of the call."""
    @property
    def name(self) -> str:
        """The name of the tool."""
    @property
    def result(self) -> str:
        """The text for the model."""
    @property
    def value(self) -> Any:
        """The return value of the function. Not on the wire."""
    @property
    def is_error(self) -> bool:
        """True if the call failed; always true if there is an error code."""
    @property
    def error_code(self) -> ErrorCode | None:
        """The reason of the failure, if the call failed."""
    @property
    def duration(self) -> float | None:
        """The run time of the tool, in seconds."""
    @property
    def exception(self) -> BaseException | None:
        """The exception that the tool raised. Not on the wire, not stored, and not pickled."""
    @property
    def reference(self) -> str | None:
        """The id of the log record of the exception; None if the tool raised a `ToolError`.

        On the wire it is in the message's `metadata["references"]`, by the id of the call.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> ToolResult: ...
