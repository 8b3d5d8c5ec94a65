"""Actors: parts of the system prompt, static or computed when a scene is entered."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from ._request import SceneContext

D = TypeVar("D")
D_contra = TypeVar("D_contra", contravariant=True)
T = TypeVar("T")


class ActorObject(Protocol[D_contra]):
    """An actor as an object with a method."""

    def act(self, context: SceneContext[D_contra], /) -> str | Awaitable[str | None] | None:
        """Return text for the system prompt; None to add nothing."""
        ...


ActorFunction: TypeAlias = "Callable[[SceneContext[D]], str | Awaitable[str | None] | None]"
"""A sync or async function that returns text for the system prompt."""

Actor: TypeAlias = "str | ActorFunction[D] | ActorObject[D]"
"""Static text, a function of the context, or an object with such a function as its method `act`."""


def checked_actor(actor: Actor[Any]) -> str | ActorFunction[Any]:
    """Return the text or the function of an actor.

    Raises:
        TypeError: The value is not an actor.
    """
    if isinstance(actor, str):
        return actor
    act: object = getattr(actor, "act", None)
    if callable(act) and not isinstance(actor, type):
        return cast("ActorFunction[Any]", act)
    if callable(actor) and not isinstance(actor, type):
        return actor
    got = f"the class {actor.__name__}" if isinstance(actor, type) else type(actor).__name__
    raise TypeError(
        "an actor must be a string, a function of the context, or an object with a method `act`, "
        f"got {got}"
    )


async def actor_texts(
    actors: Iterable[str | ActorFunction[Any]], context: SceneContext[Any]
) -> list[str]:
    """Return the texts of actors in order, without empty ones.

    Raises:
        TypeError: An actor returns something other than a string or None.
        Exception: Any exception that an actor raises.
    """
    texts: list[str] = []
    for actor in actors:
        line_or_awaitable: object = actor if isinstance(actor, str) else actor(context)
        text: Any = await maybe_await(line_or_awaitable)
        if text is not None and not isinstance(text, str):
            raise TypeError(f"an actor must return a string or None, got {type(text).__name__}")
        if text and text.strip():
            texts.append(text.strip())
    return texts


async def maybe_await(value: T | Awaitable[T]) -> T:
    """Return the value, awaiting it first if it is awaitable."""
    if inspect.isawaitable(value):
        return await cast("Awaitable[T]", value)
    return value
