"""Replies in natural text as replies of pydantic-ai's with tool calls."""

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
from ..arguments import leading_object

if TYPE_CHECKING:
    from pydantic_ai.messages import FinishReason, ModelResponsePart

    from ... import Event, Parser

_logger = logging.getLogger("toolweave.models")

_PROVIDER_NAME = "toolweave"
"""Whose details are on the part of an invalid call."""


def call_id(_index: int) -> str:
    """An id for a call that is unique in the whole history, as pydantic-ai needs it."""
    return f"call_{uuid.uuid4().hex}"


def call_part(call: ToolCall | InvalidToolCall, payload: str) -> ToolCallPart:
    """The part for a call.

    An invalid one gets the text of its tags for arguments. That is no JSON, so no tool can ever run
    with it, not even one that pydantic-ai does not validate, and the agent answers it like every
    call with bad arguments: with a retry, which counts as one.
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
    """What is wrong with a call, for the model to read; None for a valid one."""
    if part.provider_name != _PROVIDER_NAME or part.provider_details is None:
        return None
    found = cast("list[str]", part.provider_details.get("violations") or [])
    return "\n".join([*found, "Fix the errors and call the tool again."])


def parse_response(response: ModelResponse, parser: Parser) -> ModelResponse:
    """A whole reply with the calls in its text as parts."""
    parts: list[ModelResponsePart] = []
    last_text = max(
        (at for at, part in enumerate(response.parts) if isinstance(part, TextPart)), default=-1
    )
    # A provider that gives no reason here has still sent a whole response.
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
    """Says in the log that a result is left out."""
    _logger.warning("the model made up a result, which is left out", extra={"tool": event.name})


def finish_reason(reason: FinishReason | None, *, has_calls: bool) -> FinishReason | None:
    """Why a reply ended, calls in its text considered."""
    return "tool_call" if has_calls and reason == "stop" else reason


def is_json_of(text: str, arguments: dict[str, Any]) -> bool:
    """Whether the text is JSON for just these arguments."""
    try:
        return bool(json.loads(text) == arguments)
    except (ValueError, RecursionError):
        return False
