"""Hooks: what an application decides about a run, before, between and after its scenes.

A hook says nothing (`None` or `True`) to let things take their course, or gives a verdict:

    >>> Deny("Only on weekdays."), Answer("Closed."), Append("Without VAT.")
    (Deny(reason='Only on weekdays.'), Answer(text='Closed.'), Append(text='Without VAT.'))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from .._checks import check_text
from .actors import maybe_await

if TYPE_CHECKING:
    from .request import SceneRequest
    from .steps import SceneResult

H = TypeVar("H")

UNAUTHORIZED = "You are not authorized to perform this action."


@dataclass(frozen=True)
class Deny:
    """The run ends here, with the stop reason ``unauthorized``."""

    reason: str | None = None
    """Why, for the user to read."""

    def __post_init__(self) -> None:
        check_text("reason", self.reason, none=True)


@dataclass(frozen=True)
class Answer:
    """The run ends here, with this as its answer; the model is not asked any more."""

    text: str
    """The answer."""

    def __post_init__(self) -> None:
        check_text("text", self.text)


@dataclass(frozen=True)
class Append:
    """Something is added to what was answered, for the user and for the conversation."""

    text: str
    """What is added."""

    def __post_init__(self) -> None:
        check_text("text", self.text)


@dataclass(frozen=True)
class SceneOutcome:
    """What came of a scene."""

    scene: str
    """The scene, by the name that it was given."""
    text: str
    """What it answered."""


Verdict: TypeAlias = "Deny | Answer | Append | bool | None"
"""What a hook decides: None and True let things take their course, False is a `Deny`."""

Authorize: TypeAlias = "Callable[[SceneRequest], Deny | bool | Awaitable[Deny | bool]]"
"""Whether a request is allowed. Anything but True is a no. Nothing is loaded before that."""

Before: TypeAlias = "Callable[[SceneRequest], Verdict | Awaitable[Verdict]]"
"""What is to be done with a request that is allowed."""

AfterScene: TypeAlias = "Callable[[SceneRequest, SceneOutcome], Verdict | Awaitable[Verdict]]"
"""What is to be done when a scene has answered."""

OnTerminal: TypeAlias = "Callable[[SceneRequest, SceneResult], Verdict | Awaitable[Verdict]]"
"""What is to be done at the end of a run, however it ended. All that it can do is to append."""


class Hooks:
    """The hooks of a manager, each kind in the order in which they were added."""

    def __init__(self) -> None:
        self.authorize: list[Authorize] = []
        self.before: list[Before] = []
        self.after_scene: list[AfterScene] = []
        self.on_terminal: list[OnTerminal] = []

    async def run_authorize(self, request: SceneRequest) -> Deny | None:
        """Why the request is not allowed, or None if it is."""
        for hook in self.authorize:
            decision = await maybe_await(hook(request))
            if decision is not True:
                return decision if isinstance(decision, Deny) else Deny()
        return None

    async def run_before(self, request: SceneRequest) -> Deny | Answer | None:
        """What ends a request before it has begun.

        Raises:
            TypeError: A hook wants something else.
        """
        for verdict in await _verdicts(hook(request) for hook in self.before):
            if isinstance(verdict, Append):
                raise TypeError("before comes too early for Append; it can say Deny or Answer")
            return verdict
        return None

    async def run_after_scene(
        self, request: SceneRequest, outcome: SceneOutcome
    ) -> list[Deny | Answer | Append]:
        """The verdicts on a scene that has answered, up to the first that ends the run."""
        return await _verdicts(hook(request, outcome) for hook in self.after_scene)

    async def run_on_terminal(self, request: SceneRequest, result: SceneResult) -> list[Append]:
        """What is appended at the end.

        Raises:
            TypeError: A hook wants something else than that.
        """
        verdicts = await _verdicts(hook(request, result) for hook in self.on_terminal)
        for verdict in verdicts:
            if not isinstance(verdict, Append):
                raise TypeError(
                    f"on_terminal comes too late for {type(verdict).__name__}; it can append"
                )
        return [verdict for verdict in verdicts if isinstance(verdict, Append)]


def checked_hook(hook: H) -> H:
    """The hook.

    Raises:
        TypeError: It cannot be called.
    """
    if not callable(hook):
        raise TypeError(f"a hook is a function, not {type(hook).__name__}")
    return hook


async def _verdicts(
    decisions: Iterable[object],
) -> list[Deny | Answer | Append]:
    found: list[Deny | Answer | Append] = []
    for each in decisions:
        decision = await maybe_await(each)
        if decision is None or decision is True:
            continue
        verdict = Deny() if decision is False else decision
        if not isinstance(verdict, (Deny, Answer, Append)):
            raise TypeError(
                "a hook says Deny, Answer, Append, True, False or None, "
                f"not {type(verdict).__name__}"
            )
        found.append(verdict)
        if not isinstance(verdict, Append):
            break
    return found
