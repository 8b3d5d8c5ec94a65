"""Asking any model, whatever it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .. import tracing
from .._checks import check_type
from .._core import Joiner, UsageUpdate
from .._loops import running_loop
from ..protocols import ModelOptions
from .conversation import as_messages
from .excess_calls import drop_excess_calls
from .function import FunctionModel
from .streaming import closing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import FunctionContract, JoinedReply
    from ..protocols import ChatModel, Messages, Model


def as_model(model: Model, parameter: str = "model") -> ChatModel:
    """Anything that is accepted as a model, as a `ChatModel`.

    Example:
        >>> async def echo(messages):
        ...     yield messages[-1].text
        >>> as_model(echo)
        FunctionModel(echo)

    Args:
        model: A `ChatModel`, which comes back as it is; or a function, which becomes a
            `FunctionModel`.
        parameter: What errors call it.

    Raises:
        TypeError: It is neither; says what would be.
    """
    if isinstance(model, type):
        raise TypeError(
            f"{parameter} must be an object, not the class {model.__name__}; call it first"
        )
    if callable(getattr(model, "stream", None)):
        return cast("ChatModel", model)
    if callable(model):
        return FunctionModel(model)
    given = type(model).__name__
    if hasattr(model, "__aiter__"):
        raise TypeError(
            f"{parameter} must answer many times, and this {given} only once; "
            "pass the function that makes it"
        )
    raise TypeError(
        f"{parameter} must have a method `stream`, be an async function of the messages that "
        f"returns a str, or an async generator function of strs; this is of the type {given}"
    )


async def complete(
    model: Model,
    messages: Messages,
    *,
    tools: Sequence[FunctionContract] = (),
    options: ModelOptions | None = None,
) -> JoinedReply:
    """Asks a model and waits for the whole reply.

    Calls in the text stay text; see `NaturalToolUse` for those.

    Args:
        model: A model in any form.
        messages: A conversation in any form.
        tools: What the model may call natively.
        options: What the request asks for beyond that.

    Returns:
        The reply as messages, why it ended, and what could not be taken as it came: a native call
        that is not whole is in `problems`, never in `messages`.

    Raises:
        MessageError: The conversation cannot be read, or not be said to this model.
        ModelError: The model could not be asked, or broke off.
    """
    running_loop()
    check_type("options", options, ModelOptions, "a ModelOptions", none=True)
    asked = as_model(model)
    read = drop_excess_calls(as_messages(messages))
    name: str = getattr(asked, "name", type(asked).__name__)
    provider: str = getattr(asked, "provider", "unknown")
    joiner = Joiner()
    with tracing.chat(name, provider=provider, options=options) as span:
        async with closing(asked.stream(read, tools=tools, options=options)) as updates:
            async for update in updates:
                joiner.push(update)
                if isinstance(update, UsageUpdate):
                    span.usage(update)
        reply = joiner.finish()
        span.set(tracing.RESPONSE_FINISH_REASONS, [reply.finish_reason.value])
    return reply
