from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias, TypeVar, final

from typing_extensions import Self, Unpack, disjoint_base

from . import AgentEvent, Event, Message, Update
from .kinds import ErrorCode, FinishReason, MessageKind, Role
from .options import ParserOptions, Tools

__all__ = [
    "Consolidator",
    "Diagnostic",
    "Discarded",
    "EventStream",
    "FabricatedResult",
    "FinishUpdate",
    "FunctionContract",
    "HttpBatch",
    "HttpWakeup",
    "HttpClient",
    "HttpLargeEvents",
    "HttpReply",
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
    """One change that made a call acceptable.

    Attributes:
        path: Where, as a JSON Pointer into the arguments; empty for the call as a whole.
        kind: What kind of change, such as ``trailing_comma`` or ``type``.
        before: What stood there.
        after: What stands there now.
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
        TypeError: The arguments are no dict of JSON values, or the repairs no repairs.
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
        """Unique within the reply; the result refers to it."""
    @property
    def name(self) -> str:
        """The tool, as its contract spells it."""
    @property
    def arguments(self) -> dict[str, Any]:
        """A JSON object; integers of any size are exact."""
    @property
    def raw(self) -> str:
        """What made the call; empty for a call that nobody wrote.

        The span of the reply with its tags, or the text of a native call's arguments.
        """
    @property
    def index(self) -> int:
        """The position among the calls of the reply."""
    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What had to be mended, in order."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> ToolCall: ...

@final
class ToolResult:
    """What a tool answered.

    Two results are equal if what is on the wire is: `value`, `exception` and `reference` do not
    count.

    Raises:
        ValueError: The error code is not one, or the duration not finite.
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
        """The call that this answers."""
    @property
    def name(self) -> str:
        """The tool."""
    @property
    def result(self) -> str:
        """What the model reads."""
    @property
    def value(self) -> Any:
        """What the function returned. Not on the wire."""
    @property
    def is_error(self) -> bool:
        """Whether the call failed; true wherever there is an error code."""
    @property
    def error_code(self) -> ErrorCode | None:
        """Why it failed, if it did."""
    @property
    def duration(self) -> float | None:
        """How long the tool ran, in seconds."""
    @property
    def exception(self) -> BaseException | None:
        """The exception that the tool raised. Not on the wire, in no store, and not pickled."""
    @property
    def reference(self) -> str | None:
        """The id under which the log has the exception, unless the tool raised it on purpose.

        On the wire it stands in the message's `metadata["references"]`, by the id of the call.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> ToolResult: ...

@final
class TextDelta:
    """More text.

    Attributes:
        text: The text; for a chunk that is all text, the very same string.
    """

    __match_args__ = ("text",)

    def __new__(cls, text: str) -> TextDelta: ...
    @property
    def text(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ReasoningDelta:
    """More of what the model thinks.

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
    """A fragment of a call that the provider's own protocol carries.

    The fragments of a call are held together by its id or, where only the first one has it, by
    the index.

    Attributes:
        tool_call_id: The id, where the fragment has it.
        index: The position among the calls of the reply, where the fragment has it.
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
    """Tokens that the request has used so far, not since the last update."""

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
        """Those of `input_tokens` that the provider had in its cache."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class FinishUpdate:
    """The reply is over. Comes once, after everything but results.

    Attributes:
        reason: Why: ``missing`` if the provider did not say.
    """

    __match_args__ = ("reason",)

    def __new__(cls, reason: FinishReason | str) -> FinishUpdate: ...
    @property
    def reason(self) -> FinishReason: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@disjoint_base
class MessageBase:
    """What every message carries besides its content. Only its subclasses have objects."""

    @property
    def kind(self) -> MessageKind | str:
        """What the message holds: a plain string where this version does not know the kind."""
    @property
    def role(self) -> Role:
        """Who speaks."""
    @property
    def id(self) -> str | None:
        """The message's own id."""
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
        """Anything else: a JSON object."""
    @property
    def extra(self) -> dict[str, Any]:
        """What the wire held beyond the fields that this version knows; written back as it was."""
    def to_json(self) -> str:
        """The message as JSON text: camelCase, `kind` first, without empty fields."""

    def to_dict(self) -> dict[str, Any]:
        """The message as the dict that `to_json` writes."""

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Reads a message of this class from JSON text, nested at most 128 levels deep.

        Raises:
            MessageError: It is no JSON, no message, or one of another kind.
        """

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Reads a message of this class from a dict.

        Raises:
            MessageError: It is no message, or one of another kind.
        """

@final
class TextMessage(MessageBase):
    """Text.

    Attributes:
        kind: ``text``.
        text: The text.
        natural: Whether `consolidate` passes the text on as it stands, with the calls and results
            in it; of a user's text only results. False: nothing in it is read as a call. Set by
            `consolidate` and by programs, for text that they trust; never by clients of a server.
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
    """What the model thought before it answered.

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
    """Calls that the model made.

    Attributes:
        kind: ``tools_call``.
        tool_calls: The calls, in the order written.
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
    """Results of calls.

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
    """Calls with their results. A call without a result is pending.

    Attributes:
        kind: ``tools_aggregate``.
        tool_calls: The calls, in the order written.
        tool_results: Their results, in the same order.

    Raises:
        MessageError: A result answers none of the calls, or an id repeats.
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
        """In the order of the calls, matched by id."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> ToolAggregateMessage: ...

@final
class UsageMessage(MessageBase):
    """What a model request used.

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
        """Those of `input_tokens` that the provider had in its cache."""
    @property
    def cost(self) -> float | None:
        """In the currency of the caller's price table."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> UsageMessage: ...

@final
class UnknownMessage(MessageBase):
    """A kind that this version does not know, kept as it came."""

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
        """Its name on the wire."""
    @property
    def fields(self) -> dict[str, Any]:
        """Everything in it that is not part of the envelope."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> UnknownMessage: ...

@final
class Joiner:
    """Turns what streams of one reply, and the results of its calls, into messages.

    Results may come before their call, late or twice, ids on any fragment of a call. Neither that
    nor how the pieces were cut shows in the messages. They stand in the order of writing, a call
    where the first of it was seen. Calls share a message unless text or reasoning stands between
    them; white space alone between two calls stands behind the later one, at the beginning of the
    next text.

    Every message carries the given envelope. Safe to share between threads.
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
        """Takes in one update.

        Raises:
            TypeError: It is no update.
        """

    def finish(self) -> JoinedReply:
        """What has come so far, as messages.

        More may be pushed afterwards, such as late results, and this called again.
        """

@final
class JoinedReply:
    """What a `Joiner` has made of its updates."""

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
        """Why the reply ended; `missing` if nobody said so."""
    @property
    def missing(self) -> tuple[str, ...]:
        """The ids of the calls in `messages` that have no result yet, in order."""
    @property
    def problems(self) -> tuple[JoinProblem, ...]:
        """What could not be taken as it came."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class JoinProblem:
    """Something in a stream that could not be taken as it came.

    Kinds: ``invalid_arguments``, ``unclosed`` and ``unnamed`` (a native call in no message),
    ``renamed``, ``late_fragment``, ``duplicate_call``, ``duplicate_result``, ``no_call`` (a result
    without one), ``after_finish`` and ``second_finish``.

    Attributes:
        kind: What could not be taken.
        tool_call_id: The call that it is about, if there is one.
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
        """A sentence that says what happened."""
    @property
    def tool_call_id(self) -> str | None: ...
    @property
    def name(self) -> str | None:
        """The tool."""
    @property
    def text(self) -> str | None:
        """The text that is in no message: arguments, a result, another name."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

class _Dumpable(Protocol):
    """A response object of a provider's client."""

    def model_dump(self) -> dict[str, Any]: ...

_Dangling: TypeAlias = Literal["answer", "omit", "raise"]
_Messages: TypeAlias = str | Message | Iterable[str | Message | Mapping[str, Any] | _Dumpable]

def message_from_json(text: str | bytes) -> Message:
    """Reads a message of any kind from JSON text, nested at most 128 levels deep.

    Raises:
        MessageError: It is no JSON or no message.
    """

def message_from_dict(fields: Mapping[str, Any]) -> Message:
    """Reads a message of any kind from a dict.

    Raises:
        MessageError: It is no message.
    """

def to_openai(
    messages: _Messages, *, dangling: _Dangling = "answer", reasoning: bool = False
) -> list[Any]:
    """Messages as ``chat.completions.create`` of OpenAI's client takes them: a list of dicts.

    What one reply says becomes one message (by `generation_id`; without one, thoughts, text and
    calls in this order belong together), the results of its calls follow directly. Usage is left
    out, and so is the error flag of results, which that API does not have. Its format has one text
    and one list of calls for a reply, so that the order of text and calls in it is lost: texts are
    joined to one, in order, and so are calls.

    Args:
        messages: A conversation.
        dangling: What becomes of a call without a result, which the API refuses: ``answer`` it with
            a text that says so, ``omit`` it, or ``raise``. A result without a call is left out by
            ``omit`` and an error otherwise.
        reasoning: Whether to send reasoning, as ``reasoning_content``; only some servers take it.

    Raises:
        MessageError: Something has no place in that format; says which message.
    """

def from_openai(messages: Iterable[Mapping[str, Any] | _Dumpable]) -> list[Message]:
    """Messages from dicts and response messages of OpenAI's client.

    Calls and their results become aggregates. Of content that is a list of parts the texts are
    joined; the list, and all else that only that API knows, is kept in ``metadata["openai"]``.

    Raises:
        MessageError: Something is missing, wrong or not known; says which message and where.
    """

def to_anthropic(
    messages: _Messages, *, dangling: _Dangling = "answer"
) -> tuple[str | list[Any] | None, list[Any]]:
    """The system prompt and the messages (dicts) for ``messages.create`` of Anthropic's client.

    As `to_openai`, but thoughts, texts and calls of a reply keep their order; the results of its
    calls are one user message directly after it. All system texts go into the system prompt. Left
    out, because the API refuses them: blank texts and reasoning without a signature in its
    metadata. Call ids are made unique and spelled as the API demands.

    Raises:
        MessageError: Something has no place in that format; says which message.
    """

def from_anthropic(
    messages: Iterable[Mapping[str, Any] | _Dumpable],
    *,
    system: str | list[dict[str, Any]] | None = None,
) -> list[Message]:
    """Messages from dicts and responses of Anthropic's client.

    Thoughts, texts and calls of a reply keep their order; calls without anything between them share
    a message. `generation_id` is the id of the reply; one without an id that goes on after its
    calls is named after the first of these. What only that API knows is kept in
    ``metadata["anthropic"]``.

    Raises:
        MessageError: Something is missing, wrong or not known; says which message and where.
    """

def _copy_json(value: Any) -> Any: ...
def _rebuild(class_: type[_T], fields: dict[str, Any], /) -> _T: ...
def _without_keys(text: str, keys: list[str]) -> str: ...

@final
class Violation:
    """One way in which a value does not fit its schema.

    Attributes:
        path: Where in the value, as a JSON Pointer; empty for the whole value. A missing
            property is reported at the object that lacks it.
        keyword: The schema keyword that failed, such as ``type`` or ``required``.
        message: A sentence that names the place and says what would be accepted.
        expected: What the schema asks for, where that can be said as a value: the name of the
            type, the options of an enum, the limit, the name of the missing property.
        actual: What stood there; where that is long, the beginning of its JSON as a string.
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
    """A JSON Schema, compiled once.

    All drafts are known; without ``$schema`` it is 2020-12. Nothing is ever fetched: a ``$ref``
    leads into the schema, to ``resources`` or to a bundled meta-schema. ``format`` asserts where
    its draft says so (up to draft 7) and is an annotation elsewhere.

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
        """Compiles a schema.

        Args:
            schema: The schema.
            resources: Schemas that a ``$ref`` may lead to, by URI.

        Raises:
            SchemaError: The schema is wrong, leads to something that was not given, or is too
                large to be safe; the message names the place.
            TypeError: Something in it is no JSON.
        """

    def validate_json(self, text: str | bytes) -> Any:
        """The value that ``text`` spells, if it fits.

        Integers are exact at any size up to 4,300 digits. Where a key is repeated the last one
        counts.

        Raises:
            InvalidJSONError: The text is not JSON, is nested deeper than 128 levels, or holds
                a number that a float cannot.
            ValidationError: The value does not fit.
        """

    def validate(self, value: Any) -> None:
        """Raises if ``value`` does not fit.

        Tuples count as arrays and any mapping as an object.

        Raises:
            ValidationError: It does not fit.
            TypeError: Something in it is no JSON: a set, NaN, a key that is not a string.
            ValueError: It is nested deeper than 128 levels, or contains itself.
        """

    def is_valid(self, value: Any) -> bool:
        """Whether ``value`` fits; raises as `validate` does for what is no JSON."""

    def iter_errors(self, value: Any) -> tuple[Violation, ...]:
        """In which ways ``value`` does not fit: at most 20 of them, none if it fits."""

@final
class Limits:
    """Bounds on what a parser accepts and remembers.

    Attributes:
        max_depth: How deep the arguments of a call may be nested; the object itself is level 1.
            At most 128.
        max_argument_bytes: The largest payload of one call, in bytes.
        max_repair_bytes: The largest payload that is mended when it is broken, in bytes.
        max_tag_bytes: The longest tag, the longest run of white space beside a payload, the
            longest first line of a fence and the longest body that is no JSON, in bytes. At
            least 16.
        max_calls: How many calls a reply may make.
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
    """A call has begun; a `ToolCall` or an `InvalidToolCall` of the same index follows.

    Attributes:
        index: The position among the calls of the reply.
        id: The id that the call will have.
        name: The tool, or what the model took for one.
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
    """More of a call's arguments, byte for byte as the model writes them.

    Attributes:
        index: The position of the call among the calls of the reply.
        fragment: The text; never half an escape.
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
    """Markup that is neither text nor call.

    Attributes:
        raw: The text.
        reason: ``reasoning_tag``, ``fence`` (a line of a code fence around calls),
            ``orphan_close`` (a closing tag whose call had already ended), ``too_large`` (the rest
            of something that went past a limit) or ``late_fragment`` (arguments of a native call
            that had ended).
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
    """A call that cannot be run.

    Attributes:
        index: The position among the calls of the reply.
        id: Unique within the reply.
        name: The tool, or what the model took for one.
        kind: ``unknown_tool``, ``invalid_json``, ``schema_violation``, ``unclosed`` (the reply
            ended inside the call), ``too_large`` or ``too_many``.
        raw: The whole span, tags and fences included.
        violations: The particulars; at least one. Of arguments that do not fit the schema, those
            that are left when all is mended that can be.
        arguments: Arguments that do not fit the schema, as far as they could be mended; None for
            calls of other kinds.
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
    """A tool's result that the model wrote itself. It is never mixed with real ones.

    Attributes:
        name: The tool that it claims to come from, if it says so.
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
    r"""What the model is told about one tool, and what its calls are held to.

    Args:
        name: What the model calls it by: at most 256 bytes, without white space and without any of
            ``< > " ' = ` & \``.
        description: What it does, for the model to read.
        parameters: The JSON Schema of its arguments, an object schema nested at most 100 levels
            deep; without one nothing is validated.
        returns: What it returns: a JSON Schema, or prose.

    Raises:
        ContractError: The name cannot stand in a tag, or a schema is none; says where.

    Attributes:
        name: What the model calls it by.
        description: What it does.
        parameters: The JSON Schema of its arguments: a new dict each time.
        returns: What it returns.
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
        """Returns the fields as a dict, without those that are None."""
    @staticmethod
    def from_dict(definition: Mapping[str, Any]) -> FunctionContract:
        """Makes a contract from what `to_dict` returns.

        Raises:
            ContractError: A key is not known, or what the constructor raises.
        """
    def to_openai(self) -> dict[str, Any]:
        """Returns the definition for OpenAI's client: ``{"type": "function", "function": {...}}``.

        There is no place in it for what the tool returns.
        """
    @staticmethod
    def from_openai(definition: Mapping[str, Any]) -> FunctionContract:
        """Makes a contract from a tool definition as clients of providers write it.

        Taken are OpenAI's form, the same without the wrapper (``name``, ``description``,
        ``parameters``), Anthropic's with ``input_schema`` and MCP's with ``inputSchema``. Other
        keys are ignored.

        Raises:
            ContractError: It is no definition of a function; says what is wrong.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Parser:
    """Splits a streamed reply into text and tool calls.

    However the reply is cut into chunks, the same events come out once neighbouring deltas are
    joined, and every character of it is in exactly one of them. A parser is fed by one thread
    at a time.

    Args:
        tools: The tools that may be called: contracts, provider definitions or bare names, whose
            arguments are not validated.
        dialects: How calls are written. ``natural`` knows ``<Name>{...}</Name>`` and
            ``<tool_call name="Name">{...}</tool_call>``.
        repair: How far arguments are mended: ``none``, ``syntax`` (broken JSON) or ``schema``
            (values of the wrong type as well, where the meaning is certain).
        deltas: Whether arguments are reported while they arrive.
        reasoning_tags: The names of tags around reasoning.
        in_code: What a call inside Markdown code is: ``text`` or ``call``.
        limits: What a reply may cost; `Limits()` if not given.
        id_factory: Gives the id of the call at an index; ``call_0``, ``call_1``, ... if not given.
            An id that is empty, repeated in the reply or has lone surrogates is replaced, with a
            warning.

    Raises:
        ContractError: A tool cannot be called by its name, or two share one.
        SchemaError: The parameters of a tool are not a JSON Schema; nothing is ever fetched.
        ValueError: An option has a value that it cannot have.

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
        """Takes the next chunk and returns what it makes certain.

        Text is held back only while it could still begin a tag. A chunk that is all text comes
        back as the very same string.
        """
    def push_many(self, chunks: Iterable[str]) -> tuple[Event, ...]:
        """Takes many chunks at once; neighbouring deltas come out joined.

        Raises:
            TypeError: Something in `chunks` is not a string; then none of them has been read.
        """
    def finish(self, *, truncated: bool = False) -> tuple[Event, ...]:
        """Ends the reply, returns the rest and gets ready for the next one.

        Args:
            truncated: Whether the model was cut off. Then no call that is still open is
                completed, however whole it looks.
        """
    def native_call(
        self, id: str, name: str, arguments: str, *, index: int = 0, truncated: bool = False
    ) -> ToolCall | InvalidToolCall:
        """Judges a call that the provider's own protocol carries, as if it stood in the reply.

        Its arguments are mended and validated by the same rules. The reply that is being read,
        if any, has no part in it.

        Args:
            id: The provider's id for the call.
            name: The tool.
            arguments: All of the text of the arguments; without any, it is ``{}``.
            index: The position among the calls of the reply.
            truncated: Whether the reply was cut off in this call. Then it is ``unclosed``,
                however whole the text looks.
        """
    def fresh(self) -> Parser:
        """Returns a parser for the same tools and options that has read nothing.

        Nothing is compiled again: a server makes one parser, and a fresh one for each reply.
        """
    def reset(self) -> None:
        """Forgets the reply."""

@final
class UpdateReader:
    """Reads what a model yields for one reply: calls in its text and native calls alike.

    Native calls are put together from their fragments, which are held together by the call's id
    or, where only the first one has it, by the index. A native call is at its end when another one
    begins, if its arguments are a JSON object by then, and else when the reply is. A reader is fed
    by one thread at a time.

    Args:
        parser: Knows the tools. It is not fed.
        inline: Whether calls are looked for in the text.
        deltas: Whether the arguments of native calls are reported while they arrive. Those of
            calls in text are as the parser was told.
        call_ids: Gives the id of the call at an index where the provider gave none; the parser
            does if not given.

    Raises:
        TypeError: `call_ids` is no function.

    Attributes:
        calls: How many calls there are so far, of both kinds, valid or not.
        held: How many bytes of calls may be waiting for the end of their call, at most.

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
        """Takes the next update, but for the end of the reply, and returns what it makes certain.

        A chunk that is all text comes back as the very same string, reasoning and usage as the
        very same object.

        Raises:
            TypeError: It is nothing that a model may yield.
        """
    def finish(self, *, truncated: bool) -> tuple[Event, ...]:
        """Ends the reply and returns the rest of it.

        Args:
            truncated: Whether the model was cut off. Then no call that is still open is
                completed, however whole it looks.
        """

