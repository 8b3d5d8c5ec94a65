"""Prompts and return structures of registries."""

from collections.abc import Mapping
from typing import Any, final

from typing_extensions import Self

@final
class PromptTemplate:
    """A prompt with placeholders such as ``{request.query}``.

    A placeholder is a name in braces, with optional spaces around it; a name is words joined by
    dots, in ASCII letters, digits and ``_``. All other braces are text, so JSON is preserved, and
    there is no escape for braces.

    Example:
        >>> prompt = PromptTemplate('Score {request.query} as {"score": 1}.')
        >>> prompt.render({"request.query": "soup"})
        'Score soup as {"score": 1}.'
    """

    __match_args__ = ("text",)

    def __new__(cls, text: str) -> Self: ...
    @property
    def text(self) -> str:
        """The prompt as written."""

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The names of the placeholders, each once, in the order of the text."""

    def render(self, values: Mapping[str, str]) -> str:
        """Fill the placeholders in one pass; values are not searched for placeholders.

        A name with a dot that `values` does not have becomes empty. A single word such as
        ``{name}`` is kept if there is no value for it.

        Args:
            values: Texts by the names of the placeholders; only those in the prompt are looked up.

        Raises:
            TypeError: A value is not a ``str``.
        """

    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> PromptTemplate: ...

def structure_schema(structure: Any) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a `returnStruc`, which is an example object.

    Phrases about types, ranges and options are parsed (``"integer between 0 and 100"``, ``"list of
    strings"``, ``"one of 'a' or 'b'"``, ``"(optional)"``); all others describe a string. Only the
    score and members marked ``(required)`` are required. A JSON Schema with ``properties`` is
    returned unchanged.

    Raises:
        TypeError: `structure` is not JSON.
    """
