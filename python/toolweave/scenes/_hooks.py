"""Hooks: decisions of the application before, between and after the scenes of a run.

A hook returns `None` or `True` to let the run continue, or a verdict:

    >>> Deny("Only on weekdays."), Answer("Closed."), Append("Without VAT.")
    (Deny(reason='Only on weekdays.'), Answer(text='Closed.'), Append(text='Without VAT.'))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .._checks import check_text
from ._actors import maybe_await

if TYPE_CHECKING:
    from ._request import SceneRequest
    from ._steps import SceneResult

D = TypeVar("D")
H = TypeVar("H")


@dataclass(frozen=True)
class Deny:
    """Verdict that ends the run with the stop reason ``unauthorized``."""

    reason: str | None = None
    """The reason, for the user to read."""

    def __post_init__(self) -> None:
        check_text("reason", self.reason, none=True)


@dataclass(frozen=True)
class Answer:
    """Verdict that ends the run with this answer, without another request to the model."""

    text: str
    """The answer."""

    def __post_init__(self) -> None:
        check_text("text", self.text)


@dataclass(frozen=True)
class Append:
    """Verdict that appends text to the answer and to the conversation."""

    text: str
    """The appended text."""

    def __post_init__(self) -> None:
        check_text("text", self.text)


@dataclass(frozen=True)
class SceneOutcome:
    """The answer of a scene."""

    scene: str
    """The name of the scene, as given."""
    text: str
    """The answer."""


Verdict: TypeAlias = "Deny | Answer | Append | bool | None"
"""The decision of a hook: None and True let the run continue, False is a `Deny`."""

Authorize: TypeAlias = "Callable[[SceneRequest[D]], Deny | bool | Awaitable[Deny | bool]]"
"""A hook that allows a request by returning True. It runs before anything is loaded."""

Before: TypeAlias = "Callable[[SceneRequest[D]], Verdict | Awaitable[Verdict]]"
"""A hook that runs before an allowed request."""

AfterScene: TypeAlias = "Callable[[SceneRequest[D], SceneOutcome], Verdict | Awaitable[Verdict]]"
"""A hook that runs when a scene has answered."""

OnTerminal: TypeAlias = (
    "Callable[[SceneRequest[D], SceneResult[Any]], Verdict | Awaitable[Verdict]]"
)
"""A hook that runs at the end of a run, however it ended. It can only append text."""


class Hooks:
    """The hooks of a manager, each kind in the order of addition."""

    def __init__(self) -> None:
        self.authorize: list[Authorize[Any]] = []
        self.before: list[Before[Any]] = []
        self.after_scene: list[AfterScene[Any]] = []
        self.on_terminal: list[OnTerminal[Any]] = []

    async def run_authorize(self, request: SceneRequest[Any]) -> Deny | None:
        """Return the denial of a request, or None if all hooks allow it."""
        for hook in self.authorize:
            decision = await maybe_await(hook(request))
            if decision is not True:
                return decision if isinstance(decision, Deny) else Deny()
        return None

    async def run_before(self, request: SceneRequest[Any]) -> Deny | Answer | None:
        """Return the verdict that ends a request before it begins, or None.

        Raises:
            TypeError: A hook returns another value.
        """
        for verdict in await _verdicts(hook(request) for hook in self.before):
            if isinstance(verdict, Append):
                raise TypeError("before must return Deny, Answer, a bool or None, got Append")
            return verdict
        return None

    async def run_after_scene(
        self, request: SceneRequest[Any], outcome: SceneOutcome
    ) -> list[Deny | Answer | Append]:
        """Return the verdicts on a scene that has answered, up to the first that ends the run."""
        return await _verdicts(hook(request, outcome) for hook in self.after_scene)

    async def run_on_terminal(
        self, request: SceneRequest[Any], result: SceneResult[Any]
    ) -> list[Append]:
        """Return the texts to append at the end of a run.

        Raises:
            TypeError: A hook returns another verdict than `Append`.
        """
        verdicts = await _verdicts(hook(request, result) for hook in self.on_terminal)
        for verdict in verdicts:
            if not isinstance(verdict, Append):
                raise TypeError(
                    f"on_terminal must return Append, True or None, got {type(verdict).__name__}"
                )
        return [verdict for verdict in verdicts if isinstance(verdict, Append)]


def checked_hook(hook: H) -> H:
    """Return the hook.

    Raises:
        TypeError: The hook is not callable.
    """
    if not callable(hook):
        raise TypeError(f"a hook must be a function, got {type(hook).__name__}")
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
                "a hook must return Deny, Answer, Append, True, False or None, "
                f"got {type(verdict).__name__}"
            )
        found.append(verdict)
        if not isinstance(verdict, Append):
            break
    return found
