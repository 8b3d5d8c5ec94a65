"""Requests of runs, and the context of actors, hooks and tools."""

from __future__ import annotations

import contextvars
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypedDict, cast, get_args

from .._checks import check_choice, check_flag, check_mapping, check_text, check_type
from .._core import MessageBase
from ..costs import Budget
from ..tools._run_context import ContextDeps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._messages import Message
    from ..costs._amounts import Number
    from ..protocols import Messages
    from ._steps import ExecutedTool

SceneMode: TypeAlias = Literal["direct", "planning", "chaining", "scene"]
"""The way in which scenes are chosen: by the model in one reply (``direct``), by a plan of the
model (``planning``), by the model one after another (``chaining``), or by name (``scene``)."""


@dataclass(frozen=True)
class ClientResult:
    """The result of a call that the client ran."""

    interaction_id: str
    """The `interaction_id` of the `AwaitingClient` step."""
    result: Any = None
    """The result as JSON values."""
    is_error: bool = False
    """True if the call failed; the result is the reason."""

    def __post_init__(self) -> None:
        check_text("interaction_id", self.interaction_id)
        check_flag("is_error", self.is_error)


ClientResults: TypeAlias = "Mapping[str, Any] | Iterable[ClientResult]"
"""The results of the client: a mapping by interaction id, or `ClientResult`s."""


class RequestOptions(TypedDict, total=False):
    """The options of a request; see `SceneRequest`."""

    mode: SceneMode | None
    """The way in which scenes are chosen."""
    scene: str | None
    """The scene to run."""
    conversation: str | None
    """The key of the conversation."""
    history: Messages
    """Earlier messages, used if the conversation is not stored."""
    user: str | None
    """The authenticated user."""
    metadata: Mapping[str, Any]
    """Other data about the request."""
    budget: Budget | Number | None
    """The maximum cost."""
    results: ClientResults | None
    """The results of client tools."""


@dataclass(frozen=True)
class SceneRequest(Generic[ContextDeps]):
    """The request of a run. `SceneManager.stream` creates one from its arguments.

    In annotations, the type in brackets is that of the dependencies.
    """

    input: Messages | None = None
    """The input of the user in any form; None to resume with results of the client."""
    mode: SceneMode | None = None
    """The way in which scenes are chosen; ``scene`` if a scene is named, otherwise the manager's
    mode."""
    scene: str | None = None
    """The scene to run."""
    conversation: str | None = None
    """The key of the conversation to continue; a new one if not given."""
    history: Messages = ()
    """Earlier messages, used if the conversation is not stored."""
    deps: ContextDeps = field(default=cast("Any", None), repr=False)
    """The dependencies, for actors, hooks and tools; the model does not see them."""
    user: str | None = None
    """The user as the application has authenticated them, not as the client claims. Rate limits
    apply per user, and other users cannot continue the conversation."""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Other data about the request; the model does not see it."""
    budget: Budget | Number | None = None
    """The maximum cost, instead of the manager's budget; a number applies to this request."""
    results: ClientResults | None = None
    """The results of client tools, by interaction id."""

    def __post_init__(self) -> None:
        """Check the arguments.

        Raises:
            TypeError: An argument has the wrong type.
            ValueError: The mode is unknown.
        """
        for name in ("input", "history"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, (str, MessageBase)):
                wanted = "a string, a message or an iterable of messages"
                check_type(name, value, Iterable, wanted)
        check_choice("mode", self.mode, get_args(SceneMode), none=True)
        for name in ("scene", "conversation", "user"):
            check_text(name, getattr(self, name), none=True)
        check_mapping("metadata", self.metadata)
        check_type("results", self.results, Iterable, "a mapping or an iterable", none=True)
        kinds = (Budget, int, float, str, Decimal)
        check_type("budget", self.budget, kinds, "a Budget or a number", none=True)


@dataclass(frozen=True)
class SceneContext(Generic[ContextDeps]):
    """The context of an actor.

    In annotations, the type in brackets is that of the dependencies.
    """

    request: SceneRequest[ContextDeps]
    """The request of the run."""
    conversation: str
    """The key of the conversation."""
    scene: str | None
    """The name of the scene, as given; None outside of scenes."""
    purpose: str | None
    """The purpose that the plan gives; None without a plan."""
    messages: tuple[Message, ...] = field(repr=False)
    """The conversation so far."""
    executed: tuple[ExecutedTool, ...] = field(default=(), repr=False)
    """The calls that the run has executed so far."""

    @property
    def deps(self) -> ContextDeps:
        """The dependencies of the run."""
        return self.request.deps


_current: contextvars.ContextVar[SceneContext] = contextvars.ContextVar("toolweave_scene")


def current_context() -> SceneContext | None:
    """Return the context of the running tool's scene, as entered; None outside of scenes."""
    return _current.get(None)


def enter_context(context: SceneContext) -> None:
    """Set the context for tools that start from now on."""
    _current.set(context)
