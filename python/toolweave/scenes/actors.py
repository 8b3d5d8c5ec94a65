"""Actors: lines for the system prompt, static or worked out when a scene is entered."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from .request import SceneContext

T = TypeVar("T")


class ActorObject(Protocol):
    """An object that speaks."""

    def act(self, context: SceneContext, /) -> str | Awaitable[str | None] | None:
        """What the model is told; None for nothing."""
        ...


ActorFunction: TypeAlias = "Callable[[SceneContext], str | Awaitable[str | None] | None]"
"""A sync or async function of the context that says what the model is told."""

Actor: TypeAlias = "str | ActorFunction | ActorObject"
"""Static text, a function of the context, or an object that has one as its method `act`."""


def checked_actor(actor: Actor) -> str | ActorFunction:
    """The text or the function of an actor.

    Raises:
        TypeError: It is none.
    """
    if isinstance(actor, str):
        return actor
    act: object = getattr(actor, "act", None)
    if callable(act) and not isinstance(actor, type):
        return cast("ActorFunction", act)
    if callable(actor) and not isinstance(actor, type):
        return actor
    what = f"the class {actor.__name__}" if isinstance(actor, type) else type(actor).__name__
    raise TypeError(
        "an actor is a text, a function of the context, or an object with a method `act`; "
        f"not {what}"
    )


async def actor_texts(actors: Iterable[str | ActorFunction], context: SceneContext) -> list[str]:
    """What actors say, in order; those that say nothing are left out.

    Raises:
        TypeError: One of them says something else than text.
        Exception: What an actor raises.
    """
    texts: list[str] = []
    for actor in actors:
        line_or_awaitable: object = actor if isinstance(actor, str) else actor(context)
        text: Any = await maybe_await(line_or_awaitable)
        if text is not None and not isinstance(text, str):
            raise TypeError(f"an actor says a str or None, not {type(text).__name__}")
        if text and text.strip():
            texts.append(text.strip())
    return texts


async def maybe_await(value: T | Awaitable[T]) -> T:
    """The value, waited for where it has to be."""
    if inspect.isawaitable(value):
        return await cast("Awaitable[T]", value)
    return value
