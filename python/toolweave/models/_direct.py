"""Requests to a model in any form, without tools to run."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .. import tracing
from .._aio.loops import running_loop
from .._checks import check_type
from .._core import Joiner, UsageUpdate
from ..protocols import ModelOptions
from ._conversation import as_messages, drop_excess_calls
from ._function import FunctionModel
from ._identity import identify
from ._streaming import closing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core import FunctionContract, JoinedReply
    from ..protocols import ChatModel, Messages, Model


def as_model(model: Model, parameter: str = "model") -> ChatModel:
    """Return a model in any form as a `ChatModel`.

    Example:
        >>> async def echo(messages):
        ...     yield messages[-1].text
        >>> as_model(echo)
        FunctionModel(echo)

    Args:
        model: A `ChatModel`, returned unchanged, or a function, wrapped in a `FunctionModel`.
        parameter: Name of the parameter in errors.

    Raises:
        TypeError: `model` is neither.
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
            f"{parameter} must be reusable, but a {given} can be iterated only once; "
            "pass the function that creates it"
        )
    raise TypeError(
        f"{parameter} must have a method `stream`, be an async function of the messages that "
        f"returns a str, or an async generator function of strs; got {given}"
    )


async def complete(
    model: Model,
    messages: Messages,
    *,
    tools: Sequence[FunctionContract] = (),
    options: ModelOptions | None = None,
) -> JoinedReply:
    """Send a request to a model and wait for the complete reply.

    Calls in the text stay text; `NaturalToolUse` parses and runs them.

    Args:
        model: A model in any form.
        messages: A conversation in any form.
        tools: Tools that the model may call natively.
        options: Options of the request.

    Returns:
        The messages of the reply, its finish reason and its problems. An incomplete native call is
        in `problems`, never in `messages`.

    Raises:
        MessageError: The conversation is invalid, or cannot be expressed in the API.
        ModelError: The request failed, or the reply was interrupted.
    """
    running_loop()
    check_type("options", options, ModelOptions, "a ModelOptions", none=True)
    chat_model = as_model(model)
    conversation = drop_excess_calls(as_messages(messages))
    name, provider, *_ = identify(chat_model)
    joiner = Joiner()
    with tracing.chat(name, provider=provider, options=options) as span:
        stream = chat_model.stream(conversation, tools=tools, options=options)
        async with closing(stream) as updates:
            async for update in updates:
                joiner.push(update)
                if isinstance(update, UsageUpdate):
                    span.usage(update)
        reply = joiner.finish()
        span.set(tracing.RESPONSE_FINISH_REASONS, [reply.finish_reason.value])
    return reply
