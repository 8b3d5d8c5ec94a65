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
class Dialect:
    """A way in which a family of models writes calls.

    Parsers take dialects by name or as objects. `Dialect.for_model` and `Dialect.from_template`
    find the one that a model writes.

    Attributes:
        name: The name that inference servers use, such as ``hermes``.
        models: The models that write it.
        is_shaped: True if calls may have no marker, so that only their shape and place identify
            them. Where such a dialect is named, they count at the beginning of each line.
        stop_sequence: The beginning of the markup of results, at which a server should end a reply;
            None if an answer may begin in the same way, or the dialect is only read.

    Example:
        >>> Dialect.for_model("Qwen/Qwen3-32B")
        Dialect.named('hermes')
        >>> Dialect.for_model("gpt-oss:20b").name
        'harmony'
    """

    @staticmethod
    def names() -> tuple[str, ...]:
        """Return the names of all dialects, the most used first."""
    @staticmethod
    def named(name: str) -> Dialect:
        """Return the dialect of this name.

        Raises:
            ValueError: There is none; the error lists the known ones with their models.
        """
    @staticmethod
    def for_model(name: str, template: str | None = None) -> Dialect:
        """Return the dialect that a model writes; ``natural`` if that is not known.

        A template decides alone, if there is one: the same model may be taught another dialect.

        Args:
            name: The name of the model, of its file or of its deployment, in any spelling:
                ``Qwen/Qwen3-32B``, ``qwen3:8b``, ``Qwen3-32B-Q4_K_M.gguf``.
            template: The text of the chat template.
        """
    @staticmethod
    def from_template(template: str) -> Dialect:
        """Return the dialect that a chat template teaches; ``natural`` if it shows none.

        Args:
            template: The text of the template, as in ``tokenizer_config.json`` or a ``.jinja``
                file.
        """
    def can_name(self, tool: str) -> bool:
        """Return true if calls in the dialect can name a tool of this name."""
    @property
    def name(self) -> str: ...
    @property
    def models(self) -> tuple[str, ...]: ...
    @property
    def is_shaped(self) -> bool: ...
    @property
    def stop_sequence(self) -> str | None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Parser:
    """A parser that splits a streamed reply into text and tool calls.

    Any split of the reply into chunks gives the same events once adjacent deltas are joined, and
    every character is in exactly one of them. Use a parser from one thread at a time.

    Args:
        tools: The tools that may be called: contracts, `@tool` objects, functions, provider
            definitions or bare names, whose arguments are not validated.
        dialects: The dialects in which calls are recognized: ``auto`` for all of them, decided by
            evidence, or names such as ``("natural", "hermes")``; see `Dialect`. In ``auto``, forms
            without a marker count only at the beginning of a reply.
        repair: The extent of repair: ``none``, ``syntax`` (invalid JSON) or ``schema`` (also values
            of the wrong type, where the meaning is unambiguous).
        deltas: True to report arguments while they arrive.
        reasoning_tags: The names of tags around reasoning.
        starts_in_reasoning: True if the prompt ends with the opening tag of reasoning, so that the
            reply begins inside.
        in_code: The treatment of calls inside Markdown code: ``text`` or ``call``.
        accept: A function that returns true for a call that may be run, or the names of dialects
            (``native`` for calls of the provider's API). Other calls are invalid, of the kind
            ``refused``.
        limits: Bounds on calls and markup; `Limits()` if not given.
        id_factory: A function that returns the id of the call at an index; ``call_0``, ``call_1``,
            ... if not given. An id that is empty, repeated in the reply or has lone surrogates is
            replaced, with a warning. A call has the id that the model wrote before its arguments,
            if that is unique in the reply.

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
        self,
        id: str,
        name: str,
        arguments: str,
        *,
        index: int = 0,
        truncated: bool = False,
        dialect: str = "native",
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
            dialect: The dialect of the call, if it is from text after all.
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