@final
class EventStream:
    """The events of a reply that comes from an iterable of chunks; see `parse_stream`."""

    def __new__(
        cls, chunks: Iterable[str], tools: Tools, **options: Unpack[ParserOptions]
    ) -> EventStream: ...
    def __iter__(self) -> EventStream:
        """Returns itself."""
    def __next__(self) -> Event:
        """Returns the next event, reading as many chunks as it takes."""

def parse(
    text: str, tools: Tools, *, truncated: bool = False, **options: Unpack[ParserOptions]
) -> tuple[Event, ...]:
    """Parses a whole reply.

    Args:
        text: The reply.
        tools: As for `Parser`.
        truncated: Whether the model was cut off.
        **options: As for `Parser`.

    Returns:
        The events, neighbouring deltas joined.
    """

def repair_json(text: str) -> tuple[str, tuple[Repair, ...]]:
    """JSON for text that should be one JSON object (or array), and what was changed.

    Text that is JSON comes back as it is. Otherwise all that is valid keeps its spelling, and no
    value is invented or dropped. The `before` and `after` of a repair are the beginning of the
    text there.

    Example:
        >>> text, repairs = repair_json("{city: 'Paris',}")
        >>> text
        '{"city": "Paris"}'
        >>> [repair.kind for repair in repairs]
        ['bare_key', 'quotes', 'trailing_comma']

    Raises:
        InvalidJSONError: It would take a guess.
    """

