"""The operations: each a method of a path, with its parameters, its body and its responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..encoders._ai_sdk import AI_SDK_VERSIONS
from ..encoders._requests import VERSION_HEADER
from ._error_replies import (
    ACCESS,
    BODY,
    CHANGES,
    CHAT,
    CHAT_BUSY,
    FIELDS,
    FULL,
    ID_TAKEN,
    INVALID,
    NOT_FOUND,
    NOTHING_WAITS,
    RUN,
    STREAM,
    TOO_MANY_CHATS,
    UNKNOWN_RUN,
    WRONG_ID,
    WRONG_NUMBER,
)
from ._schemas import FLAG, ID, SEQUENCE_NUMBER, TEXT, Fields, event_of, list_of, record, ref

if TYPE_CHECKING:
    from ._error_replies import ErrorReply

JSON, EVENT_STREAM = "application/json", "text/event-stream"

MAX_PAGE_SIZE = 1000
"""Maximum number of chats or messages in a response."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A response that is not an error."""

    description: str
    """Meaning of the response."""
    schema: Fields | None = None
    """Schema of the body; None if there is none."""
    content_type: str = JSON
    """Content type of the body."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Descriptions of headers, by name."""
    links: Mapping[str, Fields] = field(default_factory=dict[str, Fields])
    """Operations that can follow, with their parameters, by the id of the operation."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A method of a path."""

    operation_id: str
    """Id of the operation, unique in the document."""
    method: str
    """HTTP method."""
    path: str
    """Path in the form of Starlette."""
    tag: str
    """Group of the operation."""
    summary: str
    """One sentence."""
    description: str = ""
    """Further information."""
    parameters: tuple[Fields, ...] = ()
    """Parameters in the query string and in headers."""
    body: Fields | None = None
    """Schema of the body; None if there is none."""
    replies: Mapping[int, Reply]
    """Responses, by status."""
    errors: tuple[ErrorReply, ...] = ()
    """Errors, in addition to those of access and bodies."""
    accepts_unknown_chat: bool = False
    """True if a chat that does not exist is not an error."""
    is_public: bool = False
    """True if the operation needs no authentication, and does not use the store."""

    @property
    def streams(self) -> bool:
        """True if the response is a stream of events."""
        return any(each.content_type == EVENT_STREAM for each in self.replies.values())

    def all_errors(self) -> tuple[ErrorReply, ...]:
        """Return the errors that the operation can respond with, without those of users."""
        if self.is_public:
            return self.errors
        return (
            *(CHAT if "{chat_id}" in self.path and not self.accepts_unknown_chat else ()),
            *(CHANGES if self.method != "GET" else ()),
            *(BODY if self.body is not None else ()),
            *self.errors,
            *ACCESS,
        )


def _query(name: str, description: str, schema: Fields) -> Fields:
    return {"name": name, "in": "query", "description": description, "schema": schema}


def _header(name: str, description: str, schema: Fields) -> Fields:
    return {"name": name, "in": "header", "description": description, "schema": schema}


def _chat_link(description: str, **parameters: str) -> Fields:
    return {"description": description, "parameters": parameters}


def _error_of_answer(description: str) -> Reply:
    return Reply(description=description, schema={"anyOf": [ref("AnswerOutcome"), ref("Error")]})


_LIMIT = _query(
    "limit",
    "Maximum number of items.",
    {"type": "integer", "minimum": 0, "maximum": MAX_PAGE_SIZE, "default": 100},
)
_AFTER = _query(
    "after",
    "Sequence number of the last one that the client has.",
    {**SEQUENCE_NUMBER, "default": 0},
)
_FOLLOW = _query(
    "follow", "1 to keep the stream open for further runs.", {"type": "integer", "enum": [0, 1]}
)
_LAST_EVENT_ID = _header(
    "Last-Event-ID",
    "Sequence number of the last event that the client has, as browsers send it when they "
    "reconnect. It takes precedence over `after`.",
    SEQUENCE_NUMBER,
)
_FORMAT = _query("format", "The format of the events.", {"type": "string", "default": "native"})
_VERSION = _header(
    VERSION_HEADER,
    "Major version of the client's `ai` package; the oldest if it is absent.",
    {"type": "integer", "enum": list(AI_SDK_VERSIONS)},
)
_NOTHING = Reply(description="No run is active, and the client has all events.")
_NO_RUN = Reply(description="No run is active in the chat, or there is no such chat.")
_NEW_EVENTS = {"readEvents": _chat_link("Read the events.", chat_id="$request.path.chat_id")}


def _stream(description: str, data: Fields, **headers: str) -> Reply:
    """Return the response that is a stream of server-sent events."""
    return Reply(
        description=description,
        content_type=EVENT_STREAM,
        schema=event_of(data),
        headers=headers,
    )


