"""Requests of chat completions, and the checks and the serialization of all requests."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, TypeVar

from .._core import ToolAggregateMessage, ToolCallMessage, ToolResultMessage, to_openai
from .._slices import OFFLOAD_THRESHOLD, has_many_parts
from ._streaming import logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .._core import FunctionContract
    from .._messages import Message
    from ..protocols import ModelOptions

T = TypeVar("T")

SCHEMA_FIELD = "response_format"
"""Parameter with the schema of the reply."""

_OPTIONAL = ("stream_options", "stop", "max_tokens", SCHEMA_FIELD)
"""Parameters that some servers reject, and that a request can omit."""

# Number of characters of a result that take as long to serialize as one argument.
_CHARACTERS = 100
# The schemas of more tools take longer to serialize than a thread takes to start.
_MANY_TOOLS = 50


def build_request(
    messages: Sequence[Message],
    tools: Sequence[FunctionContract],
    options: ModelOptions | None,
    *,
    strict: bool = False,
    reasoning: bool = False,
) -> dict[str, Any]:
    """Return the arguments of ``chat.completions.create`` for a streamed reply, except the model.

    Args:
        messages: The conversation.
        tools: Tools that the model may call.
        options: Options of the request.
        strict: If true, the provider enforces the schemas.
        reasoning: If true, send reasoning back.

    Raises:
        MessageError: A message cannot be expressed in this API.
        ValueError: The options name an unknown tool, or `extra` sets a reserved field.
    """
    request: dict[str, Any] = {
        "messages": to_openai(messages, reasoning=reasoning),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if tools:
        request["tools"] = [contract.to_openai() for contract in tools]
        if strict:
            for definition in request["tools"]:
                definition["function"]["strict"] = True
    if options is None:
        return request
    request |= option_fields(options, strict=strict)
    choice = checked_tool_choice(options, tools)
    if choice in ("auto", "none", "required"):
        request["tool_choice"] = choice
    elif choice is not None:
        request["tool_choice"] = {"type": "function", "function": {"name": choice}}
    request.update(checked_extra(options.extra))
    return request


def option_fields(options: ModelOptions, *, strict: bool) -> dict[str, Any]:
    """Return the given options in OpenAI's form, except the tool choice and `extra`."""
    names = ("temperature", "top_p", "max_tokens", "seed")
    fields = {name: value for name in names if (value := getattr(options, name)) is not None}
    if options.stop:
        fields["stop"] = list(options.stop)
    if options.response_schema is not None:
        schema = {"name": "reply", "schema": dict(options.response_schema), "strict": strict}
        fields[SCHEMA_FIELD] = {"type": "json_schema", "json_schema": schema}
    return fields


def checked_tool_choice(options: ModelOptions, tools: Sequence[FunctionContract]) -> str | None:
    """Check the tool choice of a request, and return it; None if there are no tools.

    Raises:
        ValueError: The choice names an unknown tool.
    """
    choice = options.tool_choice
    if choice is None or choice in ("auto", "none"):
        return choice if tools else None
    names = [contract.name for contract in tools]
    if not tools or (choice != "required" and choice not in names):
        wanted = (
            f"'auto', 'none', 'required' or a tool ({', '.join(names)})"
            if tools
            else "'auto' or 'none' without tools"
        )
        raise ValueError(f"tool_choice must be {wanted}, got {choice!r}")
    return choice


def checked_extra(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check extra arguments that are passed to the client unchanged, and return them.

    Raises:
        ValueError: An argument is set by the adapter itself.
    """
    for name in ("messages", "model", "stream", "tools"):
        if name in extra:
            raise ValueError(f"`extra` must not set {name!r}; the adapter sets that itself")
    return extra


def check_tools(model: object, tools: Sequence[FunctionContract], *, native: bool) -> None:
    """Raise a `ValueError` if there are tools for a model that makes no native calls."""
    if tools and not native:
        raise ValueError(f"{model!r} does not support native calls, so there must be no tools")


def unsupported_parameter(
    status: object, text: str, request: Mapping[str, Any], omitted: frozenset[str]
) -> str | None:
    """Return the parameter that a server rejected, if the request can omit it.

    Args:
        status: HTTP status of the response.
        text: Error text of the response.
        request: Fields of the request.
        omitted: Parameters that have been omitted already.
    """
    if status not in (400, 422):
        return None
    for name in _OPTIONAL:
        if name in request and name not in omitted and re.search(rf"\b{name}\b", text):
            return name
    return None


def without_parameters(request: Mapping[str, Any], omitted: frozenset[str]) -> dict[str, Any]:
    """Return a request without some parameters, or with the newer names of those."""
    remaining = {name: value for name, value in request.items() if name not in omitted}
    if "max_tokens" in omitted and "max_tokens" in request:
        remaining["max_completion_tokens"] = request["max_tokens"]
    return remaining


def log_unsupported(model: str, omitted: frozenset[str]) -> None:
    """Log the parameters that a server rejected, and that requests now omit."""
    names = sorted(omitted)
    extra = {"model": model, "refused": names}
    logger.warning("%s refuses %s; asked without", model, ", ".join(names), extra=extra)


async def serialize_request(
    serialize: Callable[[], T], messages: Sequence[Message], tools: Sequence[FunctionContract] = ()
) -> T:
    """Serialize a request, in a thread if it is large.

    Args:
        serialize: Function that serializes the request.
        messages: The conversation.
        tools: Tools of the request.
    """
    if len(tools) > _MANY_TOOLS or is_large(messages):
        return await asyncio.to_thread(serialize)
    return serialize()


def is_large(messages: Iterable[Message]) -> bool:
    """Return True if a conversation takes longer to serialize than a thread takes to start."""
    parts = 0
    for message in messages:
        parts += 1
        if isinstance(message, (ToolCallMessage, ToolAggregateMessage)):
            calls = message.tool_calls
            parts += len(calls)
            if parts <= OFFLOAD_THRESHOLD and any(has_many_parts(call.arguments) for call in calls):
                return True
        if isinstance(message, (ToolResultMessage, ToolAggregateMessage)):
            results = message.tool_results
            parts += len(results)
            if parts <= OFFLOAD_THRESHOLD:
                parts += sum(len(result.result) for result in results) // _CHARACTERS
        if parts > OFFLOAD_THRESHOLD:
            return True
    return False