def render_contracts(
    contracts: Tools, *, tag: Literal["name", "tool_call"] = "name", fenced: bool = True
) -> str:
    """Describes tools in Markdown: what each does, takes and returns, and an example call.

    The example fits the schema of the arguments, and shows no optional ones unless it fits only
    with them. Where no value was found that fits, there is none, and the text says so.
    Descriptions are flattened to one line.

    Args:
        contracts: The tools.
        tag: How the example is written: ``name`` (``<Name>``) or ``tool_call``
            (``<tool_call name="Name">``).
        fenced: Whether its arguments stand in a Markdown fence.

    Raises:
        ContractError: A tool cannot be called by its name, or two share one.
    """

def system_prompt(
    contracts: Tools,
    existing: str | None = None,
    *,
    tag: Literal["name", "tool_call"] = "name",
    fenced: bool = True,
) -> str:
    """Adds a section on tools, and on how to call them, to a system prompt.

    A section that is there already is replaced where it stands, so that this can be done on every
    request; without contracts it is taken out. What stands before and after it stays.

    Args:
        contracts: The tools.
        existing: The system prompt.
        tag: As for `render_contracts`.
        fenced: As for `render_contracts`.

    Raises:
        ContractError: A tool cannot be called by its name, or two share one.

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
) -> list[TextMessage]:
    """Writes a history as natural text: calls and results become tags in it.

    One message is what one party says until another does; texts of the system stand alone and stay
    as they are. Whatever is in a text or result, it is not read as a call: the ``<`` of what could
    be a tag of ours, or of a tool in `tools` or of a call so far, becomes ``&lt;``.
    `parse_history` undoes it. A text that is marked ``natural`` is passed on as it stands, of a
    user's only results; the messages that are returned are, so that doing this twice is doing it
    once.

    Reasoning and usage are not written. Of the fixed fields the first that is given counts. Of
    metadata the later counts, objects member by member, reasoning and usage included; what this
    adds is under ``generation_ids``, ``message_ids`` (of all messages that went in) and
    ``tool_calls`` (ids, durations, error codes, repairs and what made the calls), or under
    ``consolidated_...`` where a message has such a key of its own.

    Args:
        messages: A conversation.
        tools: The tools that the model knows.
        form: Where results stand: ``single`` directly behind their calls, in the same message, as
            in a transcript; ``turn`` in the turn after, as the user's, in the order of the calls;
            ``split`` in a message of the user's behind each group of calls. Messages with one
            ``generation_id`` are one reply; without, what follows calls answers their results.
        tag: How calls are written.
        fenced: Whether their arguments stand in a Markdown fence.

    Returns:
        The messages; none where there is nothing to say.

    Raises:
        ConsolidationError: Calls and results do not belong together; names the message.
        MessageError: Something in `messages` is no message.

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
    """Reads calls and results in the texts of a transcript.

    Calls are read in the assistant's texts alone, with all that `Parser` reads there: the same
    calls with the same arguments and repairs, reasoning as `ReasoningMessage`. A
    ``<tool_response>`` is read in the assistant's texts and, in the turn right after a call, for
    calls of its name that wait for a result. Everything else stays text, invalid calls among it:
    broken JSON, arguments that do not fit the schema, names that no tool has.

    What `consolidate` wrote comes back as it was: texts, calls and results to the character, with
    the ids, durations and error codes that the metadata keeps. In other texts the ids are
    ``call_0``, ``call_1``, ..., white space alone and lines ``---`` between calls are no text, and
    JSON results on several lines come back on one, as ``json.dumps`` writes it.

    Args:
        transcript: Messages of any roles, one message, or text, taken to be the assistant's.
            Messages that are no text, and those of the system, come back as they are.
        tools: The tools that may be called; without any, ``<tool_call name="...">`` may name any.
        dialects: How calls are written; ``("natural",)`` if left out; see `Parser`.

    Raises:
        MessageError: Something in `transcript` is no message; says which one and what is wrong.
        ContractError: A name of a tool cannot be read for.
        SchemaError: The schema of a tool cannot be used.
        ValueError: A dialect is not known.

    Example:
        >>> reply = 'I look. <GetWeather>{"city": "Oslo"}</GetWeather>'
        >>> answer = '<tool_response name="GetWeather">8 degrees</tool_response>'
        >>> transcript = [TextMessage(reply, role="assistant"), TextMessage(answer)]
        >>> said, called, answered = parse_history(transcript, ["GetWeather"])
        >>> called.tool_calls[0].arguments, answered.tool_results[0].result
        ({'city': 'Oslo'}, '8 degrees')
    """