_STREAM_EVENT: Fields = {"contentMediaType": JSON, "contentSchema": ref("StreamEvent")}
_AG_UI_EVENT: Fields = {
    "contentMediaType": JSON,
    "contentSchema": {"type": "object", "required": ["type"]},
}
_AI_SDK_STREAM = _stream(
    "The UI message stream of the AI SDK.",
    {"description": "A chunk as JSON, or `[DONE]` at the end."},
    **{"X-Vercel-AI-UI-Message-Stream": "Version of the stream protocol."},
)

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        operation_id="listChats",
        method="GET",
        path="/chats",
        tag="Chats",
        summary="List the user's chats, newest first.",
        parameters=(_LIMIT, _query("before", "List the chats after this one.", TEXT)),
        replies={
            200: Reply(description="The chats.", schema=record(chats=list_of(ref("Chat")))),
        },
        errors=(WRONG_NUMBER, *CHAT),
    ),
    Operation(
        operation_id="createChat",
        method="POST",
        path="/chats",
        tag="Chats",
        summary="Create a chat.",
        body=ref("NewChat"),
        replies={
            201: Reply(
                description="The chat was created.",
                schema=record(chatId=ID),
                headers={"Location": "Path of the chat."},
                links={
                    name: _chat_link("With the new chat.", chat_id="$response.body#/chatId")
                    for name in ("showChat", "sendMessage", "readMessages", "deleteChat")
                },
            )
        },
        errors=(*FIELDS, WRONG_ID, ID_TAKEN, TOO_MANY_CHATS),
    ),
    Operation(
        operation_id="showChat",
        method="GET",
        path="/chats/{chat_id}",
        tag="Chats",
        summary="Return a chat, with its active run and the inputs that it waits for.",
        replies={
            200: Reply(
                description="The chat.",
                schema=ref("ChatState"),
                links={
                    "answer": _chat_link(
                        "Answer the first input that it waits for.",
                        chat_id="$request.path.chat_id",
                        key="$response.body#/pending/0/key",
                    )
                },
            )
        },
    ),
    Operation(
        operation_id="deleteChat",
        method="DELETE",
        path="/chats/{chat_id}",
        tag="Chats",
        summary="Delete a chat in which no run is active.",
        replies={204: Reply(description="The chat was deleted.")},
        errors=(CHAT_BUSY,),
    ),
    Operation(
        operation_id="exportChat",
        method="GET",
        path="/chats/{chat_id}/export",
        tag="Chats",
        summary="Export a chat as lines of JSON.",
        description="Each line is an `ExportLine`, the first of which is the chat.",
        replies={
            200: Reply(
                description="The lines.",
                content_type="application/x-ndjson",
                schema={"type": "string"},
                headers={"Content-Disposition": "A file name."},
            )
        },
    ),
    Operation(
        operation_id="readMessages",
        method="GET",
        path="/chats/{chat_id}/messages",
        tag="Messages",
        summary="Return the messages of a chat, oldest first.",
        parameters=(_AFTER, _LIMIT),
        replies={
            200: Reply(
                description="The messages.",
                schema=record(messages=list_of(ref("StoredMessage"))),
            )
        },
        errors=(WRONG_NUMBER,),
    ),
    Operation(
        operation_id="sendMessage",
        method="POST",
        path="/chats/{chat_id}/messages",
        tag="Messages",
        summary="Send a message, which starts a run.",
        body=ref("NewMessage"),
        replies={
            202: Reply(
                description="The run has started; read its events.",
                schema=ref("MessageReceipt"),
                links={
                    **_NEW_EVENTS,
                    "stopRun": _chat_link(
                        "Stop the run.",
                        chat_id="$request.path.chat_id",
                        run_id="$response.body#/runId",
                    ),
                },
            )
        },
        errors=(*FIELDS, *RUN),
    ),
    Operation(
        operation_id="readEvents",
        method="GET",
        path="/chats/{chat_id}/events",
        tag="Events",
        summary="Stream the events of a chat after the last one that the client has.",
        description="In the native format, the data of each event is a `StreamEvent`. Other "
        "formats stream one run: the active one, or else the first that the client has not read. "
        "The stream ends when no run is active, unless `follow` is 1.",
        parameters=(_AFTER, _LAST_EVENT_ID, _FOLLOW, _FORMAT),
        replies={
            200: _stream(
                "The events.",
                {
                    "anyOf": [
                        {"description": "In the native format.", **_STREAM_EVENT},
                        {"description": "In another format, as its clients define it."},
                    ]
                },
            ),
            204: _NOTHING,
        },
        errors=STREAM,
    ),
    Operation(
        operation_id="readActiveRun",
        method="GET",
        path="/chats/{chat_id}/stream",
        tag="Events",
        summary="Stream the active run from its start, for `useChat`.",
        parameters=(_VERSION,),
        replies={200: _AI_SDK_STREAM, 204: _NO_RUN},
        errors=(WRONG_ID, INVALID, FULL),
        accepts_unknown_chat=True,
    ),
    Operation(
        operation_id="stopRun",
        method="POST",
        path="/chats/{chat_id}/runs/{run_id}/stop",
        tag="Messages",
        summary="Stop a run.",
        body=ref("Empty"),
        replies={
            202: Reply(
                description="The run is stopping, or has ended before.",
                schema=record(runId=TEXT, stopping={**FLAG, "description": "True if it ran."}),
            )
        },
        errors=(UNKNOWN_RUN,),
    ),
    Operation(
        operation_id="answer",
        method="POST",
        path="/chats/{chat_id}/answers/{key:path}",
        tag="Messages",
        summary="Answer an approval, a question or a deferred result.",
        body=ref("Answer"),
        replies={
            200: Reply(
                description="The answer was accepted, or was given before.",
                schema=ref("AnswerOutcome"),
            ),
            404: _error_of_answer("Nothing waits for this key, or there is no such chat."),
            409: _error_of_answer("A different answer was given before."),
        },
        errors=(*FIELDS, INVALID),
    ),
    Operation(
        operation_id="aiSdkChat",
        method="POST",
        path="/ai-sdk/chat",
        tag="Other clients",
        summary="Take the request of `useChat`, and stream its run.",
        parameters=(_VERSION,),
        body=ref("AiSdkRequest"),
        replies={200: _AI_SDK_STREAM},
        errors=(*CHAT, *RUN, INVALID, NOTHING_WAITS, TOO_MANY_CHATS),
    ),
    Operation(
        operation_id="aiSdkResume",
        method="GET",
        path="/ai-sdk/chat/{chat_id}/stream",
        tag="Other clients",
        summary="Stream the active run from its start, at the path that `useChat` requests.",
        parameters=(_VERSION,),
        replies={200: _AI_SDK_STREAM, 204: _NO_RUN},
        errors=(WRONG_ID, INVALID, FULL),
        accepts_unknown_chat=True,
    ),
    Operation(
        operation_id="agUi",
        method="POST",
        path="/ag-ui",
        tag="Other clients",
        summary="Take the request of an AG-UI client, and stream its run.",
        body=ref("AgUiRequest"),
        replies={200: _stream("The events of AG-UI.", _AG_UI_EVENT)},
        errors=(*CHAT, *RUN, INVALID, NOTHING_WAITS, TOO_MANY_CHATS),
    ),
    Operation(
        operation_id="health",
        method="GET",
        path="/healthz",
        tag="Server",
        summary="Respond while the server is up.",
        replies={200: Reply(description="It is up.", schema=record(status={"const": "ok"}))},
        is_public=True,
    ),
    Operation(
        operation_id="openApi",
        method="GET",
        path="/openapi.json",
        tag="Server",
        summary="Return this document.",
        replies={200: Reply(description="The document.", schema={"type": "object"})},
        is_public=True,
    ),
)
"""The operations of every server."""


