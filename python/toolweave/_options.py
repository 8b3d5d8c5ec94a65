"""Types of the arguments of parsers and prompts: tools in any form, and keyword options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

from ._core import FunctionContract, Limits


class HasContract(Protocol):
    """A tool: any object with a contract."""

    @property
    def contract(self) -> FunctionContract:
        """Contract of the tool, as shown to the model."""
        ...


_Tool: TypeAlias = FunctionContract | HasContract | Mapping[str, Any] | str

Tools: TypeAlias = Iterable[_Tool] | Mapping[str, _Tool | None]
"""Tools in any form: contracts, objects that have one, tool definitions in a provider's format, or
names; or a mapping from names to any of these, to JSON Schemas of the arguments, or to None."""


class ParserOptions(TypedDict, total=False):
    """Options of a parser; see `Parser`."""

    dialects: Iterable[str]
    """Names of the dialects in which calls are recognized."""
    repair: Literal["none", "syntax", "schema"]
    """Extent to which arguments are repaired."""
    deltas: bool
    """True to report arguments while they arrive."""
    reasoning_tags: Iterable[str]
    """Names of the tags around reasoning."""
    in_code: Literal["text", "call"]
    """Treatment of calls inside Markdown code."""
    limits: Limits | None
    """Limits on the size of a reply and its calls."""
    id_factory: Callable[[int], str] | None
    """Function that returns the id of the call at an index."""