@final
class Consolidator:
    """Writes a history down while it grows: messages, and replies that stream.

    What `push` and `finish` return, joined, is the text of the messages that `consolidate` makes
    of the same history, one behind the other. Memory and time are proportional to what is pushed.

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
        """Takes what comes next and returns the text that is now certain.

        A message, or a piece of a reply: what a model, a parser, `Agent` or `NaturalToolUse`
        yields. Text is written as it comes, but for what could still become a tag. A call is
        written when it is whole: fragments of native calls at the `FinishUpdate`, and a call that
        cannot be run with the message that holds its result. In the form ``single`` a call waits
        for its result, and what follows waits with it; in the form ``turn`` results wait for the
        end of the reply. Calls that streamed before come again as messages without being written
        twice.

        Args:
            message: The message or piece.

        Raises:
            ConsolidationError: The message does not fit, or came after the end. It leaves
                everything as it was.
            TypeError: It is nothing of all that.
        """
    def finish(self) -> str:
        """Ends the history and returns the rest of it: calls that are still pending."""
    @property
    def messages(self) -> list[TextMessage]:
        """The messages so far, with the metadata of all that went into them."""

@final
class Diagnostic:
    """Something to say about a `tools.xml`, with the place it is about."""

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
        """What kind it is, such as ``TW001``; see docs/registry.md."""

    @property
    def severity(self) -> Literal["error", "warning"]:
        """An error stops loading; a warning does not."""

    @property
    def message(self) -> str:
        """What is wrong, in a sentence."""

    @property
    def line(self) -> int:
        """The line, from 1."""

    @property
    def column(self) -> int:
        """The column in characters, from 1."""

    @property
    def length(self) -> int:
        """How many characters of that line it is about, at least 1."""

    @property
    def hint(self) -> str | None:
        """What to do about it, in a sentence."""

@final
class ToolEntry:
    """A tool as a registry has it: the element `Tool` of NLWeb's `tools.xml`."""

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
        """What it is called."""

    @property
    def type(self) -> str:
        """The type it belongs to, in its short form, such as ``Recipe``."""

    @property
    def site(self) -> str | None:
        """The site it belongs to; None for those of every site."""

    @property
    def enabled(self) -> bool:
        """Whether it is one. One that is not hides those it replaces."""

    @property
    def path(self) -> str:
        """Where it is served, for a tool of another place; empty if it does not say."""

    @property
    def method(self) -> str:
        """``builtin``, ``code``, ``extension`` or ``url``; empty if it does not say."""

    @property
    def handler(self) -> str | None:
        """The dotted path of what runs it."""

    @property
    def arguments(self) -> dict[str, str]:
        """Names of arguments, and what is said about each."""

    @property
    def examples(self) -> tuple[str, ...]:
        """Queries that it is for."""

    @property
    def prompt(self) -> str | None:
        """What a model is asked to find out whether it fits, with placeholders."""

    @property
    def return_struc(self) -> Any:
        """An example of the reply: any JSON. A new object each time."""

    @property
    def line(self) -> int | None:
        """Where it begins in the file, from 1; None if it is from no file."""

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The placeholders of its prompt, each once."""

    def render(self, values: Mapping[str, str]) -> str:
        """Its prompt with the placeholders filled, in one pass; unknown ones become empty."""

    @property
    def reader(self) -> ReplyReader:
        """Reads replies to its prompt. The same object each time."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a reply: what `return_struc` stands for, with a score."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The same without the score: what the handler is given. An object schema."""

@final
class Origin:
    """Where a tool that a type has comes from, and what it stands in for."""

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
        """The tool. Where it is disabled, the type does not have it, and `replaces` is hidden."""

    @property
    def owner(self) -> str:
        """The type that declares it."""

    @property
    def site(self) -> str | None:
        """The site that declares it; None for those of every site."""

    @property
    def replaces(self) -> tuple[ToolEntry, ...]:
        """Those it replaces, the nearest first."""

@final
class RegistrySnapshot:
    """All that a `tools.xml` says. It never changes."""

    @staticmethod
    def read(source: str | bytes, *, skip_invalid: bool = False) -> RegistrySnapshot:
        """Reads a document; bytes may be UTF-8, UTF-16 with a mark, or declared Latin-1.

        Args:
            source: The document.
            skip_invalid: Whether a tool with errors is left out, which are then among the
                diagnostics, instead of the document being refused. What is no XML always is.

        Raises:
            RegistryError: It cannot be used; its `diagnostics` are all that is wrong with it.
        """

    @staticmethod
    def of(entries: Iterable[ToolEntry]) -> RegistrySnapshot:
        """A registry of tools, in their order.

        Raises:
            RegistryError: A type is called ``Site`` or ``Tool``.
        """

    @staticmethod
    def join(parts: Iterable[RegistrySnapshot]) -> RegistrySnapshot:
        """One registry of several, in their order, as if all stood in one document.

        Its `diagnostics` are what can be said of them together only, such as that two have the
        same tool. The `line` of each tool is that in its own document.

        Raises:
            RegistryError: A type is its own ancestor by what they say together.
        """

    def with_entries(self, entries: Iterable[ToolEntry]) -> RegistrySnapshot:
        """The same with more tools.

        One of the same name, type and site replaces what was there. The others come at the end
        of the last block of their type.

        Raises:
            RegistryError: A type is called ``Site`` or ``Tool``.
        """

    @property
    def entries(self) -> tuple[ToolEntry, ...]:
        """All tools in document order, disabled ones as well."""

    @property
    def types(self) -> tuple[str, ...]:
        """The types that have tools, by their first tool."""

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites that are named, ``default`` apart."""

    @property
    def fingerprint(self) -> str:
        """A hash of all that is said, whatever the layout: 32 hexadecimal digits."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The warnings, in the order of the text, and the errors of tools that were left out."""

    def tools_of(
        self, kinds: Sequence[str], site: str | None = None, *, sites_replace: bool = False
    ) -> tuple[ToolEntry, ...]:
        """The tools of some types, general to specific.

        Args:
            kinds: The types in any spelling, the most specific first.
            site: The site; by default only tools of every site.
            sites_replace: Whether a site that does not say if it inherits has its own tools only,
                as in NLWeb.
        """

    def tools_for(self, type: str, site: str | None = None) -> tuple[ToolEntry, ...]:
        """The tools of a type in any spelling, general to specific.

        A specific one stands in the place of the one it replaces. A site that the registry does
        not have has the tools of ``default``.
        """

    def explain(self, type: str, site: str | None = None) -> tuple[Origin, ...]:
        """The same with where each comes from, and with those that are disabled."""

    def supertypes(self, type: str) -> tuple[str, ...]:
        """As `supertypes`, with what types of this registry extend."""

    def suggest_type(self, type: str) -> str | None:
        """The type that an unknown one was most likely meant for: ``Hotel`` for ``hotel``.

        None where the type is known, to the registry or to schema.org, or like no other.
        """

    def write(self) -> str:
        """The registry as XML; what it says reads the same again, and so do its comments.

        Raises:
            RegistryError: A text holds what XML cannot, or a type is no name for an element.
        """

