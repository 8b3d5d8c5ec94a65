"""Updates: the pieces of a reply."""

from typing import Any, final

from ..kinds import FinishReason

@final
class TextDelta:
    """A piece of text.

    Attributes:
        text: The text. If a whole chunk is text, this is the same string object as the chunk.
    """

    __match_args__ = ("text",)

    def __new__(cls, text: str) -> TextDelta: ...
    @property
    def text(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> TextDelta: ...

@final
class ReasoningDelta:
    """A piece of reasoning.

    Attributes:
        text: The text.
    """

    __match_args__ = ("text",)

    def __new__(cls, text: str) -> ReasoningDelta: ...
    @property
    def text(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> ReasoningDelta: ...

@final
class ToolCallUpdate:
    """A fragment of a native call, one that the provider's API transports apart from the text.

    The fragments of a call have the same id or, where only the first one has an id, the same index.

    Attributes:
        tool_call_id: The id, if the fragment has it.
        index: The position among the calls of the reply, if the fragment has it.
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
    def __replace__(self, **changes: Any) -> ToolCallUpdate: ...

@final
class UsageUpdate:
    """Token usage of the request so far: cumulative, not since the last update."""

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
        """The part of `input_tokens` that came from the provider's cache."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> UsageUpdate: ...

@final
class FinishUpdate:
    """The end of the reply. It comes once, after everything except results.

    Attributes:
        reason: The finish reason; ``missing`` if the provider gave none.
    """

    __match_args__ = ("reason",)

    def __new__(cls, reason: FinishReason | str) -> FinishUpdate: ...
    @property
    def reason(self) -> FinishReason: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> FinishUpdate: ...
