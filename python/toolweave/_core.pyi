from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias, TypeVar, final

from typing_extensions import Self, Unpack, disjoint_base

from . import AgentEvent, Event, Message, Update
from ._options import ParserOptions, Tools
from .kinds import ErrorCode, FinishReason, MessageKind, Role

__all__ = [
    "ChunkReader",
    "Consolidator",
    "Diagnostic",
    "Discarded",
    "EventStream",
    "FabricatedResult",
    "FinishUpdate",
    "FunctionContract",
    "HttpBatch",
    "HttpClient",
    "HttpLargeEvents",
    "HttpReply",
    "HttpWakeup",
    "InvalidToolCall",
    "JoinProblem",
    "JoinedReply",
    "Joiner",
    "JsonMeter",
    "Limits",
    "MessageBase",
    "Origin",
    "Parser",
    "PromptTemplate",
    "Ranking",
    "RankingResult",
    "ReasoningDelta",
    "ReasoningMessage",
    "RegistrySnapshot",
    "Repair",
    "ReplyReader",
    "ScoredReply",
    "SearchIndex",
    "StreamReducer",
    "TextDelta",
    "TextMessage",
    "ToolAggregateMessage",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallMessage",
    "ToolCallStart",
    "ToolCallUpdate",
    "ToolEntry",
    "ToolResult",
    "ToolResultMessage",
    "UnknownMessage",
    "UpdateReader",
    "UsageMessage",
    "UsageUpdate",
    "Validator",
    "Violation",
    "__version__",
    "_copy_json",
    "_is_debug_build",
    "_rebuild",
    "_without_keys",
    "check_stream_event",
    "consolidate",
    "from_anthropic",
    "from_openai",
    "message_from_dict",
    "message_from_json",
    "parse",
    "parse_history",
    "render_contracts",
    "repair_json",
    "structure_schema",
    "supertypes",
    "system_prompt",
    "to_anthropic",
    "to_openai",
    "type_name",
]

_T = TypeVar("_T")

__version__: Final[str]
_is_debug_build: Final[bool]

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

