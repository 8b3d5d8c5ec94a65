"""Conversion of replies to LangChain's messages and message chunks."""

from __future__ import annotations

import json
import logging
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import invalid_tool_call, tool_call, tool_call_chunk
from langchain_core.utils.json import parse_partial_json

from ..._core import (
    FinishUpdate,
    InvalidToolCall,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    UsageUpdate,
)
from ...kinds import FinishReason
from .._text_calls import WhitespaceFilter
from ._messages import INVALID_CALLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_core.messages.ai import UsageMetadata

    from ...natural import ReplyEvent

_logger = logging.getLogger("toolweave.models")

_INVALIDATING_SUFFIXES = ("]", "}", '"]', '"}', '""]', '""}')


def violation_text(call: InvalidToolCall) -> str:
    """Return the violations of an invalid call as one text."""
    return "; ".join(violation.message for violation in call.violations)


def invalidating_suffix(arguments: str) -> str:
    """Return a suffix that makes arguments invalid JSON for LangChain.

    LangChain joins the fragments of a call and completes truncated JSON, so it would accept a
    truncated call. The suffix is empty if the arguments are invalid already.
    """
    if _as_langchain_reads(arguments) is None:
        return ""
    # Which suffix works depends on the position of the truncation.
    return next(
        end for end in _INVALIDATING_SUFFIXES if _as_langchain_reads(arguments + end) is None
    )


def _as_langchain_reads(arguments: str) -> dict[str, Any] | None:
    """Return the arguments that `AIMessageChunk` parses; None for an invalid call."""
    if not arguments:
        return {}
    try:
        read = parse_partial_json(arguments)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", read) if isinstance(read, dict) else None


class ReplyBuilder:
    """Builder of one reply from its events."""

    def __init__(self, model_name: str) -> None:
        self._model_name = model_name
        self._text: list[str] = []
        self._whitespace = WhitespaceFilter()
        self._reasoning: list[str] = []
        self._calls: list[ToolCall] = []
        self._invalid_calls: list[tuple[InvalidToolCall, str]] = []
        self._payloads: dict[int, str] = {}
        self._indices: dict[int, int] = {}
        self._next_index = count()
        self._usage: UsageUpdate | None = None
        self._finish = FinishReason.MISSING

    def push(self, event: ReplyEvent) -> Iterator[AIMessageChunk]:
        """Add an event, and yield its chunks."""
        match event:
            case TextDelta(text):
                yield from self._text_chunks(self._whitespace.text(text))
            case ReasoningDelta(text):
                self._reasoning.append(text)
                yield AIMessageChunk(content="", additional_kwargs={"reasoning_content": text})
            case ToolCallStart(index, id_, name):
                self._payloads[index] = ""
                self._whitespace.call()
                yield self._chunk(index, name=name, args="", id_=id_)
            case ToolCallDelta(index, fragment):
                self._payloads[index] += fragment
                yield self._chunk(index, args=fragment)
            case ToolCall():
                self._calls.append(event)
                yield from self._finish_call(event)
            case InvalidToolCall():
                payload = self._payloads.get(event.index, "")
                self._invalid_calls.append((event, payload))
                if suffix := invalidating_suffix(payload):
                    yield self._chunk(event.index, args=suffix)
            case UsageUpdate():
                # A running total; LangChain adds up chunks, so only the last one is sent.
                self._usage = event
            case FinishUpdate(reason):
                self._finish = reason
                yield from self._text_chunks(self._whitespace.finish())
                yield AIMessageChunk(
                    content="",
                    usage_metadata=self._usage_metadata(),
                    response_metadata=self._metadata(),
                    chunk_position="last",
                )
            case _:
                pass

    def message(self) -> AIMessage:
        """Return the complete reply."""
        reasoning = "".join(self._reasoning)
        return AIMessage(
            "".join(self._text),
            tool_calls=[
                tool_call(name=call.name, args=call.arguments, id=call.id) for call in self._calls
            ],
            invalid_tool_calls=[
                invalid_tool_call(
                    name=call.name, args=payload, id=call.id, error=violation_text(call)
                )
                for call, payload in self._invalid_calls
            ],
            additional_kwargs={"reasoning_content": reasoning} if reasoning else {},
            usage_metadata=self._usage_metadata(),
            response_metadata=self._metadata(),
        )

    def _text_chunks(self, text: str) -> Iterator[AIMessageChunk]:
        if text:
            self._text.append(text)
            yield AIMessageChunk(content=text)

    def _finish_call(self, call: ToolCall) -> Iterator[AIMessageChunk]:
        payload = self._payloads[call.index]
        if not payload.strip():
            yield self._chunk(call.index, args=json.dumps(call.arguments))
        elif _as_langchain_reads(payload) != call.arguments:
            # Chunks that were sent cannot be taken back. They become an invalid call, and the
            # repaired call follows under the same id.
            _logger.info("call repaired", extra={"tool": call.name, "tool_call_id": call.id})
            if suffix := invalidating_suffix(payload):
                yield self._chunk(call.index, args=suffix)
            del self._indices[call.index]
            arguments = json.dumps(call.arguments)
            yield self._chunk(call.index, name=call.name, args=arguments, id_=call.id)

    def _chunk(
        self, index: int, *, args: str, name: str | None = None, id_: str | None = None
    ) -> AIMessageChunk:
        if index not in self._indices:
            self._indices[index] = next(self._next_index)
        piece = tool_call_chunk(name=name, args=args, id=id_, index=self._indices[index])
        return AIMessageChunk(content="", tool_call_chunks=[piece])

    def _usage_metadata(self) -> UsageMetadata | None:
        if self._usage is None:
            return None
        usage = self._usage
        # With the details that are empty, as LangChain's own models give them.
        return {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
            "input_token_details": {"cache_read": usage.cached_input_tokens},
            "output_token_details": {},
        }

    def _metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = {
            "finish_reason": self._finish.value,
            "model_name": self._model_name,
        }
        if self._invalid_calls:
            metadata[INVALID_CALLS] = {
                call.id: violation_text(call) for call, _ in self._invalid_calls
            }
        return metadata
