"""Records that a store returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from .._checks import check_choice, check_mapping, check_text, check_type
from .._core import ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._core import ToolResult
    from .._messages import Message

StreamEvent: TypeAlias = "dict[str, Any]"
"""A stream event as JSON has it."""

PendingKind: TypeAlias = Literal["approval", "question", "deferred", "unreadable"]
"""Kind of a pending input: an approval, the answer to a question, or the result of a call;
``unreadable`` if the kind in the database is damaged."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def to_datetime(milliseconds: int) -> datetime:
    """Convert milliseconds since 1970 to a datetime, exactly; 1970 if the value is damaged."""
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except (TypeError, OverflowError):
        return _EPOCH


@dataclass(frozen=True)
class Chat:
    """A chat, without its messages and events."""

    chat_id: str
    """Id of the chat."""
    user_id: str | None
    """Id of the user who owns it; None if it has no owner."""
    created: datetime
    """Time of its creation, in UTC."""
    updated: datetime
    """Time of the last write, in UTC."""
    last_event: int
    """Sequence number of its last event; 0 if there is none."""
    last_message: int
    """Sequence number of its last message; 0 if there is none."""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Metadata of the application, a JSON object."""
    problem: str | None = None
    """Message that names the row and explains why its metadata cannot be read; the metadata is
    empty then."""


@dataclass(frozen=True)
class StoredMessage:
    """A message and its position in the chat."""

    message_id: str
    """Id of the message, unique in the chat."""
    sequence_number: int
    """Position in the chat, from 1 and without gaps; a message that is replaced keeps it."""
    timestamp: datetime
    """Time of the last write, in UTC."""
    message: Message
    """The message."""
    run_id: str | None = None
    """Id of the run that wrote it."""
    generation_id: str | None = None
    """Id of the reply that it belongs to."""


@dataclass(frozen=True)
class WriteResult:
    """Result of a write."""

    events: tuple[StreamEvent, ...] = ()
    """The written events, with `chatId`, `sequenceNumber` and `timestampUtc`."""
    messages: tuple[StoredMessage, ...] = ()
    """The written messages, in the given order."""
    revision: int = 0
    """Revision of the chat after the write; see `Watch.revision`."""


@dataclass(frozen=True)
class StoreProblem:
    """A stored message that could not be returned unchanged."""

    kind: str
    """``unreadable``, ``unknown``, ``interrupted``, ``orphan_result``, ``duplicate_result`` or
    ``duplicate_call``."""
    message: str
    """Message that names the row and says how the problem was resolved."""
    sequence_number: int
    """Sequence number of the message."""
    message_id: str
    """Id of the message."""
    tool_call_id: str | None = None
    """Id of the call concerned, if any."""


class CallOutcome(NamedTuple):
    """The result of a call whose message has none."""

    result: ToolResult
    """The result."""
    problem: str | None = None
    """Reason why the stored result cannot be read, as a part of a sentence; None if it can."""


@dataclass(frozen=True)
class History:
    """Messages of a chat, valid as input for a model."""

    messages: tuple[Message, ...]
    """Messages that a provider accepts: each call has a result, unless the result is pending, and
    each result has a call."""
    stored: tuple[StoredMessage, ...]
    """All readable messages with their sequence numbers, including messages of unknown kinds."""
    problems: tuple[StoreProblem, ...] = ()
    """Problems that were repaired, and messages that were left out."""

    def page(self, after: int, limit: int | None) -> History:
        """Return a page of this history. Calls and results are matched over the whole history.

        Args:
            after: Sequence number of the message to start after.
            limit: Maximum number of messages; None for no limit.
        """
        stored = [each for each in self.stored if each.sequence_number > after][:limit]
        numbers = {each.sequence_number for each in stored}
        last = max(numbers, default=after)
        is_whole = limit is None or len(stored) < limit
        sent = {id(message) for message in self.messages}
        return History(
            tuple(each.message for each in stored if id(each.message) in sent),
            tuple(stored),
            tuple(
                each
                for each in self.problems
                if after < each.sequence_number and (is_whole or each.sequence_number <= last)
            ),
        )


@dataclass(frozen=True)
class RunRecord:
    """A run of a chat."""

    run_id: str
    """Id of the run."""
    chat_id: str
    """Id of its chat."""
    user_id: str | None
    """Id of the user who started it."""
    owner: str
    """Owner of the run: a process, or a part of one."""
    status: Literal["running", "finished"]
    """Status of the run."""
    stop_requested: bool
    """True if a stop was requested."""
    stop_reason: str | None
    """Reason why it ended; None while it is running."""
    error: str | None
    """Error that ended the run, if any."""
    lease: datetime
    """Time at which its lease expires, in UTC."""
    started: datetime
    """Time at which it started, in UTC."""
    finished: datetime | None
    """Time at which it ended, in UTC; None while it is running."""
    first_event: int
    """Sequence number of its first event, if it has any."""
    written: WriteResult = field(default_factory=WriteResult, repr=False, compare=False)
    """Result of the write that started or recovered the run; empty if the run was only read."""


@dataclass(frozen=True)
class PendingInput:
    """An input that a chat waits for: an approval, an answer or the result of a call."""

    key: str
    """Key to resolve; never used twice in a chat."""
    kind: PendingKind
    """Kind of the input."""
    call: ToolCall
    """The pending call, or the call whose tool asks a question."""
    run_id: str | None = None
    """Id of the run that waits. Its approvals and questions are closed when it ends."""
    question: str | None = None
    """Question of the tool."""
    schema: Mapping[str, Any] | None = None
    """JSON Schema of the answer."""
    note: str | None = None
    """Further information."""

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            TypeError: A field has the wrong type.
            ValueError: The kind is unknown.
        """
        check_text("key", self.key)
        check_choice("kind", self.kind, get_args(PendingKind))
        check_type("call", self.call, ToolCall, "a ToolCall")
        for name in ("run_id", "question", "note"):
            check_text(name, getattr(self, name), none=True)
        check_mapping("schema", self.schema, none=True)


@dataclass(frozen=True)
class StoredPendingInput(PendingInput):
    """A pending input as it is stored in a chat."""

    chat_id: str = ""
    """Id of the chat."""
    created: datetime = _EPOCH
    """Time at which it was added, in UTC."""
    problem: str | None = None
    """Message that names the row and lists its damaged columns; None if the row is intact. If the
    call is damaged, it has no name and no arguments; the input can be resolved nevertheless."""


@dataclass(frozen=True)
class PurgeResult:
    """Numbers of deleted chats and conversations."""

    chats: int
    """Number of chats that were deleted, with their contents."""
    conversations: int
    """Number of conversations of `StoreConversations` that were deleted."""