@final
class ToolCall:
    """A request by the model to run one tool.

    Raises:
        TypeError: The arguments are not a dict of JSON values, or a repair is not a `Repair`.
    """

    __match_args__ = ("id", "name", "arguments", "raw", "index", "repairs")

    def __new__(
        cls,
        id: str,
        name: str,
        arguments: Mapping[str, Any],
        raw: str = "",
        index: int = 0,
        repairs: Iterable[Repair] = (),
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

@final
class TextDelta:
    """A piece of text.

    Attributes:
        text: The text. If a whole chunk is text, this is the same string object as the chunk.
    """

    __match_args__ = ("text",)

    def __new__(cls, text: str) -> TextDelta: ...
    @property
    def text(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ReasoningDelta:
    """A piece of reasoning.

    Attributes:
        text: The text.
    """

    __match_args__ = ("text",)

    def __new__(cls, text: str) -> ReasoningDelta: ...
    @property
    def text(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ToolCallUpdate:
    """A fragment of a native call, one that the provider's API transports apart from the text.

    The fragments of a call have the same id or, where only the first one has an id, the same index.

    Attributes:
        tool_call_id: The id, if the fragment has it.
        index: The position among the calls of the reply, if the fragment has it.
        function_name: The tool, or a part of its name.
        function_args: A part of the JSON text of the arguments.
    """

    __match_args__ = ("tool_call_id", "index", "function_name", "function_args")

    def __new__(
        cls,
        tool_call_id: str | None = None,
        index: int | None = None,
        function_name: str | None = None,
        function_args: str | None = None,
    ) -> ToolCallUpdate: ...
    @property
    def tool_call_id(self) -> str | None: ...
    @property
    def index(self) -> int | None:
        """The provider's number for the call within the reply."""
    @property
    def function_name(self) -> str | None: ...
    @property
    def function_args(self) -> str | None:
        """The next piece of the text of the arguments."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class UsageUpdate:
    """Token usage of the request so far: cumulative, not since the last update."""

    __match_args__ = ("input_tokens", "output_tokens", "cached_input_tokens")

    def __new__(
        cls, input_tokens: int = 0, output_tokens: int = 0, cached_input_tokens: int = 0
    ) -> UsageUpdate: ...
    @property
    def input_tokens(self) -> int:
        """Tokens of the prompt, cached ones included."""
    @property
    def output_tokens(self) -> int:
        """Tokens of the reply."""
    @property
    def cached_input_tokens(self) -> int:
        """The part of `input_tokens` that came from the provider's cache."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class FinishUpdate:
    """The end of the reply. It comes once, after everything except results.

    Attributes:
        reason: The finish reason; ``missing`` if the provider gave none.
    """

    __match_args__ = ("reason",)

    def __new__(cls, reason: FinishReason | str) -> FinishUpdate: ...
    @property
    def reason(self) -> FinishReason: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

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

@final
class Joiner:
    """An accumulator that joins the updates of a reply and the results of its calls into messages.

    Results may arrive before their call, late or twice, and any fragment of a call may have its id.
    The messages are the same in all these cases, and however the reply was split into pieces. They
    are in the order of the text; the position of a call is that of its first piece. Calls share a
    message unless text or reasoning is between them. White space alone between two calls is moved
    behind the later one, to the beginning of the next text.

    The arguments become the envelope of every message. Safe to share between threads.
    """

    def __new__(
        cls,
        *,
        from_agent: str | None = None,
        generation_id: str | None = None,
        run_id: str | None = None,
        chat_id: str | None = None,
    ) -> Joiner: ...
    def push(self, update: Update) -> None:
        """Add one update.

        Raises:
            TypeError: The object is not an update.
        """

    def finish(self) -> JoinedReply:
        """Return the messages so far.

        You may push more updates afterwards, such as late results, and call this again.
        """

@final
class JoinedReply:
    """The messages that a `Joiner` has built from its updates."""

    __match_args__ = ("messages", "finish_reason", "missing", "problems")

    def __new__(
        cls,
        messages: tuple[Message, ...],
        finish_reason: FinishReason | str,
        missing: tuple[str, ...],
        problems: tuple[JoinProblem, ...],
    ) -> JoinedReply: ...
    @property
    def messages(self) -> tuple[Message, ...]:
        """The reply, in order; results without a call and then the usage come last."""
    @property
    def finish_reason(self) -> FinishReason:
        """The reason why the reply ended; `missing` if the provider gave none."""
    @property
    def missing(self) -> tuple[str, ...]:
        """The ids of the calls in `messages` that have no result yet, in order."""
    @property
    def problems(self) -> tuple[JoinProblem, ...]:
        """The problems in the stream of updates."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class JoinProblem:
    """A problem in a stream of updates.

    Kinds: ``invalid_arguments``, ``unclosed`` and ``unnamed`` (the native call was left out of the
    messages), ``renamed``, ``late_fragment``, ``duplicate_call``, ``duplicate_result``, ``no_call``
    (a result without a call), ``after_finish`` and ``second_finish``.

    Attributes:
        kind: The kind of problem.
        tool_call_id: The call concerned, if any.
    """

    __match_args__ = ("kind", "message", "tool_call_id", "name", "text")

    def __new__(
        cls,
        kind: str,
        message: str,
        tool_call_id: str | None = None,
        name: str | None = None,
        text: str | None = None,
    ) -> JoinProblem: ...
    @property
    def kind(self) -> str: ...
    @property
    def message(self) -> str:
        """A sentence that describes the problem."""
    @property
    def tool_call_id(self) -> str | None: ...
    @property
    def name(self) -> str | None:
        """The name of the tool."""
    @property
    def text(self) -> str | None:
        """The text that was left out of the messages: arguments, a result or another name."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

class _Dumpable(Protocol):
    """A response object of a provider's client."""

    def model_dump(self) -> dict[str, Any]: ...

_Dangling: TypeAlias = Literal["answer", "omit", "raise"]
_Messages: TypeAlias = str | Message | Iterable[str | Message | Mapping[str, Any] | _Dumpable]

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

def to_openai(
    messages: _Messages, *, dangling: _Dangling = "answer", reasoning: bool = False
) -> list[Any]:
    """Convert messages to dicts for ``chat.completions.create`` of OpenAI's client.

    Each reply becomes one message, directly followed by the results of its calls. Messages with the
    same `generation_id` are one reply; without an id, reasoning, text and calls that follow one
    another in this order are. Usage is omitted, and so is the error flag of results, which that API
    does not have. Its format has one text and one list of calls for each reply, so the order of
    text and calls is lost: texts are concatenated in order, and so are calls.

    Args:
        messages: A conversation.
        dangling: The treatment of a call without a result, which the API rejects: ``answer`` it
            with an error result that says so, ``omit`` it, or ``raise``. A result without a call
            is dropped by ``omit`` and an error otherwise.
        reasoning: True to send reasoning, as ``reasoning_content``; only some servers accept it.

    Raises:
        MessageError: A message cannot be expressed in OpenAI's format; the error names the message.
    """

def from_openai(messages: Iterable[Mapping[str, Any] | _Dumpable]) -> list[Message]:
    """Convert dicts and response messages of OpenAI's client to messages.

    Calls and their results become aggregates. Content that is a list of parts becomes its
    concatenated texts; the list, and everything else that only that API knows, is kept in
    ``metadata["openai"]``.

    Raises:
        MessageError: A part is missing, invalid or unknown; the error names the message and the
            place.
    """

def to_anthropic(
    messages: _Messages, *, dangling: _Dangling = "answer"
) -> tuple[str | list[Any] | None, list[Any]]:
    """Convert messages for ``messages.create`` of Anthropic's client.

    Conversion works as in `to_openai`, but reasoning, texts and calls of a reply keep their order,
    and the results of its calls are one user message directly after it. All system texts become
    part of the system prompt. Blank texts, and reasoning without a signature in its metadata, are
    omitted, because the API rejects them. Call ids are made unique and conform to the API's format.

    Returns:
        The system prompt and the messages, as dicts.

    Raises:
        MessageError: A message cannot be expressed in Anthropic's format; the error names the
            message.
    """

def from_anthropic(
    messages: Iterable[Mapping[str, Any] | _Dumpable],
    *,
    system: str | list[dict[str, Any]] | None = None,
) -> list[Message]:
    """Convert dicts and responses of Anthropic's client to messages.

    Reasoning, texts and calls of a reply keep their order; adjacent calls share a message.
    `generation_id` is the id of the reply; for a reply without an id that continues after its
    calls, it is derived from the id of the first call. Everything that only that API knows is kept
    in ``metadata["anthropic"]``.

    Raises:
        MessageError: A part is missing, invalid or unknown; the error names the message and the
            place.
    """

def _copy_json(value: Any) -> Any: ...
def _rebuild(class_: type[_T], fields: dict[str, Any], /) -> _T: ...
def _without_keys(text: str, keys: list[str]) -> str: ...

@final
class Violation:
    """A violation of a schema by a value.

    Attributes:
        path: Location in the value, as a JSON Pointer; empty for the whole value. A missing
            property is reported at the object that lacks it.
        keyword: The schema keyword that failed, such as ``type`` or ``required``.
        message: A sentence with the location, which states what would be valid.
        expected: The value that the schema requires, if it names one: the name of the type, the
            options of an enum, the limit, the name of the missing property.
        actual: The value at `path`; if it is long, the beginning of its JSON as a string.
    """

    __match_args__ = ("path", "keyword", "message", "expected", "actual")

    def __new__(cls, path: str, keyword: str, message: str, expected: Any, actual: Any) -> Self: ...
    @property
    def path(self) -> str: ...
    @property
    def keyword(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def expected(self) -> Any: ...
    @property
    def actual(self) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Validator:
    """A compiled JSON Schema.

    All drafts are supported; the default without ``$schema`` is 2020-12. Nothing is fetched: a
    ``$ref`` refers to the schema, to ``resources`` or to a bundled meta-schema. ``format`` is an
    assertion where its draft says so (up to draft 7) and an annotation elsewhere.

    Example:
        >>> validator = Validator({"properties": {"unit": {"enum": ["celsius", "fahrenheit"]}}})
        >>> validator.validate_json('{"unit": "celsius"}')
        {'unit': 'celsius'}
        >>> validator.iter_errors({"unit": "kelvin"})[0].message
        '/unit: "kelvin" is not one of "celsius", "fahrenheit"'
    """

    def __new__(
        cls,
        schema: Mapping[str, Any] | bool,
        *,
        resources: Mapping[str, Mapping[str, Any] | bool] | None = None,
    ) -> Validator:
        """Compile a schema.

        Args:
            schema: The schema.
            resources: Schemas that a ``$ref`` may refer to, by URI.

        Raises:
            SchemaError: The schema is invalid, has an unknown reference, or is too large to be
                safe; the message names the place.
            TypeError: The schema contains a value that is not JSON.
        """

    def validate_json(self, text: str | bytes) -> Any:
        """Parse ``text`` and return the value, if it is valid.

        Integers of up to 4,300 digits are exact. If a key is repeated, the last one counts.

        Raises:
            InvalidJSONError: The text is not JSON, is nested deeper than 128 levels, or has a
                number beyond the range of a float.
            ValidationError: The value is invalid.
        """

    def validate(self, value: Any) -> None:
        """Raise if ``value`` is invalid.

        Tuples count as arrays and any mapping as an object.

        Raises:
            ValidationError: The value is invalid.
            TypeError: The value contains something that is not JSON: a set, NaN, a key that is not
                a string.
            ValueError: The value is nested deeper than 128 levels, or contains itself.
        """

    def is_valid(self, value: Any) -> bool:
        """Return True if ``value`` is valid; raise as `validate` does if it is not JSON."""

    def iter_errors(self, value: Any) -> tuple[Violation, ...]:
        """Return the violations by ``value``: at most 20, none if it is valid."""

@final
class Limits:
    """Bounds on what a parser accepts and buffers.

    Attributes:
        max_depth: Maximum nesting depth of a call's arguments; the object itself is level 1. At
            most 128.
        max_argument_bytes: Maximum size of the payload of one call, in bytes.
        max_repair_bytes: Maximum size of an invalid payload that is repaired, in bytes.
        max_tag_bytes: Maximum size of a tag, of white space next to a payload, of the first line
            of a fence, and of a body that is not JSON, in bytes. At least 16.
        max_calls: Maximum number of calls in a reply.
    """

    __match_args__ = (
        "max_depth",
        "max_argument_bytes",
        "max_repair_bytes",
        "max_tag_bytes",
        "max_calls",
    )

    def __new__(
        cls,
        *,
        max_depth: int = 128,
        max_argument_bytes: int = 1048576,
        max_repair_bytes: int = 1048576,
        max_tag_bytes: int = 512,
        max_calls: int = 1000,
    ) -> Limits: ...
    @property
    def max_depth(self) -> int: ...
    @property
    def max_argument_bytes(self) -> int: ...
    @property
    def max_repair_bytes(self) -> int: ...
    @property
    def max_tag_bytes(self) -> int: ...
    @property
    def max_calls(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ToolCallStart:
    """The start of a call; a `ToolCall` or an `InvalidToolCall` of the same index follows.

    Attributes:
        index: The position among the calls of the reply.
        id: The id that the call will have.
        name: The tool's name, as the model wrote it if it is unknown.
    """

    __match_args__ = ("index", "id", "name")

    def __new__(cls, index: int, id: str, name: str) -> ToolCallStart: ...
    @property
    def index(self) -> int: ...
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ToolCallDelta:
    """A piece of a call's arguments, byte for byte as the model writes them.

    Attributes:
        index: The position of the call among the calls of the reply.
        fragment: The text. It never ends inside an escape sequence.
    """

    __match_args__ = ("index", "fragment")

    def __new__(cls, index: int, fragment: str) -> ToolCallDelta: ...
    @property
    def index(self) -> int: ...
    @property
    def fragment(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Discarded:
    """Markup that is neither text nor a call.

    Attributes:
        raw: The text.
        reason: ``reasoning_tag``, ``fence`` (a line of a code fence around calls), ``orphan_close``
            (a closing tag whose call had ended already), ``too_large`` (the rest of a payload or
            result that exceeds a limit) or ``late_fragment`` (arguments of a native call that had
            ended already).
    """

    __match_args__ = ("raw", "reason")

    def __new__(cls, raw: str, reason: str) -> Discarded: ...
    @property
    def raw(self) -> str: ...
    @property
    def reason(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

_InvalidKind: TypeAlias = Literal[
    "unknown_tool", "invalid_json", "schema_violation", "unclosed", "too_large", "too_many"
]

@final
class InvalidToolCall:
    """An invalid call.

    Attributes:
        index: The position among the calls of the reply.
        id: The id, unique within the reply.
        name: The tool's name, as the model wrote it if it is unknown.
        kind: ``unknown_tool``, ``invalid_json``, ``schema_violation``, ``unclosed`` (the reply
            ended inside the call), ``too_large`` or ``too_many``.
        raw: The whole span, tags and fences included.
        violations: The violations, at least one. If the arguments violate the schema, those that
            remain after repair.
        arguments: The arguments that violate the schema, repaired as far as possible; None for
            other kinds.
    """

    __match_args__ = ("index", "id", "name", "kind", "raw", "violations", "arguments")

    def __new__(
        cls,
        index: int,
        id: str,
        name: str,
        kind: str,
        raw: str,
        violations: tuple[Violation, ...],
        arguments: dict[str, Any] | None = None,
    ) -> InvalidToolCall: ...
    @property
    def index(self) -> int: ...
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> _InvalidKind: ...
    @property
    def raw(self) -> str: ...
    @property
    def violations(self) -> tuple[Violation, ...]: ...
    @property
    def arguments(self) -> dict[str, Any] | None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class FabricatedResult:
    """A tool's result written by the model itself. It is never mixed with real results.

    Attributes:
        name: The tool named in it, if any.
        raw: The whole span, tags included.
    """

    __match_args__ = ("name", "raw")

    def __new__(cls, name: str | None, raw: str) -> FabricatedResult: ...
    @property
    def name(self) -> str | None: ...
    @property
    def raw(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class FunctionContract:
    r"""The contract of a tool, as shown to the model; its calls are validated against it.

    Args:
        name: The name for the model: at most 256 bytes, without white space and without any of ``<
            > " ' = ` & \``.
        description: The description for the model.
        parameters: The JSON Schema of the arguments, an object schema nested at most 100 levels
            deep. Without one, nothing is validated.
        returns: The result: a JSON Schema, or a description in words.

    Raises:
        ContractError: The name cannot be used in a tag, or a schema is invalid; the error names the
            place.

    Attributes:
        name: The name for the model.
        description: The description for the model.
        parameters: The JSON Schema of the arguments: a new dict each time.
        returns: The result.
    """

    __match_args__ = ("name", "description", "parameters", "returns")

    def __new__(
        cls,
        name: str,
        description: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        returns: Mapping[str, Any] | str | None = None,
    ) -> FunctionContract: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str | None: ...
    @property
    def parameters(self) -> dict[str, Any] | None: ...
    @property
    def returns(self) -> dict[str, Any] | str | bool | None: ...
    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict, without those that are None."""
    @staticmethod
    def from_dict(definition: Mapping[str, Any]) -> FunctionContract:
        """Create a contract from the result of `to_dict`.

        Raises:
            ContractError: A key is unknown, or a field is invalid.
        """
    def to_openai(self) -> dict[str, Any]:
        """Return the definition for OpenAI's client: ``{"type": "function", "function": {...}}``.

        `returns` is omitted, since that format has no field for the result of a tool.
        """
    @staticmethod
    def from_openai(definition: Mapping[str, Any]) -> FunctionContract:
        """Create a contract from a tool definition of a provider client.

        Accepted are OpenAI's form, the same without the wrapper (``name``, ``description``,
        ``parameters``), Anthropic's with ``input_schema`` and MCP's with ``inputSchema``. Other
        keys are ignored.

        Raises:
            ContractError: The dict is not a definition of a function; the error names the defect.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Parser:
    """A parser that splits a streamed reply into text and tool calls.

    Any split of the reply into chunks gives the same events once adjacent deltas are joined, and
    every character is in exactly one of them. Use a parser from one thread at a time.

    Args:
        tools: The tools that may be called: contracts, provider definitions or bare names, whose
            arguments are not validated.
        dialects: The dialects in which calls are recognized. ``natural`` has ``<Name>{...}</Name>``
            and ``<tool_call name="Name">{...}</tool_call>``.
        repair: The extent of repair: ``none``, ``syntax`` (invalid JSON) or ``schema`` (also values
            of the wrong type, where the meaning is unambiguous).
        deltas: True to report arguments while they arrive.
        reasoning_tags: The names of tags around reasoning.
        in_code: The treatment of calls inside Markdown code: ``text`` or ``call``.
        limits: Bounds on calls and markup; `Limits()` if not given.
        id_factory: A function that returns the id of the call at an index; ``call_0``, ``call_1``,
            ... if not given. An id that is empty, repeated in the reply or has lone surrogates is
            replaced, with a warning.

    Raises:
        ContractError: The name of a tool cannot be used in a tag, or two tools share a name.
        SchemaError: The parameters of a tool are not a JSON Schema; nothing is fetched.
        ValueError: An option has an invalid value.

    Example:
        >>> parser = Parser(["GetWeather"])
        >>> parser.push("Sure. <GetW")
        (TextDelta(text='Sure. '),)
        >>> events = parser.push('eather>{"city": "Oslo"}</GetWeather>')
        >>> events[-1].arguments
        {'city': 'Oslo'}
        >>> parser.finish()
        ()
    """

    def __new__(cls, tools: Tools, **options: Unpack[ParserOptions]) -> Parser: ...
    def push(self, chunk: str) -> tuple[Event, ...]:
        """Read the next chunk and return the events that are now certain.

        Text is buffered only while it may still begin a tag. If a whole chunk is text, the delta
        has the same string object.
        """
    def push_many(self, chunks: Iterable[str]) -> tuple[Event, ...]:
        """Read many chunks at once and join adjacent deltas.

        Raises:
            TypeError: An item of `chunks` is not a string; then none of them has been read.
        """
    def finish(self, *, truncated: bool = False) -> tuple[Event, ...]:
        """End the reply, return its remaining events and prepare for the next reply.

        Args:
            truncated: True if the model was cut off. Then no open call is completed, even if it
                looks complete.
        """
    def native_call(
        self, id: str, name: str, arguments: str, *, index: int = 0, truncated: bool = False
    ) -> ToolCall | InvalidToolCall:
        """Validate a native call, one that the provider's API transports apart from the text.

        Its arguments are repaired and validated by the same rules as those of a call in the text.
        The open reply, if any, is not affected.

        Args:
            id: The provider's id for the call.
            name: The name of the tool.
            arguments: The whole text of the arguments; empty text counts as ``{}``.
            index: The position among the calls of the reply.
            truncated: True if the reply was cut off in this call. Then it is ``unclosed``, even if
                the text looks complete.
        """
    def fresh(self) -> Parser:
        """Return a parser for the same tools and options, without any input.

        Nothing is compiled again: a server creates one parser, and a fresh one for each reply.
        """
    def reset(self) -> None:
        """Discard the reply."""

@final
class UpdateReader:
    """A reader of the updates of one reply: inline calls and native calls.

    Native calls are assembled from fragments with the same id or, where only the first one has an
    id, the same index. A native call ends when another one begins, if its arguments are a JSON
    object by then, and otherwise with the reply. Use a reader from one thread at a time.

    Args:
        parser: A parser for the tools. It is not modified.
        inline: True to parse text for calls.
        deltas: True to report the arguments of native calls while they arrive. For inline calls,
            the option of the parser applies.
        call_ids: A function that returns the id of the call at an index for which the provider gave
            none; by default that of the parser.

    Raises:
        TypeError: `call_ids` is not callable.

    Attributes:
        calls: Number of calls so far, of both kinds, valid or not.
        buffered: Upper bound on the bytes that are buffered for incomplete calls.

    Example:
        >>> reader = UpdateReader(Parser(["GetWeather"]))
        >>> reader.push(TextDelta("Sure. "))
        (TextDelta(text='Sure. '),)
        >>> fragment = ToolCallUpdate("call-7", 0, "GetWeather", '{"city": "Oslo"}')
        >>> [type(event).__name__ for event in reader.push(fragment)]
        ['ToolCallStart', 'ToolCallDelta']
        >>> reader.finish(truncated=False)[0].arguments
        {'city': 'Oslo'}
    """

    def __new__(
        cls,
        parser: Parser,
        *,
        inline: bool = True,
        deltas: bool = True,
        call_ids: Callable[[int], str] | None = None,
    ) -> UpdateReader: ...
    @property
    def calls(self) -> int: ...
    @property
    def buffered(self) -> int: ...
    def push(self, update: Update) -> tuple[Event | UsageUpdate, ...]:
        """Read the next update and return the events that are now certain.

        Call `finish` in place of pushing the `FinishUpdate`. If a whole chunk is text, the delta
        has the same string object; reasoning and usage are returned as the same objects.

        Raises:
            TypeError: The object is not an update of a model.
        """
    def finish(self, *, truncated: bool) -> tuple[Event, ...]:
        """End the reply and return its remaining events.

        Args:
            truncated: True if the model was cut off. Then no open call is completed, even if it
                looks complete.
        """

@final
class EventStream:
    """The events of a reply that comes from an iterable of chunks; see `parse_stream`."""

    def __new__(
        cls, chunks: Iterable[str], tools: Tools, **options: Unpack[ParserOptions]
    ) -> EventStream: ...
    def __iter__(self) -> EventStream:
        """Return the stream itself."""
    def __next__(self) -> Event:
        """Return the next event, reading as many chunks as necessary."""

def parse(
    text: str, tools: Tools, *, truncated: bool = False, **options: Unpack[ParserOptions]
) -> tuple[Event, ...]:
    """Parse a whole reply.

    Args:
        text: The reply.
        tools: As for `Parser`.
        truncated: True if the model was cut off.
        **options: As for `Parser`.

    Returns:
        The events, with adjacent deltas joined.
    """

def repair_json(text: str) -> tuple[str, tuple[Repair, ...]]:
    """Repair text that should be one JSON object (or array); return it with the changes.

    Valid JSON is returned unchanged. Otherwise everything that is valid is kept as written, and no
    value is invented or dropped. The `before` and `after` of a repair are the beginning of the text
    there.

    Example:
        >>> text, repairs = repair_json("{city: 'Paris',}")
        >>> text
        '{"city": "Paris"}'
        >>> [repair.kind for repair in repairs]
        ['bare_key', 'quotes', 'trailing_comma']

    Raises:
        InvalidJSONError: The text cannot be repaired without guessing.
    """

def render_contracts(
    contracts: Tools, *, tag: Literal["name", "tool_call"] = "name", fenced: bool = True
) -> str:
    """Describe tools in Markdown: purpose, parameters, result and an example call of each.

    The arguments of the example are valid, and contain no optional ones unless these are necessary.
    If no valid example was found, the text says so. Descriptions are flattened to one line.

    Args:
        contracts: The tools.
        tag: The tag of the example: ``name`` (``<Name>``) or ``tool_call`` (``<tool_call
            name="Name">``).
        fenced: True to put its arguments in a Markdown fence.

    Raises:
        ContractError: The name of a tool cannot be used in a tag, or two tools share a name.
    """

def system_prompt(
    contracts: Tools,
    existing: str | None = None,
    *,
    tag: Literal["name", "tool_call"] = "name",
    fenced: bool = True,
) -> str:
    """Add a section on tools, and on how to call them, to a system prompt.

    An existing section is replaced in place, so you can call this for every request; without
    contracts it is removed. The text before and after it is kept.

    Args:
        contracts: The tools.
        existing: The system prompt.
        tag: As for `render_contracts`.
        fenced: As for `render_contracts`.

    Raises:
        ContractError: The name of a tool cannot be used in a tag, or two tools share a name.

    Example:
        >>> prompt = system_prompt(["GetWeather"], "You are a guide.")
        >>> system_prompt(["GetWeather"], prompt) == prompt
        True
        >>> system_prompt([], prompt)
        'You are a guide.'
    """

def consolidate(
    messages: _Messages,
    *,
    tools: Tools = (),
    form: Literal["single", "turn", "split"] = "single",
    tag: Literal["name", "tool_call"] = "tool_call",
    fenced: bool = False,
    provenance: bool = True,
) -> list[TextMessage]:
    """Write a history as natural text, with calls and results as tags.

    Adjacent messages of one party become one message; system texts remain separate and unchanged.
    Texts and results cannot be mistaken for calls: the ``<`` of a possible tag of toolweave, of a
    tool in `tools` or of a tool called so far becomes ``&lt;``. `parse_history` reverses this. A
    text marked ``natural`` is passed on unchanged (of a user's text, only the results are). The
    returned messages are marked, so consolidating twice is the same as consolidating once.

    Reasoning and usage are not written. Of the other envelope fields, the first value is kept.
    Metadata is merged, also from reasoning and usage: later values win, and objects are merged
    member by member. This adds ``generation_ids``, ``message_ids`` (of all input messages) and
    ``tool_calls`` (ids, durations, error codes, repairs and source texts of the calls), named
    ``consolidated_...`` if a message has such a key already.

    Args:
        messages: A conversation.
        tools: The tools that the model knows.
        form: The position of results: ``single`` directly behind their calls, in the same message,
            as in a transcript; ``turn`` in the next turn, as the user's, in the order of the calls;
            ``split`` in a user message behind each group of calls. Messages with the same
            ``generation_id`` are one reply; without one, messages after calls answer their results.
        tag: The tag of calls.
        fenced: True to put their arguments in a Markdown fence.
        provenance: False to leave out the raw texts and the repairs of calls from ``tool_calls``.
            `parse_history` needs them to restore the calls; a request to a model does not.

    Returns:
        The messages; none if there is no content.

    Raises:
        ConsolidationError: Calls and results do not match; the error names the message.
        MessageError: An item of `messages` is not a message.

    Example:
        >>> call = ToolCall("call_0", "GetWeather", {"city": "Oslo"})
        >>> result = ToolResult("call_0", "GetWeather", "8 degrees")
        >>> [message] = consolidate([ToolAggregateMessage([call], [result])])
        >>> print(message.text)
        <tool_call name="GetWeather">
        {
          "city": "Oslo"
        }
        </tool_call>
        <tool_response name="GetWeather">
        8 degrees
        </tool_response>
        >>> parse_history(message)[0].tool_calls == (call,)
        True
    """

def parse_history(
    transcript: _Messages, tools: Tools = (), dialects: Iterable[str] = ...
) -> list[Message]:
    """Read the calls and results in the texts of a transcript.

    Calls are read only in the assistant's texts, by the rules of `Parser`: the same calls with the
    same arguments and repairs, reasoning as `ReasoningMessage`. A ``<tool_response>`` is read in
    the assistant's texts and, in the turn right after a call, for pending calls of its name.
    Everything else stays text, including invalid calls: broken JSON, arguments that violate the
    schema, unknown tool names.

    Output of `consolidate` is restored exactly: texts, calls and results to the character, with the
    ids, durations and error codes from the metadata. In other texts the ids are ``call_0``,
    ``call_1``, ..., white space alone and lines ``---`` between calls are dropped, and JSON results
    on several lines are written on one, in the format of ``json.dumps``.

    Args:
        transcript: Messages of any roles, one message, or text, which is taken as the assistant's.
            Messages that are not text, and those of the system, are returned unchanged.
        tools: The tools that may be called; without any, ``<tool_call name="...">`` may have any
            name.
        dialects: The dialects in which calls are recognized; ``("natural",)`` by default; see
            `Parser`.

    Raises:
        MessageError: An item of `transcript` is not a message; the error names the item and the
            defect.
        ContractError: The name of a tool cannot be used in a tag.
        SchemaError: The schema of a tool is invalid.
        ValueError: A dialect is unknown.

    Example:
        >>> reply = 'I look. <GetWeather>{"city": "Oslo"}</GetWeather>'
        >>> answer = '<tool_response name="GetWeather">8 degrees</tool_response>'
        >>> transcript = [TextMessage(reply, role="assistant"), TextMessage(answer)]
        >>> text, called, answered = parse_history(transcript, ["GetWeather"])
        >>> called.tool_calls[0].arguments, answered.tool_results[0].result
        ({'city': 'Oslo'}, '8 degrees')
    """

@final
class Consolidator:
    """An incremental version of `consolidate`, for messages and for replies while they stream.

    The concatenated results of `push` and `finish` are the text of the messages that `consolidate`
    returns for the same history. Memory and time are linear in the input.

    Args:
        tools: As for `consolidate`.
        form: As for `consolidate`.
        tag: As for `consolidate`.
        fenced: As for `consolidate`.

    Example:
        >>> consolidator = Consolidator(tools=["Add"], form="turn", tag="name")
        >>> consolidator.push(TextDelta("Let me <Ad")), consolidator.push(TextDelta("d>."))
        ('Let me ', '&lt;Add>.')
        >>> call = ToolCall("call_0", "Add", {"a": 1, "b": 2})
        >>> consolidator.push(call).splitlines()
        ['', '<Add>', '{', '  "a": 1,', '  "b": 2', '}', '</Add>']
    """

    def __new__(
        cls,
        *,
        tools: Tools = (),
        form: Literal["single", "turn", "split"] = "single",
        tag: Literal["name", "tool_call"] = "tool_call",
        fenced: bool = False,
    ) -> Consolidator: ...
    def push(
        self,
        message: str | Message | Mapping[str, Any] | Update | AgentEvent,
    ) -> str:
        """Add the next message or update and return the text that is now certain.

        Updates are what a model, a parser, `Agent` or `NaturalToolUse` yields. Text is written as
        it arrives, except for a possible tag. A call is written when it is complete: fragments of
        native calls at the `FinishUpdate`, and an invalid call with the message that has its
        result. In the form ``single`` a call waits for its result, and everything after it waits as
        well; in the form ``turn`` results wait for the end of the reply. Calls that were streamed
        may arrive again in messages and are not written twice.

        Args:
            message: The message or update.

        Raises:
            ConsolidationError: The message does not match the history, or came after its end. The
                history is unchanged.
            TypeError: The object is neither a message nor an update.
        """
    def finish(self) -> str:
        """End the history and return the rest of its text, such as calls still pending."""
    @property
    def messages(self) -> list[TextMessage]:
        """The messages so far, with the metadata of their sources."""

@final
class Diagnostic:
    """An error or warning about a `tools.xml`, with its location."""

    __match_args__ = ("code", "severity", "message", "line", "column", "length", "hint")

    def __new__(
        cls,
        code: str,
        severity: Literal["error", "warning"],
        message: str,
        line: int = 1,
        column: int = 1,
        *,
        length: int = 1,
        hint: str | None = None,
    ) -> Self: ...
    @property
    def code(self) -> str:
        """The code, such as ``TW001``; see docs/registry.md."""

    @property
    def severity(self) -> Literal["error", "warning"]:
        """The severity: an error prevents loading, a warning does not."""

    @property
    def message(self) -> str:
        """A sentence that describes the problem."""

    @property
    def line(self) -> int:
        """The line, from 1."""

    @property
    def column(self) -> int:
        """The column in characters, from 1."""

    @property
    def length(self) -> int:
        """Number of characters of that line concerned, at least 1."""

    @property
    def hint(self) -> str | None:
        """A sentence that suggests a solution."""

@final
class ToolEntry:
    """A tool of a registry: the element `Tool` of NLWeb's `tools.xml`."""

    __match_args__ = ("name", "type", "site")

    def __new__(
        cls,
        name: str,
        *,
        type: str = "Thing",
        site: str | None = None,
        enabled: bool = True,
        path: str = "",
        method: str = "",
        handler: str | None = None,
        arguments: Mapping[str, str] | None = None,
        examples: Iterable[str] | None = None,
        prompt: str | None = None,
        return_struc: Any = None,
    ) -> Self: ...
    @property
    def name(self) -> str:
        """The name."""

    @property
    def type(self) -> str:
        """The type that has the tool, in its short form, such as ``Recipe``."""

    @property
    def site(self) -> str | None:
        """The site that has the tool; None for every site."""

    @property
    def enabled(self) -> bool:
        """True if the tool is enabled. A disabled tool hides those that it replaces."""

    @property
    def path(self) -> str:
        """The path of a remote tool; empty if there is none."""

    @property
    def method(self) -> str:
        """``builtin``, ``code``, ``extension`` or ``url``; empty if not given."""

    @property
    def handler(self) -> str | None:
        """The dotted path of the handler."""

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments, as descriptions by name."""

    @property
    def examples(self) -> tuple[str, ...]:
        """Example queries for the tool."""

    @property
    def prompt(self) -> str | None:
        """The scoring prompt for a model, with placeholders."""

    @property
    def return_struc(self) -> Any:
        """An example of the reply: any JSON. A new object each time."""

    @property
    def line(self) -> int | None:
        """The line in the file, from 1; None if the tool is not from a file."""

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The placeholders of the prompt, each once."""

    def render(self, values: Mapping[str, str]) -> str:
        """Fill the placeholders of the prompt in one pass; unknown ones become empty."""

    @property
    def reader(self) -> ReplyReader:
        """The reader of replies to the prompt. The same object each time."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a reply: that of `return_struc`, with a score."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The same schema without the score: the parameters of the handler. An object schema."""

@final
class Origin:
    """The origin of a tool of a type, and the tools that it replaces."""

    __match_args__ = ("tool", "owner", "site", "replaces")

    def __new__(
        cls,
        tool: ToolEntry,
        owner: str,
        site: str | None = None,
        replaces: tuple[ToolEntry, ...] | None = None,
    ) -> Self: ...
    @property
    def tool(self) -> ToolEntry:
        """The tool. If it is disabled, the type does not have it, and `replaces` is hidden."""

    @property
    def owner(self) -> str:
        """The type that declares it."""

    @property
    def site(self) -> str | None:
        """The site that declares it; None for those of every site."""

    @property
    def replaces(self) -> tuple[ToolEntry, ...]:
        """The tools that it replaces, the nearest first."""

@final
class RegistrySnapshot:
    """The immutable content of a `tools.xml`."""

    @staticmethod
    def read(source: str | bytes, *, skip_invalid: bool = False) -> RegistrySnapshot:
        """Read a document; bytes may be UTF-8, UTF-16 with a byte order mark, or declared Latin-1.

        Args:
            source: The document.
            skip_invalid: True to skip tools with errors, which are then among the diagnostics,
                instead of rejecting the document. A document that is not XML is always rejected.

        Raises:
            RegistryError: The document is invalid; its `diagnostics` list all defects.
        """

    @staticmethod
    def of(entries: Iterable[ToolEntry]) -> RegistrySnapshot:
        """Create a registry of tools, in the given order.

        Raises:
            RegistryError: A type is called ``Site`` or ``Tool``.
        """

    @staticmethod
    def join(parts: Iterable[RegistrySnapshot]) -> RegistrySnapshot:
        """Join several registries, in order, as if they were one document.

        Its `diagnostics` are only those of the combination, such as a tool that two of them have.
        The `line` of each tool refers to its own document.

        Raises:
            RegistryError: A type is its own ancestor in the combination.
        """

    def with_entries(self, entries: Iterable[ToolEntry]) -> RegistrySnapshot:
        """Return a registry with additional tools.

        A tool of the same name, type and site is replaced. Others are added at the end of the last
        block of their type.

        Raises:
            RegistryError: A type is called ``Site`` or ``Tool``.
        """

    @property
    def entries(self) -> tuple[ToolEntry, ...]:
        """All tools in document order, disabled ones as well."""

    @property
    def types(self) -> tuple[str, ...]:
        """The types that have tools, in the order of their first tools."""

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites, except for ``default``."""

    @property
    def fingerprint(self) -> str:
        """A hash of the content, regardless of its layout: 32 hexadecimal digits."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The warnings, in the order of the text, and the errors of skipped tools."""

    def tools_of(
        self, kinds: Sequence[str], site: str | None = None, *, sites_replace: bool = False
    ) -> tuple[ToolEntry, ...]:
        """Return the tools of some types, general to specific.

        Args:
            kinds: The types in any spelling, the most specific first.
            site: The site; by default only tools of every site.
            sites_replace: If true, a site that does not state whether it inherits has only its own
                tools, as in NLWeb.
        """

    def tools_for(self, type: str, site: str | None = None) -> tuple[ToolEntry, ...]:
        """Return the tools of a type in any spelling, general to specific.

        A specific tool takes the place of the one that it replaces. A site that the registry does
        not have has the tools of ``default``.
        """

    def explain(self, type: str, site: str | None = None) -> tuple[Origin, ...]:
        """Return the same tools with the origin of each, and the disabled ones as well."""

    def supertypes(self, type: str) -> tuple[str, ...]:
        """Return the result of `supertypes`, including types that this registry extends."""

    def suggest_type(self, type: str) -> str | None:
        """Return the known type most similar to an unknown one: ``Hotel`` for ``hotel``.

        None if the registry or schema.org knows the type, or if there is no similar one.
        """

    def write(self) -> str:
        """Return the registry as XML, with its comments; reading it gives the same registry.

        Raises:
            RegistryError: A text has characters that XML cannot represent, or a type is not a valid
                element name.
        """

def type_name(spelling: str) -> str:
    """Return the short form of a schema.org type: ``Recipe`` for ``https://schema.org/Recipe``.

    ``Thing`` for ``Item``, which is NLWeb's name of the root.
    """

def supertypes(type: str) -> tuple[str, ...]:
    """Return a type and all its supertypes, the most specific first, ``Thing`` last."""

@final
class PromptTemplate:
    """A prompt with placeholders such as ``{request.query}``.

    A placeholder is a name in braces, with optional spaces around it; a name is words joined by
    dots, in ASCII letters, digits and ``_``. All other braces are text, so JSON is preserved, and
    there is no escape for braces.

    Example:
        >>> prompt = PromptTemplate('Score {request.query} as {"score": 1}.')
        >>> prompt.render({"request.query": "soup"})
        'Score soup as {"score": 1}.'
    """

    __match_args__ = ("text",)

    def __new__(cls, text: str) -> Self: ...
    @property
    def text(self) -> str:
        """The prompt as written."""

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The names of the placeholders, each once, in the order of the text."""

    def render(self, values: Mapping[str, str]) -> str:
        """Fill the placeholders in one pass; values are not searched for placeholders.

        A name with a dot that `values` does not have becomes empty. A single word such as
        ``{name}`` is kept if there is no value for it.

        Args:
            values: Texts by the names of the placeholders; only those in the prompt are looked up.

        Raises:
            TypeError: A value is not a ``str``.
        """

    def __hash__(self) -> int: ...

def structure_schema(structure: Any) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a `returnStruc`, which is an example object.

    Phrases about types, ranges and options are parsed (``"integer between 0 and 100"``, ``"list of
    strings"``, ``"one of 'a' or 'b'"``, ``"(optional)"``); all others describe a string. Only the
    score and members marked ``(required)`` are required. A JSON Schema with ``properties`` is
    returned unchanged.

    Raises:
        TypeError: `structure` is not JSON.
    """

@final
class ScoredReply:
    """The parsed reply to a scoring prompt.

    Score and parameters are independent: if the parameters are invalid, the tool can still be
    ranked by its score, and `violations` lists the defects.
    """

    __match_args__ = ("score", "parameters", "error")
    __hash__: ClassVar[None]  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def score(self) -> float | None:
        """The score from 0 to 100; None if there is no valid one."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The rest of the reply, repaired. It is valid if there are no `violations`."""

    @property
    def error(self) -> str | None:
        """The reason why there is no score or, if there is one, why the parameters are invalid."""

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The violations of the schema by the parameters."""

    @property
    def ignored(self) -> tuple[str, ...]:
        """The members of the reply that are not among the parameters.

        These are members that the schema does not have, and optional members that are null although
        the schema requires a value.
        """

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """The repairs."""

@final
class ReplyReader:
    """A reader of replies that should match the schema of a `returnStruc`.

    A score may be ``85``, ``85.0``, ``"85"``, ``"85.5"`` or ``"85%"``, and is clamped to the range
    from 0 to 100. It is the member ``score`` or, without one, the only member with that name in
    another case. The rest is validated by the schema without the score, and repaired if it is
    invalid. The object may be in a fence, between sentences or after reasoning in ``<think>``, and
    its syntax is repaired if necessary.

    Args:
        schema: The schema; None accepts any object.

    Raises:
        SchemaError: `schema` is not a JSON Schema.
    """

    def __new__(cls, schema: Mapping[str, Any] | None = None) -> Self: ...
    def read(self, reply: str | Mapping[str, Any]) -> ScoredReply:
        """Read a reply. This never raises; defects are reported in the result."""

@final
class RankingResult:
    """The winner of a ranking, and the order of all tools.

    After an early stop, a score that arrives late may be higher than that of the winner; its tool
    then precedes the winner in the order.
    """

    __match_args__ = ("winner", "order", "reason", "ties")

    def __new__(
        cls,
        winner: int | None,
        order: Iterable[int],
        reason: Literal["threshold", "early_stop", "fallback", "none"],
        ties: Iterable[int],
    ) -> Self: ...
    @property
    def winner(self) -> int | None:
        """The position of the winner."""

    @property
    def order(self) -> tuple[int, ...]:
        """All positions: those with scores, best first, then failed and unfinished ones."""

    @property
    def reason(self) -> Literal["threshold", "early_stop", "fallback", "none"]:
        """The rule that decided; ``early_stop`` means that other scores were not awaited."""

    @property
    def ties(self) -> tuple[int, ...]:
        """The other tools with the winner's score, best first. Empty for a fallback."""

    def __hash__(self) -> int: ...

@final
class Ranking:
    """A ranking of tools by their scores, independent of the order of arrival.

    The highest score that reaches the threshold wins. Ties go to the more specific tool, then to
    the first one in `names`. So the same scores give the same winner in any order, unless one of
    them causes an early stop.

    Args:
        names: The tools, in document order. Elsewhere, a tool is identified by its position in it.
        specificity: The specificity of each tool; the greater wins. Equal by default.
        threshold: The lowest score that wins.
        early_stop: The lowest score that ends the wait for others; it must reach `threshold` as
            well. None waits for all.
        fallback: The tool that is selected if no score reaches `threshold`, even if it failed.

    Raises:
        ValueError: The number of specificities differs from that of names, or a limit is not
            finite.

    Example:
        >>> ranking = Ranking(["search", "details"])
        >>> ranking.offer([(1, 85.0)])
        False
        >>> ranking.offer([(0, None)])
        True
        >>> ranking.finish().winner
        1
    """

    def __new__(
        cls,
        names: Iterable[str],
        specificity: Iterable[int] | None = None,
        *,
        threshold: float = 70.0,
        early_stop: float | None = 90.0,
        fallback: str | None = "search",
    ) -> Self: ...
    def offer(self, outcomes: Iterable[tuple[int, float | None]]) -> bool:
        """Add outcomes that arrived together: scores, or None for a failure.

        Returns:
            True once the result is final, because a score causes an early stop or all outcomes have
            arrived. Later outcomes are ranked, but do not change the winner.

        Raises:
            IndexError: There is no tool at a position.
            ValueError: A tool has an outcome already.
        """

    def finish(self) -> RankingResult:
        """Return the result so far. Outcomes that have not arrived count as failed."""

@final
class SearchIndex:
    """An index of texts by their words, ranked with BM25.

    Words are split at punctuation, digits and changes of case. Parts that are separated only by
    digits or case also count in pairs and as a whole (``GitHub`` is *git*, *hub* and *github*).
    Case is ignored, and so is a final *s*. In scripts without spaces, each character counts, and
    each pair of adjacent characters.

    Args:
        documents: Sequences of texts, each with a weight from 0 to 100.

    Example:
        >>> index = SearchIndex([[("GetWeather", 3)], [("send_mail", 3), ("Sends a mail.", 1)]])
        >>> [position for position, _ in index.search("mails of today", 5)]
        [1]
    """

    def __new__(cls, documents: Iterable[Iterable[tuple[str, int]]]) -> Self: ...
    def search(self, query: str, limit: int) -> list[tuple[int, float]]:
        """Return positions and scores of the documents with a word of `query`, best first.

        Equal scores are in the order of the documents. Of a long query, only the first 10,000
        characters are read, and the first 64 words that occur in any document.
        """

    def coverage(self, query: str, documents: Sequence[int]) -> float:
        """Return the share of the words of `query` that occur in documents, from 0 to 1.

        Rare words count more. Of a long query, only the first 10,000 characters and the first 64
        words are read.

        Args:
            query: The query.
            documents: Positions of documents; a word counts if it occurs in at least one of them.
        """

@final
class StreamReducer:
    """A reducer that turns the stream events of a chat into a snapshot.

    Events are identified by their ``sequenceNumber``, and a snapshot depends only on the set of
    events, not on their order or repetition. Events in order have a constant cost. Safe to share
    between threads.

    Args:
        pending_timeout: Seconds without events after which a call shows as ``timeout``; never if
            None.

    Raises:
        ValueError: `pending_timeout` is negative or not a number.

    Example:
        >>> reducer = StreamReducer()
        >>> event = {"kind": "text", "messageId": "m", "sequenceNumber": 2, "delta": "lo"}
        >>> reducer.push(event), reducer.push(event)
        (True, False)
        >>> reducer.missing
        [(1, 1)]
        >>> reducer.push({**event, "sequenceNumber": 1, "delta": "Hel"})
        True
        >>> reducer.snapshot()["messages"][0]["text"]
        'Hello'
    """

    def __new__(cls, *, pending_timeout: float | None = 60.0) -> Self: ...
    def push(self, event: Mapping[str, Any] | str) -> bool:
        """Add one event, as a dict or as JSON text.

        Returns:
            True if the event is new; False if one with its number was added before and is kept.

        Raises:
            MessageError: The event is invalid, or has no ``sequenceNumber``; the error names the
                place.
            TypeError: The event contains a value that is not JSON.
        """

    def snapshot(self, now: float | None = None) -> dict[str, Any]:
        """Return the current state, as described by ``schemas/snapshot.json``.

        Args:
            now: Seconds since 1970, for finding calls that have timed out. Without it, no call
                times out.

        Raises:
            ValueError: `now` is negative or not a number.
        """

    def messages(self, run_id: str | None = None) -> tuple[Message, ...]:
        """Return the messages of the events so far, of one run or of all.

        Texts and reasoning are included even if they were cut off, calls once they are complete,
        with the results so far. The messages of a reply are in the order in which a run emits them:
        reasoning and texts, calls, usage.
        """

    @property
    def last_sequence_number(self) -> int:
        """The last number before the first gap: all events up to it have arrived. 0 if none has."""
    @property
    def missing(self) -> list[tuple[int, int]]:
        """The gaps before events that have arrived, each as its first and last number.

        At most 100 gaps are listed.
        """

def check_stream_event(event: Mapping[str, Any] | str) -> None:
    """Raise if this is not a stream event. It need not have a ``sequenceNumber`` yet.

    Unknown kinds and fields are accepted, and a field that is None counts as absent.

    Raises:
        MessageError: A field is missing or invalid; the error names the place.
        TypeError: The event contains a value that is not JSON.
    """

@final
class JsonMeter:
    """A meter of the size of JSON text, used before the text is parsed.

    Invalid text is counted as well, at least up to its first error, so that the counts bound what a
    parser builds before it fails. Safe to share between threads.

    Example:
        >>> meter = JsonMeter()
        >>> meter.push(b'{"rows": [[1, 20], ')
        >>> meter.push(b'["a,b", null]]}')
        >>> meter.values, meter.depth, meter.longest_number
        (9, 3, 4)
    """

    def __new__(cls) -> JsonMeter: ...
    def push(self, piece: bytes) -> None:
        """Count the next chunk of the text."""
    @property
    def values(self) -> int:
        """Number of containers, strings, member names, numbers, booleans and nulls so far."""
    @property
    def depth(self) -> int:
        """Depth of the deepest container so far."""
    @property
    def longest_number(self) -> int:
        """Length of the longest number, or other word outside strings, in bytes."""

@final
class HttpWakeup:
    """A socket with which requests wake the event loop that watches it.

    Raises:
        NotImplementedError: The system has no pairs of sockets.
    """

    def __new__(cls) -> HttpWakeup: ...
    def fileno(self) -> int:
        """Return the file descriptor for the loop to watch, or -1 once closed."""
    def ready_keys(self, limit: int) -> list[int]:
        """Return the keys of up to `limit` replies that have events.

        If there are more, the socket stays readable.
        """
    def close(self) -> None:
        """Close the socket. Later wakeups are ignored."""

@final
class HttpClient:
    """A connection pool, one for each process, with the options of all requests.

    Times are in seconds, sizes in bytes; see `HttpModel`.

    Args:
        name: The name of the model, with which messages of failures begin.

    Raises:
        ValueError: An option is invalid.
    """

    def __new__(
        cls,
        name: str,
        *,
        connect_timeout: float,
        first_byte_timeout: float,
        idle_timeout: float,
        timeout: float | None,
        max_retries: int,
        proxy: str | None,
        roots: bytes | None,
        http_version: Literal["auto", "1.1", "2"],
        follow_redirects: bool,
        max_header_bytes: int,
        max_line_bytes: int,
        max_body_bytes: int,
        max_queued_bytes: int,
    ) -> HttpClient: ...
    @staticmethod
    def check(url: str, headers: Mapping[str, str]) -> None:
        """Raise if a request with this URL and these headers could not be sent.

        Raises:
            TypeError: A header is not a string.
            ValueError: The URL or a header is invalid.
        """
    def send(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        wakeup: HttpWakeup | None,
        parser: Parser | None = None,
        inline: bool = True,
        deltas: bool = True,
        call_ids: Callable[[int], str] | None = None,
    ) -> HttpReply:
        """Send a request. Call this on the thread of the event loop.

        Args:
            url: The URL.
            headers: The headers.
            body: The body.
            wakeup: The socket that wakes the loop; None if the loop cannot watch one.
            parser: A parser for calls in the reply. It is not modified.
            inline: True to parse text for calls.
            deltas: True to report arguments while they arrive.
            call_ids: A function that returns the id of a call at an index, where the provider gave
                none.

        Raises:
            RuntimeError: Python is shutting down.
            ValueError: The URL, a header or an option of the client is invalid.
        """
    def close(self) -> None:
        """Close the idle connections. New ones can be opened afterwards."""

@final
class HttpBatch:
    """A batch of requests whose complete replies are collected. Dropping it aborts them.

    Create it on the thread of the event loop. It cannot be used in a fork of its process.

    Args:
        client: The client that sends the requests.
        wakeup: The socket that wakes the loop; None if the loop cannot watch one.

    Raises:
        RuntimeError: The wakeup socket belongs to the parent of this forked process.
    """

    def __new__(cls, client: HttpClient, wakeup: HttpWakeup | None) -> HttpBatch: ...
    @property
    def key(self) -> int:
        """The key under which the wakeup socket reports the batch."""
    @property
    def in_flight(self) -> int:
        """Number of requests in flight: neither finished nor stopped."""
    def start(self, number: int, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Send a request.

        Args:
            number: The number of the request, different from those in flight.
            url: The URL.
            headers: The headers.
            body: The body.

        Raises:
            RuntimeError: Python is shutting down, or the batch belongs to the parent of this forked
                process.
            ValueError: The URL, a header or an option of the client is invalid.
        """
    def take(
        self,
    ) -> list[
        tuple[
            int,
            str,
            str | None,
            UsageUpdate | None,
            tuple[str, int | None, float | None, bool, str | None] | None,
        ]
    ]:
        """Return the replies that have finished since the last call.

        The wakeup socket is signalled for the next one, and when the last request has ended.

        Returns:
            The number, the text so far, the finish reason if the reply ended, the usage if it is
            known, and the failure, if any, in the form of `HttpReply.failure`.

        Raises:
            RuntimeError: The batch belongs to the parent of this forked process.
        """
    def ready(self, event_loop: object) -> Awaitable[None]:
        """Return an awaitable that completes when a reply can be taken or no request is in flight.

        For batches without a wakeup socket.

        Args:
            event_loop: The loop that creates the future and is called when it completes.
        """
    def stop(self, number: int) -> None:
        """Stop a request: its connection is closed at once, and it has no outcome."""
    def close(self) -> None:
        """Stop all requests in flight."""

@disjoint_base
class ChunkReader:
    """Converter from the chunks of an OpenAI-compatible reply to updates.

    For chunks that a provider's client has received and parsed: dicts, or the client's objects.
    The reader tolerates common deviations of servers: missing or repeated ids and indexes, names in
    every fragment, and reasoning under different field names. Only the first of several choices is
    read.
    """

    reason: str | None
    """Finish reason as the server sent it; None before that."""

    def __new__(cls) -> Self: ...
    def push(self, chunk: object) -> Sequence[Update]:
        """Return the updates of one chunk; none if it only keeps the connection alive."""
    def finish(self) -> FinishUpdate:
        """Return the end of the reply: ``missing`` if its reason is absent or unknown."""

@final
class HttpLargeEvents:
    """Events that take long to convert, since there are calls of more than 128 KiB among them."""

    def read(self) -> tuple[Event | Update, ...]:
        """Return the events, or an empty tuple if called again. Call this in a thread."""

@final
class HttpReply:
    """A request that has been sent, with its reply. Dropping it aborts the request.

    It cannot be used in a fork of its process.
    """

    @property
    def key(self) -> int:
        """The key under which the wakeup socket reports the reply."""
    @property
    def failure(self) -> tuple[str, int | None, float | None, bool, str | None] | None:
        """The failure of the reply, if it failed, once all events have been taken.

        A tuple of the message, the HTTP status, the seconds to wait, True if a retry may help, and
        the parameter that the server rejects.
        """
    def take(self, limit: int) -> tuple[Event | Update, ...] | HttpLargeEvents | None:
        """Return the events that have arrived, at most `limit`; None after the last one.

        If none has arrived yet, the wakeup socket is signalled for the next one.

        Raises:
            RuntimeError: The reply belongs to the parent of this forked process.
        """
    def ready(self, event_loop: object) -> Awaitable[None]:
        """Return an awaitable that completes when events can be taken.

        For replies without a wakeup socket.

        Args:
            event_loop: The loop that creates the future and is called when it completes.
        """
    def close(self) -> None:
        """Close the connection at once, unless all of the reply has been read."""
