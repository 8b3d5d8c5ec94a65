"""Conversion of conversations to and from LangChain's messages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypedDict, cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
)

from ..._core import (
    ReasoningMessage,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolResult,
    from_openai,
    to_openai,
)
from ...exceptions import MessageError
from ...models._conversation import as_messages
from .._text_calls import leading_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..._messages import Message
    from ...protocols import Messages

INVALID_CALLS = "invalid_tool_calls"
"""Key of the response metadata with the errors of invalid calls, by id."""


def to_langchain(messages: Messages) -> list[BaseMessage]:
    """Convert messages to LangChain's.

    One reply becomes one `AIMessage`, followed by the results of its calls. A call without a
    result, which providers reject, gets a placeholder result. Reasoning and usage are omitted.

    Raises:
        MessageError: A message cannot be expressed in that form. The error names it.
    """
    converted = as_messages(messages)
    failed = {
        result.tool_call_id
        for message in converted
        for result in getattr(message, "tool_results", ())
        if result.is_error
    }
    result = convert_to_messages(to_openai(converted))
    for message in result:
        # OpenAI's form, the intermediate one, cannot express the status.
        if isinstance(message, ToolMessage) and message.tool_call_id in failed:
            message.status = "error"
    return result


def from_langchain(messages: Iterable[BaseMessage]) -> list[Message]:
    """Convert LangChain's messages to messages.

    Calls and their results become aggregates. A call in `AIMessage.invalid_tool_calls` gets a
    result with its error, unless a `ToolMessage` has one. Content other than text is kept in
    ``metadata["openai"]``, from which `to_langchain` and `to_openai` restore it.

    Raises:
        MessageError: A message cannot be converted. The error names it.
        TypeError: An item is not a message of LangChain.
    """
    return list(_convert(list(messages)))


def _convert(messages: Sequence[BaseMessage]) -> Iterator[Message]:
    index = 0
    while index < len(messages):
        message = messages[index]
        index += 1
        if isinstance(message, AIMessage):
            answers: list[ToolMessage] = []
            while index < len(messages) and isinstance(answer := messages[index], ToolMessage):
                answers.append(answer)
                index += 1
            yield from _convert_reply(message, answers, index - len(answers) - 1)
        elif isinstance(message, ToolMessage):
            raise MessageError(
                f"message {index - 1}: a tool message must follow the reply with its call, "
                f"{message.tool_call_id!r}",
                index - 1,
            )
        else:
            yield _convert_message(message, index - 1)


class _ReplyFields(TypedDict):
    """Common fields of the messages of a reply."""

    generation_id: str | None
    from_agent: str | None


def _convert_message(message: object, index: int) -> Message:
    match message:
        case SystemMessage():
            role = "system"
        case HumanMessage():
            role = "user"
        case ChatMessage(role=role):
            pass
        case BaseMessage():
            raise MessageError(f"message {index}: unknown message type {message.type!r}", index)
        case _:
            raise TypeError(
                f"message {index} must be a LangChain message, got {type(message).__name__}"
            )
    if isinstance(message.content, str):
        return TextMessage(message.content, role=role, id=message.id)
    try:
        (converted,) = from_openai(convert_to_openai_messages([message]))
    except (MessageError, ValueError) as err:
        raise MessageError(f"message {index}: its content cannot be read: {err}", index) from err
    return converted


def _convert_reply(
    reply: AIMessage, answers: Sequence[ToolMessage], index: int
) -> Iterator[Message]:
    fields = _ReplyFields(generation_id=reply.id, from_agent=reply.name)
    reasoning = "".join(
        str(block.get("reasoning", ""))
        for block in reply.content_blocks
        if block["type"] == "reasoning"
    )
    if reasoning:
        yield ReasoningMessage(reasoning, **fields)
    if text := str(reply.text):
        yield TextMessage(text, role="assistant", **fields)
    calls = [
        ToolCall(call["id"] or f"call_{position}", call["name"], call["args"], "", position)
        for position, call in enumerate(reply.tool_calls)
    ]
    answered_ids = {answer.tool_call_id for answer in answers}
    errors = {call.id: error for call, error in invalid_calls(reply)}
    calls += [call for call, _ in invalid_calls(reply)]
    names = {call.id: call.name for call in calls}
    results = [
        ToolResult(call_id, names[call_id], error, error_code="invalid_arguments")
        for call_id, error in errors.items()
        if call_id not in answered_ids
    ]
    for position, answer in enumerate(answers, index + 1):
        call_id = answer.tool_call_id
        if call_id not in names:
            raise MessageError(
                f"message {position}: its call, {call_id!r}, must be in message {index}",
                position,
            )
        text = _result_text(answer)
        if (error := errors.get(call_id)) is not None and error not in text:
            # The result of LangChain's agents lacks the reason.
            text = f"{text}\n{error}"
        is_error = answer.status == "error"
        results.append(ToolResult(call_id, names[call_id], text, is_error=is_error))
    if calls:
        yield ToolAggregateMessage(calls, results, **fields)


def invalid_calls(reply: AIMessage) -> Iterator[tuple[ToolCall, str]]:
    """Yield the invalid calls of a reply with their errors.

    Repaired calls are skipped; in streams, their original form is among the invalid calls.
    """
    reasons = cast("Mapping[str, str]", reply.response_metadata.get(INVALID_CALLS) or {})
    valid = {call["id"] for call in reply.tool_calls}
    for position, call in enumerate(reply.invalid_tool_calls, len(reply.tool_calls)):
        call_id = call.get("id") or f"call_{position}"
        if call_id in valid:
            continue
        error = call.get("error") or reasons.get(call_id) or "the arguments are not valid JSON"
        written = call.get("args") or ""
        arguments = leading_object(written) or {}
        yield ToolCall(call_id, call.get("name") or "unknown", arguments, written, position), error


def _result_text(answer: ToolMessage) -> str:
    if isinstance(answer.content, str):
        return answer.content
    if all(isinstance(b, str) or b.get("type") == "text" for b in answer.content):
        return str(answer.text)
    # Results are text, so other content is kept as JSON.
    return json.dumps(answer.content, ensure_ascii=False, default=str)
