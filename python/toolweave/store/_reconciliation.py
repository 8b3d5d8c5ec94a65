"""Reconciliation of a stored chat into a history that a provider accepts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .._core import (
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallMessage,
    ToolResult,
    ToolResultMessage,
    UnknownMessage,
)
from .._messages import with_results
from .._slices import OFFLOAD_THRESHOLD
from ..executor._failure import add_references
from ..kinds import ErrorCode, Role
from ._records import History, StoredMessage, StoreProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .._messages import Message
    from ._records import CallOutcome


@dataclass
class _MessageCalls:
    """The calls of one message and the results found for them."""

    position: int
    stored: StoredMessage
    calls: list[ToolCall]
    results: dict[str, ToolResult]
    is_unchanged: bool = True
    """True if the message and its results can stay unchanged."""
    answers: set[int] = field(default_factory=set[int])
    """Positions of the messages with results of these calls."""


class Reconciler:
    """Matcher of the calls and results in a chat.

    Args:
        stored: The readable messages, in order.
        problems: Problems of the other messages.
    """

    def __init__(
        self, stored: Iterable[StoredMessage], problems: Iterable[StoreProblem] = ()
    ) -> None:
        self._stored = list(stored)
        self._problems = list(problems)
        self._calls: dict[int, _MessageCalls] = {}
        # Messages with a call of this id that has no result yet; a result belongs to the last one.
        self._open: dict[str, list[_MessageCalls]] = {}
        self._known: set[str] = set()
        # The results of each message with results, with the calls that they were matched to.
        self._results: dict[int, list[tuple[_MessageCalls, ToolResult]]] = {}
        for position, each in enumerate(self._stored):
            self._add(position, each)

    @property
    def is_long(self) -> bool:
        """True if there are so many messages that `finish` should run in a thread."""
        return len(self._stored) > OFFLOAD_THRESHOLD

    @property
    def missing(self) -> Iterator[tuple[StoredMessage, ToolCall]]:
        """Calls without a result, with their messages."""
        for found in self._calls.values():
            for call in found.calls:
                if call.id not in found.results:
                    yield found.stored, call

    @property
    def has_unmatched_results(self) -> bool:
        """True if there are results that match no open call."""
        return any(each.kind in ("orphan_result", "duplicate_result") for each in self._problems)

    def finish(self, outcomes: Mapping[tuple[int, str], CallOutcome]) -> History:
        """Return the history.

        Args:
            outcomes: Results of calls without one, by the sequence number of the message and the id
                of the call. A call without an outcome stays pending.
        """
        for found in self._calls.values():
            for call in found.calls:
                outcome = outcomes.get((found.stored.sequence_number, call.id))
                if call.id in found.results or outcome is None:
                    continue
                result, problem = outcome
                found.results[call.id] = result
                found.is_unchanged = False
                if result.error_code is ErrorCode.INTERRUPTED:
                    text = f"the call {call.id!r} of {call.name!r} had no result: interrupted"
                    self._report("interrupted", found.stored, text, call.id)
                if problem is not None:
                    text = f"the stored result of the call {call.id!r} cannot be read: {problem}"
                    self._report("unreadable", found.stored, text, call.id)
            self._check_order(found)
        kept = list(self._reconciled())
        messages = tuple(each.message for each in kept if self._is_sendable(each))
        problems = sorted(self._problems, key=lambda problem: problem.sequence_number)
        return History(messages, tuple(kept), tuple(problems))

    def _add(self, position: int, stored: StoredMessage) -> None:
        match stored.message:
            case ToolCallMessage(tool_calls):
                calls: dict[str, ToolCall] = {}
                for call in tool_calls:
                    if call.id in calls:
                        text = (
                            f"the call id {call.id!r} is repeated; the first call with it was kept"
                        )
                        self._report("duplicate_call", stored, text, call.id)
                    calls.setdefault(call.id, call)
                found = _MessageCalls(position, stored, list(calls.values()), {})
                found.is_unchanged = len(calls) == len(tool_calls)
                self._open_calls(found)
            case ToolAggregateMessage(tool_calls, tool_results):
                results = {result.tool_call_id: result for result in tool_results}
                self._open_calls(_MessageCalls(position, stored, list(tool_calls), results))
            case ToolResultMessage(tool_results):
                self._results[position] = []
                for result in tool_results:
                    self._add_result(position, stored, result)
            case _:
                pass

    def _open_calls(self, found: _MessageCalls) -> None:
        self._calls[found.position] = found
        for call in found.calls:
            self._known.add(call.id)
            if call.id not in found.results:
                self._open.setdefault(call.id, []).append(found)

    def _add_result(self, position: int, stored: StoredMessage, result: ToolResult) -> None:
        call_id = result.tool_call_id
        waiting = self._open.get(call_id)
        if waiting:
            found = waiting.pop()
            found.results[call_id] = result
            found.answers.add(position)
            self._results[position].append((found, result))
        elif call_id in self._known:
            text = f"a second result of the call {call_id!r} was omitted"
            self._report("duplicate_result", stored, text, call_id)
        else:
            text = f"a result of the unknown call {call_id!r} was omitted"
            self._report("orphan_result", stored, text, call_id)

    def _check_order(self, found: _MessageCalls) -> None:
        """Check if all results follow the calls directly, as providers require."""
        if isinstance(found.stored.message, ToolAggregateMessage):
            found.is_unchanged = found.is_unchanged and not found.answers
            return
        if not found.results:
            return  # all results are pending
        follow = range(found.position + 1, found.position + 1 + len(found.answers))
        follows = found.answers == set(follow)
        alone = all(other is found for p in found.answers for other, _ in self._results[p])
        complete = len(found.results) == len(found.calls)
        found.is_unchanged = found.is_unchanged and follows and alone and complete

    def _reconciled(self) -> Iterator[StoredMessage]:
        for position, stored in enumerate(self._stored):
            message = stored.message
            calls = self._calls.get(position)
            if calls is not None and not calls.is_unchanged:
                yield replace(stored, message=_with_results(message, calls))
            elif isinstance(message, ToolResultMessage):
                left = [result for of, result in self._results[position] if of.is_unchanged]
                if len(left) == len(message.tool_results):
                    yield stored
                elif left:
                    yield replace(stored, message=message.__replace__(tool_results=left))
            else:
                yield stored

    def _is_sendable(self, stored: StoredMessage) -> bool:
        message = stored.message
        if isinstance(message, UnknownMessage):
            text = f"the kind {message.kind!r} is unknown; the message was omitted"
        elif isinstance(message, TextMessage) and message.role is Role.TOOL:
            text = "a text with the role 'tool' answers no call; it was omitted"
        else:
            return True
        self._report("unknown", stored, text)
        return False

    def _report(
        self, kind: str, stored: StoredMessage, text: str, call_id: str | None = None
    ) -> None:
        number, message_id = stored.sequence_number, stored.message_id
        sentence = f"message {number} ({message_id!r}): {text}"
        self._problems.append(StoreProblem(kind, sentence, number, message_id, call_id))


def _with_results(message: Message, found: _MessageCalls) -> Message:
    results = [found.results[call.id] for call in found.calls if call.id in found.results]
    metadata = add_references(message.metadata, results)
    if isinstance(message, ToolCallMessage) and not results:
        return message.__replace__(tool_calls=found.calls)
    return with_results(message, found.calls, results, metadata)
