"""Conversations in LangChain's classes, both ways."""

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
from ..arguments import leading_object
from ..conversation import as_messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ... import Message
    from ...protocols import Messages

INVALID_CALLS = "invalid_tool_calls"
"""Where the response metadata of a reply says what is wrong with its invalid calls, by id."""


def to_langchain(messages: Messages) -> list[BaseMessage]:
    """Messages as LangChain's chat models take them.

    What one reply says becomes one `AIMessage`; the results of its calls follow. A call without a
    result, which the APIs behind those models refuse, is answered with a text that says so.
    Reasoning and usage are left out.

    Raises:
        MessageError: Something has no place in that form; says which message.
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
        # The only thing that OpenAI's form, which this goes through, cannot say.
        if isinstance(message, ToolMessage) and message.tool_call_id in failed:
            message.status = "error"
    return result


def from_langchain(messages: Iterable[BaseMessage]) -> list[Message]:
    """Messages from LangChain's.

    Calls and their results become aggregates. A call in `AIMessage.invalid_tool_calls` comes with
    a result that says what is wrong with it, unless a `ToolMessage` does. Content that is no text
    is kept in ``metadata["openai"]``, from which `to_langchain` and `to_openai` restore it.

    Raises:
        MessageError: Something cannot be said in ours; says which message.
        TypeError: Something is no message of LangChain's.
    """
    return list(_read(list(messages)))


def _read(messages: Sequence[BaseMessage]) -> Iterator[Message]:
    index = 0
    while index < len(messages):
        message = messages[index]
        index += 1
        if isinstance(message, AIMessage):
            answers: list[ToolMessage] = []
            while index < len(messages) and isinstance(answer := messages[index], ToolMessage):
                answers.append(answer)
                index += 1
            yield from _reply(message, answers, index - len(answers) - 1)
        elif isinstance(message, ToolMessage):
            raise MessageError(
                f"message {index - 1}: a tool message must follow the reply with its call, "
                f"{message.tool_call_id!r}",
                index - 1,
            )
        else:
            yield _said(message, index - 1)


class _ReplyFields(TypedDict):
    """Whose words the messages of a reply are."""

    generation_id: str | None
    from_agent: str | None


def _said(message: object, index: int) -> Message:
    match message:
        case SystemMessage():
            role = "system"
        case HumanMessage():
            role = "user"
        case ChatMessage(role=role):
            pass
        case BaseMessage():
            raise MessageError(f"message {index}: {message.type!r} messages are not known", index)
        case _:
            raise TypeError(
                f"message {index} must be a message of LangChain's, not {type(message).__name__}"
            )
    if isinstance(message.content, str):
        return TextMessage(message.content, role=role, id=message.id)
    try:
        (said,) = from_openai(convert_to_openai_messages([message]))
    except (MessageError, ValueError) as err:
        raise MessageError(f"message {index}: its content cannot be read: {err}", index) from err
    return said


def _reply(reply: AIMessage, answers: Sequence[ToolMessage], index: int) -> Iterator[Message]:
    told = _ReplyFields(generation_id=reply.id, from_agent=reply.name)
    reasoning = "".join(
        str(block.get("reasoning", ""))
        for block in reply.content_blocks
        if block["type"] == "reasoning"
    )
    if reasoning:
        yield ReasoningMessage(reasoning, **told)
    if text := str(reply.text):
        yield TextMessage(text, role="assistant", **told)
    calls = [
        ToolCall(call["id"] or f"call_{position}", call["name"], call["args"], "", position)
        for position, call in enumerate(reply.tool_calls)
    ]
    answered = {answer.tool_call_id for answer in answers}
    wrong = {call.id: what for call, what in invalid_calls(reply)}
    calls += [call for call, _ in invalid_calls(reply)]
    names = {call.id: call.name for call in calls}
    results = [
        ToolResult(call_id, names[call_id], what, error_code="invalid_arguments")
        for call_id, what in wrong.items()
        if call_id not in answered
    ]
    for position, answer in enumerate(answers, index + 1):
        call_id = answer.tool_call_id
        if call_id not in names:
            raise MessageError(
                f"message {position}: it answers a call, {call_id!r}, that message {index} "
                "does not make",
                position,
            )
        text = _answer(answer)
        if (what := wrong.get(call_id)) is not None and what not in text:
            # LangChain's agents only say that such a call could not be executed.
            text = f"{text}\n{what}"
        is_error = answer.status == "error"
        results.append(ToolResult(call_id, names[call_id], text, is_error=is_error))
    if calls:
        yield ToolAggregateMessage(calls, results, **told)


def invalid_calls(reply: AIMessage) -> Iterator[tuple[ToolCall, str]]:
    """The invalid calls of a reply, and what is wrong with each.

    One that was mended is not among them: in streams its first form stands beside the second.
    """
    reasons = cast("Mapping[str, str]", reply.response_metadata.get(INVALID_CALLS) or {})
    valid = {call["id"] for call in reply.tool_calls}
    for position, call in enumerate(reply.invalid_tool_calls, len(reply.tool_calls)):
        call_id = call.get("id") or f"call_{position}"
        if call_id in valid:
            continue
        what = call.get("error") or reasons.get(call_id) or "the arguments are not valid JSON"
        written = call.get("args") or ""
        arguments = leading_object(written) or {}
        yield ToolCall(call_id, call.get("name") or "unknown", arguments, written, position), what


def _answer(answer: ToolMessage) -> str:
    if isinstance(answer.content, str):
        return answer.content
    if all(isinstance(b, str) or b.get("type") == "text" for b in answer.content):
        return str(answer.text)
    # A result is text for our models; nothing of it may get lost on the way.
    return json.dumps(answer.content, ensure_ascii=False, default=str)
