"""Types of the arguments of parsers and prompts: tools in any form, and keyword options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

from ._core import Dialect, FunctionContract, Limits, ToolCall


class HasContract(Protocol):
    """A tool: any object with a contract."""

    @property
    def contract(self) -> FunctionContract:
        """Contract of the tool, as shown to the model."""
        ...


_Tool: TypeAlias = FunctionContract | HasContract | Callable[..., Any] | Mapping[str, Any] | str

Tools: TypeAlias = Iterable[_Tool] | Mapping[str, _Tool | None]
"""Tools in any form: contracts, objects that have one, functions, tool definitions in a provider's
format, or names; or a mapping from names to any of these, to JSON Schemas of the arguments, or to
None."""


class ParserOptions(TypedDict, total=False):
    """Options of a parser; see `Parser`."""

    dialects: Literal["auto"] | Dialect | Iterable[str | Dialect]
    """Dialects in which calls are recognized; all of them by default, decided by evidence. With
    ``auto`` among names, all are recognized, and the named ones without markers as well."""
    repair: Literal["none", "syntax", "schema"]
    """Extent to which arguments are repaired."""
    deltas: bool
    """True to report arguments while they arrive."""
    reasoning_tags: Iterable[str]
    """Names of the tags around reasoning."""
    starts_in_reasoning: bool
    """True if the prompt ends with the opening tag of reasoning."""
    in_code: Literal["text", "call"]
    """Treatment of calls inside Markdown code."""
    accept: Callable[[ToolCall], bool] | Iterable[str] | None
    """Function that returns true for a call that may be run, or names of dialects."""
    limits: Limits | None
    """Limits on the size of a reply and its calls."""
    id_factory: Callable[[int], str] | None
    """Function that returns the id of the call at an index."""
