"""Conversion of text replies to pydantic-ai replies with tool calls."""

from __future__ import annotations

import json
import logging
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai.messages import (
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)

from ..._core import (
    FabricatedResult,
    InvalidToolCall,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)
from .._text_calls import leading_object

if TYPE_CHECKING:
    from pydantic_ai.messages import FinishReason, ModelResponsePart

    from ..._core import Parser
    from ..._streams import Event

_logger = logging.getLogger("toolweave.models")

_PROVIDER_NAME = "toolweave"
"""Provider name of the details on the part of an invalid call."""


def call_id(_index: int) -> str:
    """Return an id for a call, unique in the whole history as pydantic-ai requires."""
    return f"call_{uuid.uuid4().hex}"


def call_part(call: ToolCall | InvalidToolCall, payload: str) -> ToolCallPart:
    """Return the part for a call.

    The arguments of an invalid call are its raw markup. That is not JSON, so no tool can run with
    it, not even one whose arguments pydantic-ai does not validate, and the agent answers it with a
    retry, as it does for all invalid arguments.
    """
    if isinstance(call, ToolCall):
        return ToolCallPart(call.name, call.arguments, call.id)
    _logger.info(
        "invalid call",
        extra={"tool": call.name, "tool_call_id": call.id, "reason": call.kind},
    )
    details: dict[str, Any] = {
        "kind": call.kind,
        "violations": [violation.message for violation in call.violations],
    }
    if (arguments := leading_object(payload)) is not None:
        details["arguments"] = arguments
    return ToolCallPart(
        call.name, call.raw, call.id, provider_name=_PROVIDER_NAME, provider_details=details
    )


def violations_of(part: ToolCallPart) -> str | None:
    """Return the errors of a call, for the model; None for a valid call."""
    if part.provider_name != _PROVIDER_NAME or part.provider_details is None:
        return None
    found = cast("list[str]", part.provider_details.get("violations") or [])
    return "\n".join([*found, "Fix the errors and call the tool again."])


def parse_response(response: ModelResponse, parser: Parser) -> ModelResponse:
    """Return a complete reply with the calls in its text as parts."""
    parts: list[ModelResponsePart] = []
    last_text = max(
        (at for at, part in enumerate(response.parts) if isinstance(part, TextPart)), default=-1
    )
    # A response without a finish reason is still complete.
    truncated = response.finish_reason not in (None, "stop", "tool_call") or (
        response.state != "complete"
    )
    payloads: dict[int, str] = {}
    for at, part in enumerate(response.parts):
        if not isinstance(part, TextPart):
            parts.append(part)
            continue
        events = parser.push(part.content)
        if at == last_text:
            events += parser.finish(truncated=truncated)
        for event in events:
            _append_event(parts, event, part, payloads)
    has_calls = any(isinstance(part, ToolCallPart) for part in parts)
    if has_calls:
        parts = [p for p in parts if not isinstance(p, TextPart) or p.content.strip()]
    return replace(
        response,
        parts=parts,
        finish_reason=finish_reason(response.finish_reason, has_calls=has_calls),
    )


def _append_event(
    parts: list[ModelResponsePart], event: Event, part: TextPart, payloads: dict[int, str]
) -> None:
    last = parts[-1] if parts else None
    match event:
        case TextDelta(text):
            if isinstance(last, TextPart):
                parts[-1] = replace(last, content=last.content + text)
            else:
                parts.append(replace(part, content=text))
        case ReasoningDelta(text):
            if isinstance(last, ThinkingPart):
                parts[-1] = replace(last, content=last.content + text)
            else:
                parts.append(ThinkingPart(text))
        case ToolCallDelta(index, fragment):
            payloads[index] = payloads.get(index, "") + fragment
        case ToolCall(index=index) | InvalidToolCall(index=index):
            parts.append(call_part(event, payloads.pop(index, "")))
        case FabricatedResult():
            log_fabricated_result(event)
        case _:
            pass


def log_fabricated_result(event: FabricatedResult) -> None:
    """Log that a fabricated result is omitted."""
    _logger.warning("the model fabricated a result, which is omitted", extra={"tool": event.name})


def finish_reason(reason: FinishReason | None, *, has_calls: bool) -> FinishReason | None:
    """Return the finish reason of a reply, given the calls in its text."""
    return "tool_call" if has_calls and reason == "stop" else reason


def is_json_of(text: str, arguments: dict[str, Any]) -> bool:
    """Return True if a text is the JSON of these arguments."""
    try:
        return bool(json.loads(text) == arguments)
    except (ValueError, RecursionError):
        return False
