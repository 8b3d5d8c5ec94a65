"""Reading of transcripts as messages.

A transcript is JSON (a list of messages, an object with the member `messages`, such as a request,
or a message a line) or plain text: turns under headings that name the role, or one reply.
"""

from __future__ import annotations

import json
import re
from io import StringIO
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .._core import (
    TextMessage,
    ToolCallMessage,
    ToolResultMessage,
    from_anthropic,
    parse_history,
)
from .._messages import with_results
from ..exceptions import MessageError
from ..kinds import Role
from ..models._conversation import as_messages
from ._inputs import InputError, name_of, stream_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .._core import FunctionContract
    from .._messages import Message

FORMATS = ("natural", "openai", "anthropic")

_HEADING = re.compile(r"#{1,6}[ \t]+(system|user|assistant|tool)[ \t]*:?[ \t]*", re.IGNORECASE)
_ANTHROPIC_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})
_OPENAI_ROLES = frozenset({"tool", "developer"})


class TranscriptEntries(NamedTuple):
    """Messages of a file before conversion."""

    messages: list[Any]
    system: Any = None
    """System prompt, if it is separate from the messages."""


def read_transcript(path: str, form: str, tools: Sequence[FunctionContract] = ()) -> list[Message]:
    """Read the messages of a transcript.

    Args:
        path: The file, or `-`.
        form: One of `FORMATS`, or ``auto`` to detect the format.
        tools: The tools that natural text may call; any tool if empty.

    Raises:
        InputError: It cannot be read, or is invalid; the message has the position and what was
            expected.
    """
    text = "".join(stream_text(path)).removeprefix("\ufeff")
    is_json = text.lstrip()[:1] in ("{", "[")
    if not is_json and form not in ("auto", "natural"):
        raise InputError(
            f"{name_of(path)} is not JSON; a transcript in the format {form} is a list of messages"
        )
    entries = _entries(text, path) if is_json else TranscriptEntries(list(_turns(text, path)))
    if not entries.messages:
        raise InputError(f"{name_of(path)} has no messages")
    try:
        return _messages(entries, _format(entries) if form == "auto" else form, tools)
    except (MessageError, TypeError) as err:
        raise InputError(f"{name_of(path)}: {err}") from None


def _messages(
    entries: TranscriptEntries, form: str, tools: Sequence[FunctionContract]
) -> list[Message]:
    if form == "anthropic":
        return from_anthropic(entries.messages, system=entries.system)
    messages = as_messages(entries.messages)
    if isinstance(entries.system, str):
        messages.insert(0, TextMessage(entries.system, role=Role.SYSTEM))
    if form == "openai":
        return messages
    return merge_results(parse_history(mark_replies(messages), tools))


def _format(entries: TranscriptEntries) -> str:
    """Detect the format of the messages; those without native calls are natural text."""
    members = [cast("dict[str, Any]", each) for each in entries.messages if isinstance(each, dict)]
    if any("kind" in message for message in members):
        return "natural"
    if any(_type(block) in _ANTHROPIC_BLOCKS for message in members for block in _blocks(message)):
        return "anthropic"
    if any("tool_calls" in each or each.get("role") in _OPENAI_ROLES for each in members):
        return "openai"
    return "natural"


def _blocks(message: dict[str, Any]) -> list[object]:
    content: object = message.get("content")
    return cast("list[object]", content) if isinstance(content, list) else []


def _type(block: object) -> object:
    kind = cast("dict[str, Any]", block).get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else None


def _entries(text: str, path: str) -> TranscriptEntries:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as err:
        lines = [(at, line) for at, line in enumerate(_lines(text), 1) if line.strip()]
        if not _is_json(lines[0][1]):
            raise InputError(f"{name_of(path)} is not JSON: {err}") from None
        return TranscriptEntries([_line(line, at, path) for at, line in lines])
    if isinstance(data, list):
        return TranscriptEntries(data)
    members = cast("dict[str, Any]", data)
    if "role" in members or "kind" in members:
        return TranscriptEntries([members])
    messages = members.get("messages")
    if not isinstance(messages, list):
        raise InputError(
            f"{name_of(path)} is not a transcript; expected a list of messages, an object with the "
            'member "messages", or one message per line'
        )
    return TranscriptEntries(messages, members.get("system"))


def _lines(text: str) -> Iterator[str]:
    # Strings in JSON may contain other line separators.
    return iter(StringIO(text, newline="\n"))


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _line(line: str, number: int, path: str) -> object:
    where = f"{name_of(path)}, line {number}"
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError) as err:
        raise InputError(f"{where} is not JSON: {err}") from None
    if isinstance(data, dict) and "messages" in data:
        raise InputError(f"{where} is a whole conversation; expected one message a line")
    return cast("object", data)


def _turns(text: str, path: str) -> Iterator[TextMessage]:
    """Yield the turns of plain text; without headings it is one reply."""
    role: Role | None = None
    begun = 0
    lines: list[str] = []
    for number, line in enumerate(_lines(text), 1):
        heading = _HEADING.fullmatch(line.rstrip("\r\n"))
        if heading is None:
            lines.append(line)
            begun = begun or (number if line.strip() else 0)
            continue
        if role is None and begun:
            raise InputError(
                f"{name_of(path)}, line {begun}: text above the first heading (line {number}); "
                'expected a heading such as "## user" above it'
            )
        yield from _turn(lines, role)
        role, lines = Role(heading[1].lower()), []
    yield from _turn(lines, role or Role.ASSISTANT)


def _turn(lines: list[str], role: Role | None) -> Iterator[TextMessage]:
    text = "".join(lines).strip("\r\n")
    if role is not None and text.strip():
        yield TextMessage(text, role=role)


def mark_replies(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages in which every text of the assistant has its own generation id.

    The messages that are parsed from such a text then belong to one generation.

    Args:
        messages: A transcript.
    """
    number = count(1)
    for message in messages:
        is_reply = isinstance(message, TextMessage) and message.role is Role.ASSISTANT
        if is_reply and message.generation_id is None:
            yield message.__replace__(generation_id=f"imported_{next(number)}")
        else:
            yield message


def merge_results(messages: Iterable[Message]) -> list[Message]:
    """Return messages in which calls and the results that follow them are merged to aggregates.

    Args:
        messages: A history.
    """
    together: list[Message] = []
    for message in messages:
        last = together[-1] if together else None
        if isinstance(message, ToolResultMessage) and isinstance(last, ToolCallMessage):
            by_id = {result.tool_call_id: result for result in message.tool_results}
            answered = [by_id[call.id] for call in last.tool_calls if call.id in by_id]
            if len(answered) == len(message.tool_results):
                metadata = {**last.metadata, **message.metadata}
                together[-1] = with_results(last, last.tool_calls, answered, metadata)
                continue
        together.append(message)
    return together
