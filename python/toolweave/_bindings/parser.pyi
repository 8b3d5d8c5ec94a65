"""Parsing of replies."""

from collections.abc import Iterable
from typing import Any, final

from typing_extensions import Unpack

from .._options import ParserOptions, Tools
from .._streams import Event
from .call import ToolCall
from .events import InvalidToolCall

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
    def __replace__(self, **changes: Any) -> Limits: ...

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
