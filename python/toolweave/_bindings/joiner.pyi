"""Joining of updates into messages."""

from typing import Any, final

from .._messages import Message, Update
from ..kinds import FinishReason

@final
class Joiner:
    """An accumulator that joins the updates of a reply and the results of its calls into messages.

    Results may arrive before their call, late or twice, and any fragment of a call may have its id.
    The messages are the same in all these cases, and however the reply was split into pieces. They
    are in the order of the text; the position of a call is that of its first piece. Calls share a
    message unless text or reasoning is between them. White space alone between two calls is moved
    behind the later one, to the beginning of the next text.

    The arguments become the envelope of every message. Safe to share between threads.

    Args:
        from_agent: The agent that wrote the reply.
        generation_id: The id that all messages of the reply share.
        run_id: The run in which the reply was written.
        chat_id: The chat of the run.
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
    def __replace__(self, **changes: Any) -> JoinedReply: ...

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
    def __replace__(self, **changes: Any) -> JoinProblem: ...
