"""The schemas of the document: those of stream events are generated from the core's types."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_args

from ..._core import _stream_event_schema
from ...kinds import Outcome, Role
from ...store._records import PendingKind
from .._bodies import ID_PATTERN, LARGEST_NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Fields: TypeAlias = "dict[str, Any]"
"""A part of the document."""

TEXT: Fields = {"type": "string"}
FLAG: Fields = {"type": "boolean"}
ID: Fields = {"type": "string", "pattern": f"^{ID_PATTERN}$", "not": {"enum": [".", ".."]}}
"""An id that a client may choose."""
_ID_OR_NULL: Fields = {"anyOf": [ID, {"type": "null"}]}
SEQUENCE_NUMBER: Fields = {"type": "integer", "minimum": 0, "maximum": LARGEST_NUMBER}
_TIME: Fields = {**SEQUENCE_NUMBER, "description": "Milliseconds since 1970."}
_DEFINITIONS, _COMPONENTS = "#/$defs/", "#/components/schemas/"


def ref(name: str) -> Fields:
    """Return the reference to a schema of the document."""
    return {"$ref": f"{_COMPONENTS}{name}"}


def event_of(data: Fields) -> Fields:
    """Return the schema of each server-sent event of a stream."""
    return {
        "description": "Each server-sent event. Comments keep the connection alive, and `retry` "
        "is the reconnection delay.",
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The sequence number to resume after."},
            "data": {"type": "string", **data},
        },
        "required": ["data"],
    }


def list_of(items: Fields, **more: object) -> Fields:
    """Return the schema of an array."""
    return {"type": "array", "items": items, **more}


def record(
    description: str = "", /, *, optional: Mapping[str, Fields] | None = None, **required: Fields
) -> Fields:
    """Return the schema of an object without other fields."""
    fields: Fields = {} if not description else {"description": description}
    fields |= {"type": "object", "properties": {**required, **(optional or {})}}
    if required:
        fields["required"] = list(required)
    return {**fields, "additionalProperties": False}


def schemas() -> Fields:
    """Return the schemas of the document, by name."""
    return {**_event_schemas(), **_message_schemas(), **_CHATS, **_REQUESTS, **_CLIENT_REQUESTS}


_CHAT_FIELDS: Fields = {
    "chatId": TEXT,
    "createdUtc": _TIME,
    "updatedUtc": _TIME,
    "lastSequenceNumber": {**SEQUENCE_NUMBER, "description": "That of its last event."},
    "metadata": {"type": "object", "description": "As the client has set it."},
}
_TITLE: Fields = {
    "type": "string",
    "description": "The title in the metadata, or else the beginning of the first message.",
}

_CHATS: Fields = {
    "Error": record(
        "An error of a request.",
        error=record(
            code={"type": "string", "description": "For programs."},
            message={"type": "string", "description": "For people: a sentence."},
        ),
    ),
    "Chat": record("A chat.", optional={"title": _TITLE}, **_CHAT_FIELDS),
    "ChatState": record(
        "A chat, and what it waits for.",
        optional={"title": _TITLE, "runId": {**TEXT, "description": "Id of the active run."}},
        **_CHAT_FIELDS,
        pending=list_of(ref("PendingInput")),
    ),
    "PendingInput": record(
        "An input that a chat waits for.",
        key={**TEXT, "description": "The key to answer."},
        kind={"enum": list(get_args(PendingKind))},
        optional={"problem": {**TEXT, "description": "Why the row cannot be read, if it cannot."}},
    ),
    "StoredMessage": record(
        "A message with its position in the chat.",
        messageId=TEXT,
        sequenceNumber=SEQUENCE_NUMBER,
        timestampUtc=_TIME,
        message=ref("Message"),
        optional={"runId": TEXT},
    ),
    "MessageReceipt": record(
        "The run that answers a message.",
        chatId=TEXT,
        runId=TEXT,
        sequenceNumber={
            **SEQUENCE_NUMBER,
            "description": "That of the first event of the run; read the events after it, less 1.",
        },
        optional={"messageId": {**TEXT, "description": "Absent if there was no new message."}},
    ),
    "AnswerOutcome": record(
        "The outcome of an answer: only the first answer to a key counts.",
        outcome={"enum": [each.value for each in Outcome]},
    ),
    "ExportLine": {
        "description": "A line of an export: a chat, or a row of it.",
        "type": "object",
        "properties": {
            "type": {"enum": ["chat", "message", "event", "run", "tool_call", "pending_result"]}
        },
        "required": ["type"],
    },
    "PageSettings": {
        "description": "The settings of the page.",
        "type": "object",
        "properties": {
            "title": TEXT,
            "headline": TEXT,
            "intro": TEXT,
            "placeholder": TEXT,
            "suggestions": list_of(record(label=TEXT, text=TEXT)),
            "links": list_of(record(label=TEXT, url=TEXT)),
            "hasLogo": {**FLAG, "description": "True if `/logo` is the logo of the page."},
            "pendingTimeout": {"type": "integer", "minimum": 0, "description": "Milliseconds."},
        },
        "required": ["title", "suggestions", "pendingTimeout"],
    },
}

# U+0000 is refused in every text. The limits on lengths are in bytes, so they are not here.
_PLAIN_TEXT: Fields = {"type": ["string", "null"], "pattern": "^[^\\u0000]*$"}
_MESSAGE_TEXT: Fields = {"type": "string", "pattern": "^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$"}

_REQUESTS: Fields = {
    "NewChat": record(
        optional={
            "chatId": {
                **_ID_OR_NULL,
                "description": "The id to give it; a random one if it is absent.",
            },
            "metadata": {"type": "object"},
        }
    ),
    "NewMessage": {
        "description": "A message, or an empty object to continue from the history.",
        "anyOf": [
            record(
                text=_MESSAGE_TEXT,
                optional={
                    "messageId": {
                        **_ID_OR_NULL,
                        "description": "The same message with the same id is accepted once, "
                        "however often it is sent.",
                    }
                },
            ),
            {"type": "object", "maxProperties": 0},
        ],
    },
    "Empty": {"type": "object", "description": "Any object; its fields are ignored."},
    "Answer": {
        "oneOf": [
            record(
                "A decision about a call that needs approval.",
                approved=FLAG,
                optional={"reason": _PLAIN_TEXT},
            ),
            record(
                "The answer to a question, or a deferred result.",
                result={"description": "Any JSON value; that of a question fits its schema."},
                optional={"isError": {**FLAG, "default": False}},
            ),
        ]
    },
}

_CLIENT_ID: Fields = {"type": "string", "minLength": 1, "maxLength": 200}


def _open_record(description: str, /, **required: Fields) -> Fields:
    """Return the schema of an object of another protocol, which may have other fields."""
    return {
        "description": description,
        "type": "object",
        "properties": required,
        "required": list(required),
    }


_CLIENT_REQUESTS: Fields = {
    "AiSdkRequest": {
        "description": "The request of `DefaultChatTransport`. Only the last message counts: a new "
        "one of the user, or the assistant's with answers to approvals.",
        "type": "object",
        "properties": {
            "id": {**ID, "description": "Id of the chat, which is created if necessary."},
            "messages": list_of(ref("UiMessage"), minItems=1, maxItems=20_000),
            "trigger": {"const": "submit-message"},
            "messageId": {"type": "null"},
        },
        "required": ["id", "messages"],
    },
    "UiMessage": _open_record(
        "A `UIMessage` of the AI SDK.",
        id=ID,
        role={"enum": ["user", "assistant"]},
        parts=list_of({"anyOf": [ref("UiTextPart"), ref("UiApprovalPart")]}, minItems=1),
    ),
    "UiTextPart": _open_record("Text.", type={"const": "text"}, text=_MESSAGE_TEXT),
    "UiApprovalPart": _open_record(
        "A call whose approval was decided, in a message of the assistant.",
        type=TEXT,
        state={"const": "approval-responded"},
        approval=_open_record("The decision.", id=_CLIENT_ID, approved=FLAG),
    ),
    "AgUiRequest": {
        **_open_record(
            "A `RunAgentInput`. Only the last message, if it is the user's, and `resume` count.",
            threadId={**ID, "description": "Id of the chat, which is created if necessary."},
            runId=_CLIENT_ID,
            messages=list_of(ref("AgUiMessage"), maxItems=20_000),
        ),
    },
    "AgUiMessage": _open_record(
        "A message of AG-UI.",
        id=ID,
        role={"enum": ["user", "assistant", "tool", "system", "developer"]},
        content=_MESSAGE_TEXT,
    ),
}


def _event_schemas() -> Fields:
    """Return the schemas of stream events, with `StreamEvent` as the union of them."""
    whole: Fields = json.loads(_stream_event_schema)
    definitions: Fields = whole.pop("$defs")
    event = {name: whole[name] for name in ("description", "oneOf")}
    return cast("Fields", _as_components({"StreamEvent": event, **definitions}))


def _as_components(value: object) -> object:
    """Return a schema with its references to definitions as references to components."""
    if isinstance(value, dict):
        fields = cast("Fields", value)
        return {name: _as_components(each) for name, each in fields.items()}
    if isinstance(value, list):
        return [_as_components(each) for each in cast("list[object]", value)]
    if isinstance(value, str) and value.startswith(_DEFINITIONS):
        return f"{_COMPONENTS}{value.removeprefix(_DEFINITIONS)}"
    return value


def _message_schemas() -> Fields:
    """Return the schemas of messages, as `to_dict` writes them."""
    kinds = dict(_kinds())
    names = {kind: f"{kind.title().replace('_', '')}Message" for kind in kinds}
    unknown: Fields = {
        "description": "A message of a kind that this version does not know.",
        "type": "object",
        "properties": {"kind": {"type": "string", "not": {"enum": list(kinds)}}},
        "required": ["kind"],
    }
    return {
        "Message": {
            "description": "A message of a history.",
            "oneOf": [*map(ref, names.values()), ref("UnknownMessage")],
        },
        **{names[kind]: _message(kind, content) for kind, content in kinds.items()},
        "UnknownMessage": unknown,
    }


def _kinds() -> Iterator[tuple[str, Fields]]:
    calls, results = list_of(ref("ToolCall")), list_of(ref("ToolResult"))
    count: Fields = {"type": "integer", "minimum": 0}
    yield "text", {"text": TEXT}
    yield "reasoning", {"text": TEXT}
    yield "tools_call", {"toolCalls": calls}
    yield "tool_result", {"toolResults": results}
    yield "tools_aggregate", {"toolCalls": calls, "toolResults": results}
    yield (
        "usage",
        {"inputTokens": count, "outputTokens": count, "cachedInputTokens": count},
    )


def _message(kind: str, content: Fields) -> Fields:
    optional: Fields = {
        **dict.fromkeys(("messageId", "chatId", "runId", "generationId", "fromAgent"), TEXT),
        "metadata": {"type": "object"},
    }
    return {
        "type": "object",
        "properties": {
            "kind": {"const": kind},
            "role": {"enum": [each.value for each in Role]},
            **content,
            **optional,
        },
        "required": ["kind", "role", *content],
    }
