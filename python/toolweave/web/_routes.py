"""The routes of chats."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from ._bodies import check_fields, flag_of, id_of, is_id, number_of, text_of
from ._errors import HttpError
from ._redaction import client_view, redact_line
from ._security import quota_key
from ._sse import one_line
from ._titles import titles
from ._user_chats import public_id

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    from ..store import Chat, MessageStore, StoredMessage
    from ._answers import AnswerResolver
    from ._bodies import BodyReader
    from ._channels import ChatChannels
    from ._limits import WebLimits
    from ._redaction import ErrorText
    from ._runs import ChatRuns
    from ._security import AccessControl
    from ._streams import EventStreams
    from ._submissions import MessageSubmitter
    from ._user_chats import UserChats

    Endpoint = Callable[[Request, "str | None", Chat], Awaitable[Response]]

_MAX_PAGE_SIZE = 1000


class ChatRoutes:
    """The routes of chats.

    Args:
        access: The access control.
        body_reader: The reader of request bodies.
        user_chats: The chats that users can access.
        store: The store that holds the chats.
        channels: The channels that publish events.
        runs: The runs of this process.
        submitter: The submitter of users' messages.
        resolver: The resolver of users' answers.
        streams: The factory of streams.
        limits: The limits of the server.
        error_text: The text that clients get for exceptions.
    """

    def __init__(
        self,
        access: AccessControl,
        body_reader: BodyReader,
        user_chats: UserChats,
        store: MessageStore,
        channels: ChatChannels,
        runs: ChatRuns,
        submitter: MessageSubmitter,
        resolver: AnswerResolver,
        streams: EventStreams,
        limits: WebLimits,
        error_text: ErrorText,
    ) -> None:
        self._access = access
        self._body_reader = body_reader
        self._user_chats = user_chats
        self._store = store
        self._channels = channels
        self._runs = runs
        self._submitter = submitter
        self._resolver = resolver
        self._streams = streams
        self._limits = limits
        self._error_text = error_text
        self._client_view = client_view(error_text)

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        chat_path = "/chats/{chat_id}"
        return [
            Route("/chats", self._list, methods=["GET"]),
            Route("/chats", self._create, methods=["POST"]),
            self._route(chat_path, self._show, "GET"),
            self._route(chat_path, self._delete, "DELETE"),
            self._route(f"{chat_path}/messages", self._messages, "GET"),
            self._route(f"{chat_path}/messages", self._submit, "POST"),
            self._route(f"{chat_path}/export", self._export, "GET"),
            self._route(f"{chat_path}/events", self._events, "GET"),
            self._route(f"{chat_path}/stream", self._stream, "GET"),
            self._route(f"{chat_path}/runs/{{run_id}}/stop", self._stop, "POST"),
            self._route(f"{chat_path}/answers/{{key:path}}", self._answer, "POST"),
        ]

    def _route(self, path: str, serve: Endpoint, method: str) -> Route:
        """Return a route of one chat, which only its user can access."""

        async def endpoint(request: Request) -> Response:
            user = await self._access.authenticate(request)
            chat = await self._user_chats.find(request.path_params["chat_id"], user)
            return await serve(request, user, chat)

        return Route(path, endpoint, methods=[method])

    # Chats.

    async def _list(self, request: Request) -> Response:
        user = await self._access.authenticate(request)
        limit = number_of(
            request.query_params.get("limit", "100"), "`limit`", largest=_MAX_PAGE_SIZE
        )
        before = request.query_params.get("before")
        if before is not None:
            before = (await self._user_chats.find(before, user)).chat_id
        chats = await self._store.chats(user_id=user, limit=limit, before=before)
        chat_titles = await titles(self._store, chats)
        return JSONResponse({"chats": [_chat_fields(chat, chat_titles) for chat in chats]})

    async def _create(self, request: Request) -> Response:
        user = await self._access.authenticate(request)
        body = await self._body_reader.json(request, user)
        check_fields(body, "chatId", "metadata")
        metadata: object = body.get("metadata", {})
        if not isinstance(metadata, dict):
            raise HttpError(400, "wrong_type", "`metadata` must be an object.")
        chat_id = id_of(body, "chatId")
        limit = self._limits.max_metadata_bytes
        if len(json.dumps(metadata, ensure_ascii=False).encode()) > limit:
            raise HttpError(413, "too_long", f"`metadata` must have at most {limit} bytes.")
        chat = await self._user_chats.create(chat_id, user, cast("dict[str, Any]", metadata))
        known = public_id(chat.chat_id)
        return JSONResponse(
            {"chatId": known},
            status_code=201,
            headers={"Location": f"{request.url.path}/{known}"},
        )

    async def _show(self, _: Request, __: str | None, chat: Chat) -> Response:
        run = await self._store.active_run(chat.chat_id)
        pending = await self._store.pending(chat.chat_id)
        chat_titles = await titles(self._store, [chat])
        return JSONResponse(
            {
                **_chat_fields(chat, chat_titles),
                **({} if run is None else {"runId": run.run_id}),
                "pending": [
                    {
                        "key": each.key,
                        "kind": each.kind,
                        **({} if each.problem is None else {"problem": each.problem}),
                    }
                    for each in pending
                ],
            }
        )

    async def _delete(self, _: Request, __: str | None, chat: Chat) -> Response:
        if await self._store.active_run(chat.chat_id) is not None:
            raise HttpError(409, "chat_busy", "A run is active in this chat: stop it first.")
        await self._store.delete_chat(chat.chat_id)
        await self._runs.forget(chat.chat_id)
        self._channels.end(chat.chat_id)
        return Response(status_code=204)

    async def _export(self, _: Request, __: str | None, chat: Chat) -> Response:
        lines = self._store.export_chat(chat.chat_id)
        stored, known = (json.dumps(each) for each in (chat.chat_id, public_id(chat.chat_id)))

        def written(line: str) -> str:
            line = redact_line(line) if self._error_text == "reference" else line
            return f"{one_line(line.replace(stored, known))}\n"

        return StreamingResponse(
            (written(line) async for line in lines),
            media_type="application/x-ndjson",
            headers={"Content-Disposition": 'attachment; filename="chat.jsonl"'},
        )

    # Messages, runs and answers.

    async def _messages(self, request: Request, _: str | None, chat: Chat) -> Response:
        after = number_of(request.query_params.get("after", "0"), "`after`")
        limit = number_of(
            request.query_params.get("limit", "100"), "`limit`", largest=_MAX_PAGE_SIZE
        )
        history = await self._store.load(chat.chat_id, after=after, limit=limit)
        return JSONResponse(
            {"messages": [self._message_fields(stored) for stored in history.stored]}
        )

    def _message_fields(self, stored: StoredMessage) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "messageId": stored.message_id,
            "sequenceNumber": stored.sequence_number,
            "timestampUtc": _milliseconds(stored.timestamp.timestamp()),
            "message": self._client_view(stored.message.to_dict()),
        }
        if stored.run_id is not None:
            fields["runId"] = stored.run_id
        return fields

    async def _submit(self, request: Request, user: str | None, chat: Chat) -> Response:
        body = await self._body_reader.json(request, user)
        check_fields(body, "text", "messageId")
        text = text_of(body, "text", required=bool(body), limit=self._limits.max_message_bytes)
        submission = await self._submitter.submit(
            chat.chat_id, text, id_of(body, "messageId"), user, quota_key=quota_key(request, user)
        )
        answer: dict[str, Any] = {
            "chatId": public_id(chat.chat_id),
            "runId": submission.run_id,
            "sequenceNumber": submission.sequence_number,
        }
        if submission.message_id is not None:
            answer["messageId"] = submission.message_id
        return JSONResponse(answer, status_code=202)

    async def _stop(self, request: Request, user: str | None, chat: Chat) -> Response:
        await self._body_reader.json(request, user)
        run_id: str = request.path_params["run_id"]
        run = await self._store.run(run_id) if is_id(run_id) else None
        if run is None or run.chat_id != chat.chat_id:
            raise HttpError(404, "unknown_run", "There is no such run in this chat.")
        stopping = await self._runs.stop(run_id)
        return JSONResponse({"runId": run_id, "stopping": stopping}, status_code=202)

    async def _answer(self, request: Request, user: str | None, chat: Chat) -> Response:
        body = await self._body_reader.json(request, user)
        key: str = request.path_params["key"]
        kind = await self._resolver.pending_kind(chat.chat_id, key) if _is_valid_key(key) else None
        if kind == "approval" or (kind is None and "approved" in body):
            check_fields(body, "approved", "reason")
            reason = text_of(body, "reason", required=False)
            value: object = {"approved": flag_of(body, "approved")}
            if reason is not None:
                value = {**value, "reason": reason}  # type: ignore[dict-item]
            is_error = False
        else:
            check_fields(body, "result", "isError")
            if "result" not in body:
                raise HttpError(400, "wrong_type", "`result` is required.")
            value, is_error = body["result"], flag_of(body, "isError", default=False)
        if not _is_valid_key(key):
            return _outcome("not_found")
        resolved = await self._resolver.resolve(
            chat.chat_id, key, value, is_error=is_error, user_id=user
        )
        return _outcome(resolved.outcome.value)

    # Streams.

    async def _events(self, request: Request, user: str | None, chat: Chat) -> Response:
        return await self._streams.events_response(request, chat.chat_id, user)

    async def _stream(self, request: Request, user: str | None, chat: Chat) -> Response:
        return await self._streams.active_run_response(request, chat.chat_id, user)


def _chat_fields(chat: Chat, chat_titles: Mapping[str, str]) -> dict[str, Any]:
    fields = {
        "chatId": public_id(chat.chat_id),
        "createdUtc": _milliseconds(chat.created.timestamp()),
        "updatedUtc": _milliseconds(chat.updated.timestamp()),
        "lastSequenceNumber": chat.last_event,
        "metadata": chat.metadata,
    }
    if chat.chat_id in chat_titles:
        fields["title"] = chat_titles[chat.chat_id]
    return fields


def _outcome(name: str) -> Response:
    status = {"not_found": 404, "conflict": 409}.get(name, 200)
    return JSONResponse({"outcome": name}, status_code=status)


def _is_valid_key(key: str) -> bool:
    """Return True if a text can be the key of an answer; tools choose their keys freely."""
    return 0 < len(key) <= 255 and key.isprintable()


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