def type_name(spelling: str) -> str:
    """The short form of a schema.org type: ``Recipe`` for ``https://schema.org/Recipe``.

    ``Thing`` for ``Item``, which is what NLWeb calls the root.
    """

def supertypes(type: str) -> tuple[str, ...]:
    """A type and all it is a kind of, the most specific first, ``Thing`` last."""

@final
class PromptTemplate:
    """A prompt with placeholders such as ``{request.query}``.

    A placeholder is a name in braces, with blanks around it or not; a name is words joined by
    dots, in ASCII letters, digits and ``_``. All other braces are text, so JSON survives, and no
    brace is an escape.

    Example:
        >>> prompt = PromptTemplate('Score {request.query} as {"score": 1}.')
        >>> prompt.render({"request.query": "soup"})
        'Score soup as {"score": 1}.'
    """

    __match_args__ = ("text",)

    def __new__(cls, text: str) -> Self: ...
    @property
    def text(self) -> str:
        """The prompt as it was written."""

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The names of the placeholders, each once, in the order of the text."""

    def render(self, values: Mapping[str, str]) -> str:
        """Fills the placeholders in one pass; what a value holds is never read for placeholders.

        A name with a dot that `values` does not have becomes empty. A single word such as
        ``{name}`` stays as it stands where there is no value for it.

        Args:
            values: Texts by the names of the placeholders; only those in the prompt are asked for.

        Raises:
            TypeError: A value is no ``str``.
        """

    def __hash__(self) -> int: ...

def structure_schema(structure: Any) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) that a `returnStruc` (an example object) stands for.

    Phrases about types, ranges and options are read (``"integer between 0 and 100"``, ``"list of
    strings"``, ``"one of 'a' or 'b'"``, ``"(optional)"``); all others describe a string. Only the
    score is required, and what says ``(required)``. An object that is a JSON Schema with
    ``properties`` already is returned as it is.

    Raises:
        TypeError: `structure` is no JSON.
    """