def _file(description: str, content_type: str) -> Reply:
    return Reply(description=description, content_type=content_type, schema={"type": "string"})


_UNCHANGED = Reply(description="The client has the current version.")

PAGE_OPERATIONS: tuple[Operation, ...] = (
    Operation(
        operation_id="page",
        method="GET",
        path="/",
        tag="Page",
        summary="Return the page.",
        replies={200: _file("The page.", "text/html")},
        is_public=True,
    ),
    Operation(
        operation_id="pageSettings",
        method="GET",
        path="/playground.json",
        tag="Page",
        summary="Return the settings of the page.",
        replies={200: Reply(description="The settings.", schema=ref("PageSettings"))},
        is_public=True,
    ),
    Operation(
        operation_id="pageLogo",
        method="GET",
        path="/logo",
        tag="Page",
        summary="Return the logo of the page.",
        replies={200: _file("The image.", "image/*"), 304: _UNCHANGED},
        errors=(NOT_FOUND,),
        is_public=True,
    ),
    Operation(
        operation_id="pageFile",
        method="GET",
        path="/assets/{path:path}",
        tag="Page",
        summary="Return a file of the page.",
        replies={200: _file("The file.", "*/*"), 304: _UNCHANGED},
        errors=(NOT_FOUND,),
        is_public=True,
    ),
)
"""The operations of a server with a page."""
