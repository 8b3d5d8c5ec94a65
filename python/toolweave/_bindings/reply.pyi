"""Reading of the updates of a reply."""

from collections.abc import Callable
from typing import final

from .._messages import Update
from .._streams import Event
from .parser import Parser
from .update import UsageUpdate

@final
class UpdateReader:
    """A reader of the updates of one reply: inline calls and native calls.

    Native calls are assembled from fragments with the same id or, where only the first one has an
    id, the same index. A native call ends when another one begins, if its arguments are a JSON
    object by then, and otherwise with the reply. Use a reader from one thread at a time.

    Args:
        parser: A parser for the tools. It is not modified.
        inline: True to parse text for calls.
        recovered: True if calls in text are recovered ones: the request had native tools.
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
        recovered: bool = False,
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