@final
class ScoredReply:
    """What a reply to a scoring prompt says.

    Score and parameters stand for themselves: where the parameters do not fit, the tool can be
    ranked by its score all the same, and `violations` says what is wrong with them.
    """

    __match_args__ = ("score", "parameters", "error")
    __hash__: ClassVar[None]  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def score(self) -> float | None:
        """From 0 to 100; None if there is none that can be used."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The rest of the reply, mended. It fits the schema if there are no `violations`."""

    @property
    def error(self) -> str | None:
        """Why there is no score or, where there is one, why the parameters cannot be used."""

    @property
    def violations(self) -> tuple[Violation, ...]:
        """In which ways the parameters do not fit the schema."""

    @property
    def ignored(self) -> tuple[str, ...]:
        """What was in the reply but is not among the parameters.

        These are members that the schema does not have, and those that are null where it wants a
        value and can do without.
        """

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What was mended."""

@final
class ReplyReader:
    """Reads replies that should fit the schema of a `returnStruc`.

    A score may be ``85``, ``85.0``, ``"85"``, ``"85.5"`` or ``"85%"``, and is brought into the
    range from 0 to 100. It is the member ``score`` or, without one, the only one that is spelled
    so but for case. The rest is judged by the schema without the score, and mended where it does
    not fit. The object may stand in a fence or between sentences, after thoughts in ``<think>``,
    and its syntax may need mending.

    Args:
        schema: The schema; None takes any object.

    Raises:
        SchemaError: `schema` is no JSON Schema.
    """

    def __new__(cls, schema: Mapping[str, Any] | None = None) -> Self: ...
    def read(self, reply: str | Mapping[str, Any]) -> ScoredReply:
        """Reads a reply. Raises nothing: whatever is wrong with it is in the reading."""

@final
class RankingResult:
    """Who won, and in which order the others come.

    After an early stop, one that came late may have a higher score than the winner, and stands
    before it in the order.
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
        """All positions: those with scores, best first, then those that failed or never came."""

    @property
    def reason(self) -> Literal["threshold", "early_stop", "fallback", "none"]:
        """Why: ``early_stop`` means that others were not waited for."""

    @property
    def ties(self) -> tuple[int, ...]:
        """The others that have the winner's very score, best first. Empty for a fallback."""

    def __hash__(self) -> int: ...

