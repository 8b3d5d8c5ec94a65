"""Messages, one class for each kind."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, final

from typing_extensions import Self, disjoint_base

from .._messages import Message
from ..kinds import MessageKind, Role
from .call import ToolCall, ToolResult

@disjoint_base
class MessageBase:
    """The envelope that every message has. Only its subclasses can be instantiated."""

    @property
    def kind(self) -> MessageKind | str:
        """The kind of the content; a plain string if this version does not know the kind."""
    @property
    def role(self) -> Role:
        """The role of the author."""
    @property
    def id(self) -> str | None:
        """The id of the message."""
    @property
    def from_agent(self) -> str | None:
        """The agent that produced the message."""
    @property
    def generation_id(self) -> str | None:
        """The model reply that the message belongs to."""
    @property
    def run_id(self) -> str | None:
        """The run that the message belongs to."""
    @property
    def chat_id(self) -> str | None:
        """The conversation that the message belongs to."""
    @property
    def metadata(self) -> dict[str, Any]:
        """Other data, a JSON object."""
    @property
    def extra(self) -> dict[str, Any]:
        """Fields on the wire that this version does not know; written back unchanged."""
    def to_json(self) -> str:
        """Return the message as JSON text: camelCase, `kind` first, without empty fields."""

    def to_dict(self) -> dict[str, Any]:
        """Return the message as the dict that `to_json` writes."""

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a message of this class from JSON text, nested at most 128 levels deep.

        Raises:
            MessageError: The text is not JSON, not a message, or a message of another kind.
        """

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Read a message of this class from a dict.

        Raises:
            MessageError: The dict is not a message, or a message of another kind.
        """

@final
class TextMessage(MessageBase):
    """A message with text.

    Attributes:
        kind: ``text``.
        text: The text.
        natural: True if `consolidate` passes the text on unchanged, with the calls and results in
            it (of a user's text, only the results). If false, nothing in it is read as a call. Set
            by `consolidate` and by programs, for text that they trust; never by clients of a
            server.
    """

    __match_args__ = (
        "text",
        "role",
        "id",
        "from_agent",
        "generation_id",
        "run_id",
        "chat_id",
        "metadata",
        "extra",
        "natural",
    )

    def __new__(
        cls,
        text: str,
        *,
        role: Role | str = "user",
        id: str | None = None,
        from_agent: str | None = None,
        generation_id: str | None = None,
        run_id: str | None = None,
        chat_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
        natural: bool = False,
    ) -> TextMessage: ...
    @property
    def kind(self) -> Literal[MessageKind.TEXT]: ...
    @property
    def text(self) -> str: ...
    @property
    def natural(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> TextMessage: ...

@final
class ReasoningMessage(MessageBase):
    """A message with reasoning that precedes an answer.

    Attributes:
        kind: ``reasoning``.
        text: The text.
    """

    __match_args__ = (
        "text",
        "role",
        "id",
        "from_agent",
        "generation_id",
        "run_id",
        "chat_id",
        "metadata",
        "extra",
    )

    def __new__(
        cls,
        text: str,
        *,
        role: Role | str = "assistant",
        id: str | None = None,
        from_agent: str | None = None,
        generation_id: str | None = None,
        run_id: str | None = None,
        chat_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> ReasoningMessage: ...
    @property
    def kind(self) -> Literal[MessageKind.REASONING]: ...
    @property
    def text(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> ReasoningMessage: ...

@final
class ToolCallMessage(MessageBase):
    """A message with calls by the model.

    Attributes:
        kind: ``tools_call``.
        tool_calls: The calls, in the order of the text.
    """

    __match_args__ = (
        "tool_calls",
        "role",
        "id",
        "from_agent",
        "generation_id",
        "run_id",
        "chat_id",
        "metadata",
        "extra",
    )

    def __new__(
        cls,
        tool_calls: Iterable[ToolCall],
        *,
        role: Role | str = "assistant",
        id: str | None = None,
        from_agent: str | None = None,
        generation_id: str | None = None,
        run_id: str | None = None,
        chat_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> ToolCallMessage: ...
    @property
    def kind(self) -> Literal[MessageKind.TOOLS_CALL]: ...
    @property
    def tool_calls(self) -> tuple[ToolCall, ...]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> ToolCallMessage: ...

@final
class ToolResultMessage(MessageBase):
    """A message with results of calls.

    Attributes:
        kind: ``tool_result``.
        tool_results: The results.
    """

    __match_args__ = (
        "tool_results",
        "role",
        "id",
        "from_agent",
        "generation_id",
        "run_id",
        "chat_id",
        "metadata",
        "extra",
    )

    def __new__(
        cls,
        tool_results: Iterable[ToolResult],
        *,
        role: Role | str = "tool",
        id: str | None = None,
        from_agent: str | None = None,
        generation_id: str | None = None,
        run_id: str | None = None,
        chat_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> ToolResultMessage: ...
    @property
    def kind(self) -> Literal[MessageKind.TOOL_RESULT]: ...
    @property
    def tool_results(self) -> tuple[ToolResult, ...]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> ToolResultMessage: ...

@final
class ToolAggregateMessage(MessageBase):
    """A message with calls and their results. A call without a result is pending.

    Attributes:
        kind: ``tools_aggregate``.
        tool_calls: The calls, in the order of the text.
        tool_results: Their results, in the same order.

    Raises:
        MessageError: A result belongs to none of the calls, or an id repeats.
    """

    __match_args__ = (
        "tool_calls",
        "tool_results",
        "role",
        "id",
        "from_agent",
        "generation_id",
        "run_id",
        "chat_id",
        "metadata",
        "extra",
    )

    def __new__(
        cls,
        tool_calls: Iterable[ToolCall],
        tool_results: Iterable[ToolResult],
        *,
        role: Role | str = "assistant",
        id: str | None = None,
        from_agent: str | None = None,
        generation_id: str | None = None,
        run_id: str | None = None,
        chat_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> ToolAggregateMessage: ...
    @property
    def kind(self) -> Literal[MessageKind.TOOLS_AGGREGATE]: ...
    @property
    def tool_calls(self) -> tuple[ToolCall, ...]: ...
    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The results, in the order of the calls, matched by id."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> ToolAggregateMessage: ...

@final
class UsageMessage(MessageBase):
    """A message with the token usage of a model request.

    Attributes:
        kind: ``usage``.
    """

    __match_args__ = (
        "input_tokens",
        "output_tokens",
        "cached_input_tokens",
        "cost",
        "role",
        "id",
        "from_agent",
        "generation_id",
        "run_id",
        "chat_id",
        "metadata",
        "extra",
    )

    def __new__(
        cls,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cached_input_tokens: int = 0,
        cost: float | None = None,
        *,
        role: Role | str = "assistant",
        id: str | None = None,
        from_agent: str | None = None,
        generation_id: str | None = None,
        run_id: str | None = None,
        chat_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> UsageMessage: ...
    @property
    def kind(self) -> Literal[MessageKind.USAGE]: ...
    @property
    def input_tokens(self) -> int:
        """Tokens of the prompt, cached ones included."""
    @property
    def output_tokens(self) -> int:
        """Tokens of the reply."""
    @property
    def cached_input_tokens(self) -> int:
        """The part of `input_tokens` that came from the provider's cache."""
    @property
    def cost(self) -> float | None:
        """The cost, in the currency of the caller's price table."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> UsageMessage: ...

@final
class UnknownMessage(MessageBase):
    """A message of a kind that this version does not know, kept unchanged."""

    __match_args__ = (
        "kind",
        "fields",
        "role",
        "id",
        "from_agent",
        "generation_id",
        "run_id",
        "chat_id",
        "metadata",
        "extra",
    )

    def __new__(
        cls,
        kind: str,
        fields: Mapping[str, Any] | None = None,
        *,
        role: Role | str = "user",
        id: str | None = None,
        from_agent: str | None = None,
        generation_id: str | None = None,
        run_id: str | None = None,
        chat_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> UnknownMessage: ...
    @property
    def kind(self) -> str:
        """The name of the kind on the wire."""
    @property
    def fields(self) -> dict[str, Any]:
        """All fields that are not part of the envelope."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> UnknownMessage: ...

def message_from_json(text: str | bytes) -> Message:
    """Read a message of any kind from JSON text, nested at most 128 levels deep.

    Raises:
        MessageError: The text is not JSON or not a message.
    """

def message_from_dict(fields: Mapping[str, Any]) -> Message:
    """Read a message of any kind from a dict.

    Raises:
        MessageError: The dict is not a message.
    """
