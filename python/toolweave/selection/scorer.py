"""What a scorer is: it answers questions about tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from .._core import ToolEntry, UsageUpdate
    from .policy import RequestKind


class ScorerRequest(NamedTuple):
    """One question to a scorer."""

    prompt: str
    """The whole of it."""
    schema: dict[str, Any]
    """The JSON Schema that the reply has to fit."""
    strategy: RequestKind
    """What is asked for: scores in one of the ways there are, or the type of the query."""
    query: str
    """The query that it is about."""
    tools: Sequence[ToolEntry]
    """The tools that it is about."""
    bare: str | None = None
    """Of ``each``: the prompt without the form of the reply, for who is given the structure."""


class ScorerReply(NamedTuple):
    """What a scorer answered."""

    content: str | Mapping[str, Any]
    """The text, or what it says."""
    usage: UsageUpdate | None = None
    """The tokens it took, if that is known."""


@runtime_checkable
class Scorer(Protocol):
    """What is asked about tools. `as_scorer` makes one of a model or a function."""

    @property
    def name(self) -> str:
        """What it is called, in logs and as part of what selections are kept by."""
        ...

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        """Answers one question.

        Raises:
            Exception: Of any kind; the tools of that question have no score then.
        """
        ...