@final
class Ranking:
    """Decides between tools by their scores, in whatever order these come.

    The highest score wins if it reaches the threshold; of equal ones that of the more specific
    tool, then of the one that comes first in `names`. So the same scores give the same winner in
    every order, unless one is good enough to stop for.

    Args:
        names: The tools, in document order. Everything else knows them by their positions.
        specificity: How specific each tool is; the greater wins. All the same by default.
        threshold: The lowest score that wins.
        early_stop: The lowest score that ends the waiting; it has to reach `threshold` as well.
            None waits for all.
        fallback: The tool that is taken if no score reaches `threshold`, even if it failed.

    Raises:
        ValueError: There is not one specificity a name, or a limit is not a finite number.

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
        """Takes the outcomes that came in the same turn: scores, or None for a failure.

        Returns:
            True once it is decided, because one of them is good enough or all have come. What
            comes after that is ranked, but does not change the winner.

        Raises:
            IndexError: There is no tool at such a position.
            ValueError: A tool has an outcome already.
        """

    def finish(self) -> RankingResult:
        """The result as it stands. Outcomes that have not come count as failed."""

@final
class SearchIndex:
    """Texts by the words in them, ranked with BM25.

    Words are split at punctuation, digits and changes of case. What only digits or case divide
    counts in pairs and as a whole as well (``GitHub`` is *git*, *hub* and *github*). Case does not
    matter, nor does an *s* at the end. Of scripts that are written without blanks, each character
    counts, and each pair of neighbours.

    Args:
        documents: Each a few texts, with how many times their words count, from 0 to 100.

    Example:
        >>> index = SearchIndex([[("GetWeather", 3)], [("send_mail", 3), ("Sends a mail.", 1)]])
        >>> [position for position, _ in index.search("mails of today", 5)]
        [1]
    """

    def __new__(cls, documents: Iterable[Iterable[tuple[str, int]]]) -> Self: ...
    def search(self, query: str, limit: int) -> list[tuple[int, float]]:
        """Positions and scores of the documents that have a word of `query`, the best first.

        Among equals the order is that of the documents. Of a long query the first 10,000
        characters count, and of these the first 64 words that any document has.
        """

    def coverage(self, query: str, documents: Sequence[int]) -> float:
        """The share of the words of `query` that documents have, from 0 to 1.

        A word counts the more, the fewer documents have it. Of a long query the first 10,000
        characters count, and of these the first 64 words.

        Args:
            query: The query.
            documents: Positions; a word counts that stands in at least one of them.
        """

@final
class StreamReducer:
    """Turns the stream events of a chat into what they come to.

    Events are told apart by their ``sequenceNumber``, and a snapshot depends on nothing but which
    of them have come: not on the order, nor on how often. Events in order cost the same each,
    however many came before. Safe to share between threads.

    Args:
        pending_timeout: For how many seconds nothing may be heard of a call before it shows as
            ``timeout``; for ever if None.

    Raises:
        ValueError: `pending_timeout` is no number from 0 up.

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
        """Takes in one event, as a dict or as JSON text.

        Returns:
            False if an event with this number is there already, which stays.

        Raises:
            MessageError: It is no stream event, or has no ``sequenceNumber``; says where.
            TypeError: It holds something that JSON does not.
        """

    def snapshot(self, now: float | None = None) -> dict[str, Any]:
        """What has come so far, as ``schemas/snapshot.json`` describes it.

        Args:
            now: Seconds since 1970, to tell the calls of which nothing was heard for too long.
                Without it, there are none.

        Raises:
            ValueError: `now` is no number from 0 up.
        """

    def messages(self, run_id: str | None = None) -> tuple[Message, ...]:
        """The messages that the events so far come to, of one run or of all.

        Texts and thoughts are there even if they were cut off, calls once they are whole, with
        the results that have come. The messages of a reply are in the order in which a run gives
        them: thoughts and texts, calls, usage.
        """

    @property
    def last_sequence_number(self) -> int:
        """The end of the gapless beginning: every event up to this number has come; or 0."""
    @property
    def missing(self) -> list[tuple[int, int]]:
        """First and last numbers of what has not come although something after it has.

        The first hundred ranges.
        """

