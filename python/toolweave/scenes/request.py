"""What a run is asked, and what actors and hooks know of it."""

from __future__ import annotations

import contextvars
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, get_args

from .._checks import check_choice, check_flag, check_mapping, check_text, check_type
from .._core import MessageBase
from ..costs import Budget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .. import Message
    from ..costs.amounts import Number
    from ..protocols import Messages
    from .steps import ExecutedTool

SceneMode: TypeAlias = Literal["direct", "planning", "chaining", "scene"]
"""How scenes are chosen: picked by the model at once (``direct``), planned by it (``planning``),
picked one after another (``chaining``), or given (``scene``)."""


@dataclass(frozen=True)
class ClientResult:
    """What came of a call that the client ran."""

    interaction_id: str
    """What the `AwaitingClient` step said."""
    result: Any = None
    """The result: JSON values."""
    is_error: bool = False
    """Whether the call failed; the result says why then."""

    def __post_init__(self) -> None:
        check_text("interaction_id", self.interaction_id)
        check_flag("is_error", self.is_error)


ClientResults: TypeAlias = "Mapping[str, Any] | Iterable[ClientResult]"
"""What the client gives back: results by interaction id, or `ClientResult`s."""


class RequestOptions(TypedDict, total=False):
    """The options of a request; see `SceneRequest`."""

    mode: SceneMode | None
    """How scenes are chosen."""
    scene: str | None
    """The scene to run."""
    conversation: str | None
    """The conversation to go on with."""
    history: Messages
    """What was said before, where the conversation is not known."""
    context: object
    """Anything for actors, hooks and tools."""
    user: str | None
    """Who asks."""
    metadata: Mapping[str, Any]
    """Anything else about the request."""
    budget: Budget | Number | None
    """How much may be spent."""
    results: ClientResults | None
    """What the client's tools answered."""


@dataclass(frozen=True)
class SceneRequest:
    """What a run is asked. `SceneManager.stream` makes one of its arguments."""

    input: Messages | None = None
    """What the user says, in any form; None to go on with the results of the client."""
    mode: SceneMode | None = None
    """How scenes are chosen; the manager's mode if not given, and ``scene`` where one is named."""
    scene: str | None = None
    """The scene to run."""
    conversation: str | None = None
    """The key of the conversation to go on with; a new one if not given."""
    history: Messages = ()
    """What was said before, where the conversation is not known."""
    context: object = None
    """Anything for actors, hooks and tools; the model does not see it."""
    user: str | None = None
    """Who asks, as the application knows them, and never as a client claims: rate limits go by it,
    and nobody else can go on with the conversation."""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Anything else about the request; the model does not see it."""
    budget: Budget | Number | None = None
    """How much may be spent, instead of the manager's budget; a number is for this request."""
    results: ClientResults | None = None
    """What the client's tools answered, by interaction id."""

    def __post_init__(self) -> None:
        """Check the arguments.

        Raises:
            TypeError: One of them is of the wrong type.
            ValueError: There is no such mode.
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
class SceneContext:
    """What is known where an actor speaks."""

    request: SceneRequest
    """What the run is asked."""
    conversation: str
    """The key of the conversation."""
    scene: str | None
    """The scene, by the name that it was given; None outside of scenes."""
    purpose: str | None
    """What the scene is for, where a plan says so."""
    messages: tuple[Message, ...] = field(repr=False)
    """The conversation so far."""
    executed: tuple[ExecutedTool, ...] = field(default=(), repr=False)
    """The calls that the run has made so far."""


_current: contextvars.ContextVar[SceneContext] = contextvars.ContextVar("toolweave_scene")


def current_context() -> SceneContext | None:
    """The scene that the running tool belongs to, as it was entered; None outside of scenes."""
    return _current.get(None)


def enter_context(context: SceneContext) -> None:
    """Lets tools that start from now on know their scene."""
    _current.set(context)
