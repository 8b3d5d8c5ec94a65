"""Context of a run: its dependencies, and its state at a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from .._checks import check_count, check_text, check_type
from .._core import UsageMessage

if TYPE_CHECKING:
    from .._messages import Message

# What takes dependencies of one type also takes those of its subtypes, and what gives them is the
# other way round: a function of a `RunContext[Base]` fits an `Agent[Derived]`.
Deps = TypeVar("Deps", contravariant=True, default=None)
ContextDeps = TypeVar("ContextDeps", covariant=True, default=object)
SceneDeps = TypeVar("SceneDeps", default=None)
ToolDeps = TypeVar("ToolDeps", contravariant=True, default=Any)


@dataclass(frozen=True, eq=False)
class RunContext(Generic[ContextDeps]):
    """Context of one request of a run: the dependencies, and the state before the request.

    In annotations, the type in brackets is that of the dependencies. `RunContext` alone fits
    dependencies of any type.

    Example:
        >>> def greet(context: RunContext[str]) -> str:
        ...     return f"The user is {context.deps}."
        >>> greet(RunContext("Ada"))
        'The user is Ada.'
    """

    deps: ContextDeps = field(repr=False)
    """The dependencies that the application passed to the run."""
    run_id: str | None = None
    """The id of the run."""
    chat_id: str | None = None
    """The id of the conversation."""
    messages: tuple[Message, ...] = field(default=(), repr=False)
    """The conversation before the request, without instructions."""
    usage: UsageMessage = field(default_factory=UsageMessage, repr=False)
    """The usage of the earlier requests of the run, as far as the provider reports it."""
    iterations: int = 0
    """Number of requests of the run so far, including this one."""

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            TypeError: A field has the wrong type.
            ValueError: The number of requests is negative.
        """
        check_text("run_id", self.run_id, none=True)
        check_text("chat_id", self.chat_id, none=True)
        check_type("messages", self.messages, tuple, "a tuple of messages")
        check_type("usage", self.usage, UsageMessage, "a UsageMessage")
        check_count("iterations", self.iterations)