def check_stream_event(event: Mapping[str, Any] | str) -> None:
    """Raises unless this is a stream event. It need not have a ``sequenceNumber`` yet.

    A kind or a field that is not known is no fault, nor is a field that is None: that counts as
    absent.

    Raises:
        MessageError: Something is missing or wrong; says where.
        TypeError: It holds something that JSON does not.
    """

@final
class JsonMeter:
    """The size of JSON text, counted before it is parsed. Safe to share between threads.

    Text that is no JSON is counted as far as it goes, so that what a parser builds of it until it
    fails is bounded as well.

    Example:
        >>> meter = JsonMeter()
        >>> meter.push(b'{"rows": [[1, 20], ')
        >>> meter.push(b'["a,b", null]]}')
        >>> meter.values, meter.depth, meter.longest_number
        (9, 3, 4)
    """

    def __new__(cls) -> JsonMeter: ...
    def push(self, piece: bytes) -> None:
        """Counts the next piece of the text."""
    @property
    def values(self) -> int:
        """Containers, strings, names of members, numbers, booleans and nulls so far."""
    @property
    def depth(self) -> int:
        """Depth of the deepest container so far."""
    @property
    def longest_number(self) -> int:
        """The length of the longest number, or other word outside of strings, in bytes."""

@final
class HttpWakeup:
    """How requests wake an event loop: a socket that it watches.

    Raises:
        NotImplementedError: The system has no pairs of sockets.
    """

    def __new__(cls) -> HttpWakeup: ...
    def fileno(self) -> int:
        """What the loop is to watch; -1 once the bell is closed."""
    def ready_keys(self, limit: int) -> list[int]:
        """The keys of replies that have something. While there are more, the bell rings on."""
    def close(self) -> None:
        """Closes the socket. Requests that ring after that are not heard."""

@final
class HttpClient:
    """A pool of connections, each process with its own, and what holds for every request.

    Times are in seconds, sizes in bytes; see `HttpModel`.

    Args:
        name: Whose model is asked: so the sentences of failures begin.

    Raises:
        ValueError: An option is none of its kind.
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
        """Says at once what would be wrong with a request.

        Raises:
            TypeError: A header is no text.
            ValueError: The URL or a header cannot be sent.
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
        """Sends a request; called on the thread of the event loop.

        Args:
            url: Where to.
            headers: What goes before the body.
            body: The body.
            bell: What is rung; None where the loop cannot watch one.
            parser: Reads calls in the reply. It is not fed itself.
            inline: Whether calls are looked for in the text.
            deltas: Whether arguments are told while they arrive.
            call_ids: Gives the id of a call at a position, where the provider gave none.

        Raises:
            RuntimeError: Python is shutting down.
            ValueError: The URL or the headers cannot be sent, or there is no such client.
        """
    def close(self) -> None:
        """Closes the connections that no reply comes by. New ones can be made after that."""

@final
class HttpBatch:
    """Requests that are made together, whose replies are wanted as wholes. They end with this.

    Made on the thread of the event loop. In a fork of the process that made it, it cannot be used.

    Args:
        client: Makes the requests.
        bell: What is rung; None where the loop cannot watch one.

    Raises:
        RuntimeError: The bell belongs to the process that this one was forked from.
    """

    def __new__(cls, client: HttpClient, wakeup: HttpWakeup | None) -> HttpBatch: ...
    @property
    def key(self) -> int:
        """What the bell calls it."""
    @property
    def in_flight(self) -> int:
        """How many requests are at work: neither over nor stopped."""
    def start(self, number: int, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Sends a request.

        Args:
            number: What it is known by here: another for each that is at work.
            url: Where to.
            headers: What goes before the body.
            body: The body.

        Raises:
            RuntimeError: Python is shutting down, or this belongs to the process that this one
                was forked from.
            ValueError: The URL or the headers cannot be sent, or there is no such client.
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
        """All that has ended since the last look.

        The bell is rung for the next one, and when no request is at work any more.

        Returns:
            The number, the text as far as it came, why the reply ended if it did, the tokens it
            took if that is known, and the failure, if it is one, as `HttpReply.failure` has it.

        Raises:
            RuntimeError: It belongs to the process that this one was forked from.
        """
    def ready(self, event_loop: object) -> Awaitable[None]:
        """There is something to take, or no request is at work; for batches without a bell.

        Args:
            event_loop: Makes the future, and is called when something has come.
        """
    def stop(self, number: int) -> None:
        """Gives a request up: its connection is closed at once, and nobody is told of it."""
    def close(self) -> None:
        """Gives up all requests that are at work."""

@final
class HttpLargeEvents:
    """Events of which some take long to make: calls of more than 128 KiB."""

    def read(self) -> tuple[Event | Update, ...]:
        """The events; none the second time. To be called in a thread of its own."""

@final
class HttpReply:
    """A request that has been sent, and what comes of it. It ends with this object.

    In a fork of the process that made it, it cannot be used.
    """

    @property
    def key(self) -> int:
        """What the bell calls it."""
    @property
    def failure(self) -> tuple[str, int | None, float | None, bool, str | None] | None:
        """How it failed, if it did, once all has been taken.

        A sentence, the HTTP status, the seconds to wait, whether asking again may help, and the
        parameter that the server does not like.
        """
    def take(self, limit: int) -> tuple[Event | Update, ...] | HttpLargeEvents | None:
        """What has come, at most so many events; None after the last.

        Where nothing has come yet the bell is rung for the next one.

        Raises:
            RuntimeError: It belongs to the process that this one was forked from.
        """
    def ready(self, event_loop: object) -> Awaitable[None]:
        """There is something to take; for replies without a bell.

        Args:
            event_loop: Makes the future, and is called when something has come.
        """
    def close(self) -> None:
        """Lets go of the request: its connection is closed at once, unless all has been read."""
