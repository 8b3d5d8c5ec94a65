"""What parsers and prompts are given: tools in any form, and options by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

from ._core import FunctionContract, Limits


class HasContract(Protocol):
    """A tool: anything with a contract."""

    @property
    def contract(self) -> FunctionContract:
        """What the model is told about it."""
        ...


_Tool: TypeAlias = FunctionContract | HasContract | Mapping[str, Any] | str

Tools: TypeAlias = Iterable[_Tool] | Mapping[str, _Tool | None]
"""Tools in any form: contracts, things that have one, definitions as clients of providers write
them, or bare names; or a mapping from names to these, to schemas of the arguments, or to None."""


class ParserOptions(TypedDict, total=False):
    """The options of a parser; see `Parser`."""

    dialects: Iterable[str]
    """How calls are written."""
    repair: Literal["none", "syntax", "schema"]
    """How far arguments are mended."""
    deltas: bool
    """Whether arguments are reported while they arrive."""
    reasoning_tags: Iterable[str]
    """The names of tags around reasoning."""
    in_code: Literal["text", "call"]
    """What a call inside Markdown code is."""
    limits: Limits | None
    """What a reply may cost."""
    id_factory: Callable[[int], str] | None
    """Gives the id of the call at an index."""
