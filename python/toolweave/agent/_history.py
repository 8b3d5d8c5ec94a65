"""History processors: functions that decide which messages a request sends."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .._checks import check_iterable, wrong_type
from .._core import (
    ToolAggregateMessage,
    ToolCallMessage,
    ToolResultMessage,
)
from ..exceptions import MessageError
from ..models import as_messages
from ..summary import Summarizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core import ToolCall, ToolResult
    from .._messages import Message
    from ..protocols import Messages
    from ..tools import RunContext

Processed: TypeAlias = "Messages | Awaitable[Messages]"

HistoryProcessor: TypeAlias = (
    "Callable[[list[Message]], Processed] | Callable[[RunContext[Any], list[Message]], Processed]"
)
"""A function, sync or async, that takes the messages of a conversation, or the `RunContext` and the
messages, and returns those to send."""


class SentHistory:
    """The messages of a run as they are sent, which history processors and handoffs change.

    Args:
        processors: The history processors, in order. A `Summarizer` replaces old messages with a
            summary, which is kept for the following requests of the run.
    """

    def __init__(self, processors: Sequence[HistoryProcessor | Summarizer] = ()) -> None:
        self._processors = [
            _SummaryProcessor(each) if isinstance(each, Summarizer) else each for each in processors
        ]
        # The messages up to the last handoff, as its filter returned them, and their number before.
        self._filtered: list[Message] = []
        self._replaced = 0

    async def prepare(
        self, messages: Sequence[Message], context: RunContext[Any]
    ) -> Sequence[Message]:
        """Return the messages to send; see `process_history`."""
        messages = self._filter(messages)
        for processor in self._processors:
            messages = await process_history(processor, messages, context)
        return messages

    async def hand_over(
        self,
        input_filter: HistoryProcessor | None,
        processors: Sequence[HistoryProcessor | Summarizer],
        messages: Sequence[Message],
        context: RunContext[Any],
    ) -> SentHistory:
        """Return the history that the agent is sent that continues the run.

        Args:
            input_filter: The filter of the messages so far.
            processors: The history processors of the agent.
            messages: The messages of the run.
            context: The context of the run.
        """
        history = SentHistory(processors)
        filtered = self._filter(messages)
        if input_filter is not None:
            filtered = await process_history(input_filter, filtered, context, "input filter")
        history._filtered, history._replaced = list(filtered), len(messages)
        return history

    def _filter(self, messages: Sequence[Message]) -> Sequence[Message]:
        return [*self._filtered, *messages[self._replaced :]] if self._replaced else messages


async def process_history(
    processor: HistoryProcessor | _SummaryProcessor,
    messages: Sequence[Message],
    context: RunContext[Any],
    kind: str = "history processor",
) -> list[Message]:
    """Return the messages that a history processor returns, once they are checked.

    Args:
        processor: The processor.
        messages: The messages that it gets.
        context: The context of the run.
        kind: The kind of function, for errors.

    Raises:
        MessageError: A result is separated from its call, or a call from its result.
        TypeError: The processor returns something else than messages.
        ValueError: The processor removes all messages.
    """
    given = list(messages)
    function = cast("Callable[..., Processed]", processor)
    returned = function(context, given) if _takes_context(processor) else function(given)
    if inspect.isawaitable(returned):
        returned = await returned
    name = f"{kind} {_name_of(processor)!r}"
    if cast("object", returned) is None:
        raise TypeError(f"{name} must return messages, got None")
    processed = as_messages(returned, f"the result of {name}")
    if messages and not processed:
        raise ValueError(f"{name} must keep a message, got none")
    _check_calls(name, messages, processed)
    return processed


def check_processors(
    name: str, processors: Sequence[HistoryProcessor | Summarizer]
) -> tuple[HistoryProcessor | Summarizer, ...]:
    """Return the processors as a tuple.

    Args:
        name: Name of the option, for the error.
        processors: The processors.

    Raises:
        TypeError: One of them is not callable.
    """
    given = cast("object", processors)
    if callable(given) or isinstance(given, (str, Summarizer)):
        raise TypeError(f"{name} must be a list; put a single one in a list: [{processors!r}]")
    check_iterable(name, processors, "a list of functions")
    checked = tuple(processors)
    for index, each in enumerate(checked):
        if not isinstance(each, Summarizer) and not callable(cast("object", each)):
            wanted = "a function of a list of messages, or a Summarizer"
            raise wrong_type(f"{name}[{index}]", wanted, each)
    return checked


class _SummaryProcessor:
    """Processor that sends a summary of old messages, made once and kept while the run lasts."""

    def __init__(self, summarizer: Summarizer) -> None:
        self._summarizer = summarizer
        self._replaced: list[Message] = []
        self._summary: list[Message] = []

    async def __call__(self, messages: list[Message]) -> list[Message]:
        count = len(self._replaced)
        if messages[:count] != self._replaced:
            # An earlier processor has changed what the summary replaces.
            count = 0
        sent = [*self._summary, *messages[count:]] if count else messages
        shortened = await self._summarizer.shorten(sent)
        if shortened is None or shortened.error is not None:
            return sent
        self._replaced, self._summary = messages, list(shortened.messages)
        return self._summary


def _takes_context(processor: object) -> bool:
    try:
        parameters = inspect.signature(cast("Callable[..., Any]", processor)).parameters
    except (TypeError, ValueError):
        # Some functions written in C have no signature.
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [
        each
        for each in parameters.values()
        if each.kind in positional and each.default is inspect.Parameter.empty
    ]
    return len(required) > 1


def _name_of(processor: object) -> str:
    return str(getattr(processor, "__name__", type(processor).__name__))


def _check_calls(name: str, before: Sequence[Message], after: Sequence[Message]) -> None:
    """Check that calls and results stand together, as far as they did before."""
    had_result = {result.tool_call_id for message in before for result in _results_of(message)}
    was_alone = had_result - {call.id for message in before for call in _calls_of(message)}
    unanswered: dict[str, tuple[int, str]] = {}
    known: set[str] = set()
    for index, message in enumerate(after):
        for call in _calls_of(message):
            known.add(call.id)
            unanswered[call.id] = index, call.name
        for result in _results_of(message):
            call_id = result.tool_call_id
            if call_id not in known and call_id not in was_alone:
                raise MessageError(
                    f"{name} must keep calls with their results, got the "
                    f"result of {result.name!r} ({call_id}) in message {index} without its call",
                    index,
                )
            unanswered.pop(call_id, None)
    for call_id, (index, called) in unanswered.items():
        if call_id in had_result:
            raise MessageError(
                f"{name} must keep calls with their results, got the call of "
                f"{called!r} ({call_id}) in message {index} without its result",
                index,
            )


def _calls_of(message: Message) -> Sequence[ToolCall]:
    if isinstance(message, (ToolCallMessage, ToolAggregateMessage)):
        return message.tool_calls
    return ()


def _results_of(message: Message) -> Sequence[ToolResult]:
    if isinstance(message, (ToolResultMessage, ToolAggregateMessage)):
        return message.tool_results
    return ()
