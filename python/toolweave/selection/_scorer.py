"""The protocol of scorers, with their requests and replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from .._core import ToolEntry, UsageUpdate
    from ._policy import RequestKind


class ScorerRequest(NamedTuple):
    """Request to a scorer."""

    prompt: str
    """The whole prompt."""
    schema: dict[str, Any]
    """JSON Schema of the reply."""
    strategy: RequestKind
    """Strategy by which scores are requested, or ``type`` for the type of the query."""
    query: str
    """Query to score tools for."""
    tools: Sequence[ToolEntry]
    """Tools to score."""
    bare: str | None = None
    """For ``each``, the prompt without the format of the reply, for scorers that are given the
    structure."""


class ScorerReply(NamedTuple):
    """Reply of a scorer."""

    content: str | Mapping[str, Any]
    """Text of the reply, or its parsed JSON object."""
    usage: UsageUpdate | None = None
    """Tokens used, if known."""


@runtime_checkable
class Scorer(Protocol):
    """Protocol of scorers. `as_scorer` converts a model or a function."""

    @property
    def name(self) -> str:
        """Name of the scorer, for logs and the key of cached selections."""
        ...

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        """Answer one request.

        Raises:
            Exception: The request failed, for any reason. Its tools then have no score.
        """
        ...
