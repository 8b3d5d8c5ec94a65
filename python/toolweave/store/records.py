"""What a store hands out."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from .._checks import check_choice, check_mapping, check_text, check_type
from .._core import ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .. import Message, ToolResult

StreamEvent: TypeAlias = "dict[str, Any]"
"""A stream event as JSON has it."""

PendingKind: TypeAlias = Literal["approval", "question", "deferred", "unreadable"]
"""What somebody is waited for: a yes, an answer, or the result of a call; ``unreadable`` only
where the database does not say it any more."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def to_datetime(milliseconds: int) -> datetime:
    """The time that milliseconds since 1970 stand for, exactly; 1970 where that is damaged."""
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except (TypeError, OverflowError):
        return _EPOCH


@dataclass(frozen=True)
class Chat:
    """A chat, without what is in it."""

    chat_id: str
    """Its id."""
    user_id: str | None
    """Whose it is, if it is anybody's."""
    created: datetime
    """When it was made, in UTC."""
    updated: datetime
    """When something was last written to it, in UTC."""
    last_event: int
    """The number of its last event; 0 where nothing has happened yet."""
    last_message: int
    """The number of its last message."""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Anything else: a JSON object."""
    problem: str | None = None
    """A sentence that names the row and says why its metadata cannot be read; they are empty
    then."""


@dataclass(frozen=True)
class StoredMessage:
    """A message and where it stands in its chat."""

    message_id: str
    """Its id, unique in the chat."""
    sequence_number: int
    """Its position, from 1 and without gaps; a message that is replaced keeps it."""
    timestamp: datetime
    """When it was written last, in UTC."""
    message: Message
    """The message."""
    run_id: str | None = None
    """The run that wrote it."""
    generation_id: str | None = None
    """The reply that it belongs to."""


@dataclass(frozen=True)
class WriteResult:
    """What a write came to."""

    events: tuple[StreamEvent, ...] = ()
    """The events, now with `chatId`, `sequenceNumber` and `timestampUtc`."""
    messages: tuple[StoredMessage, ...] = ()
    """The messages, in the order given."""
    revision: int = 0
    """How often the chat has changed by then; see `Watch.revision`."""


@dataclass(frozen=True)
class StoreProblem:
    """Something in a chat that could not be handed out as it was stored."""

    kind: str
    """``unreadable``, ``unknown``, ``interrupted``, ``orphan_result``, ``duplicate_result`` or
    ``duplicate_call``."""
    message: str
    """A sentence that names the row and says what became of it."""
    sequence_number: int
    """The row: the number of the message."""
    message_id: str
    """The row: the id of the message."""
    tool_call_id: str | None = None
    """The call that it is about, if there is one."""


class CallOutcome(NamedTuple):
    """The result of a call whose message has none."""

    result: ToolResult
    """The result."""
    problem: str | None = None
    """Why it is not the one that was stored: a part of a sentence."""


@dataclass(frozen=True)
class History:
    """What was said in a chat, fit to be sent to a model."""

    messages: tuple[Message, ...]
    """The messages that a provider takes: each call has a result, unless that is still to come,
    and each result a call."""
    stored: tuple[StoredMessage, ...]
    """All messages that can be read with their numbers, kinds included that are not known here."""
    problems: tuple[StoreProblem, ...] = ()
    """What had to be mended or left out for that."""

    def page(self, after: int, limit: int | None) -> History:
        """Some of it: what is settled, is so for the whole.

        Args:
            after: The number of the message to begin after.
            limit: How many messages.
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
    """Its id."""
    chat_id: str
    """Its chat."""
    user_id: str | None
    """Who asked for it."""
    owner: str
    """Which process, or which part of one, it belongs to."""
    status: Literal["running", "finished"]
    """Whether it is going on."""
    stop_requested: bool
    """Whether somebody asked it to stop."""
    stop_reason: str | None
    """Why it ended."""
    error: str | None
    """What went wrong, if something did."""
    lease: datetime
    """Until when its owner is taken to be alive, in UTC."""
    started: datetime
    """When it began, in UTC."""
    finished: datetime | None
    """When it ended, in UTC."""
    first_event: int
    """The number of its first event, if it has any."""
    written: WriteResult = field(default_factory=WriteResult, repr=False, compare=False)
    """What was written with it, where it was just started or recovered."""


@dataclass(frozen=True)
class PendingInput:
    """What somebody is to be waited for."""

    key: str
    """What to resolve; unique in the chat for all time."""
    kind: PendingKind
    """What is awaited."""
    call: ToolCall
    """The call, or the one whose tool asks."""
    run_id: str | None = None
    """The run that waits. Approvals and answers are not awaited once it has ended."""
    question: str | None = None
    """What the tool wants to know."""
    schema: Mapping[str, Any] | None = None
    """The JSON Schema of the answer."""
    note: str | None = None
    """Anything about it."""

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            TypeError: One of them is of the wrong type.
            ValueError: There is no such kind.
        """
        check_text("key", self.key)
        check_choice("kind", self.kind, get_args(PendingKind))
        check_type("call", self.call, ToolCall, "a ToolCall")
        for name in ("run_id", "question", "note"):
            check_text(name, getattr(self, name), none=True)
        check_mapping("schema", self.schema, none=True)


@dataclass(frozen=True)
class StoredPendingInput(PendingInput):
    """What somebody is waited for, and since when."""

    chat_id: str = ""
    """The chat."""
    created: datetime = _EPOCH
    """When it was asked for, in UTC."""
    problem: str | None = None
    """A sentence that names the row and says what in it cannot be read; None where all can. The
    call has no name and no arguments where they are damaged; it can be answered all the same."""


@dataclass(frozen=True)
class PurgeResult:
    """What was deleted for its age."""

    chats: int
    """Chats, with all that was in them."""
    conversations: int
    """Conversations of `StoreConversations`."""
