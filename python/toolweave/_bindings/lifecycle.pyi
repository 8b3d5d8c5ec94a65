"""Stream events of chats."""

from collections.abc import Mapping
from typing import Any, final

from typing_extensions import Self

from .._messages import Message

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
