"""The handlers of chats, for toolweave's own clients and for those of AG-UI and of the AI SDK."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from starlette.responses import JSONResponse, Response, StreamingResponse

from ..kinds import Outcome
from ..natural._output import is_hidden
from ._bodies import BodyReader, check_fields, flag_of, id_of, is_id, number_of, text_of
from ._channels import ChatChannels
from ._errors import HttpError
from ._input import UserInput, decision
from ._openapi._operations import MAX_PAGE_SIZE
from ._redaction import client_view, redact_line
from ._runs import ChatRuns
from ._sse import one_line
from ._streams import EventStreams
from ._user_chats import UserChats, public_id, titles
from .encoders._ag_ui import AgUiEncoder
from .encoders._ai_sdk import AiSdkEncoder
from .encoders._requests import (
    VERSION_HEADER,
    read_ag_ui_request,
    read_ai_sdk_request,
    read_ai_sdk_version,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from starlette.requests import Request

    from ..store import Chat, MessageStore, RunRecord, StoredMessage
    from ._input import AnswerOutcome
    from ._limits import WebLimits
    from ._openapi import Handler
    from ._redaction import ErrorText
    from ._responders import Responder
    from ._security import AccessControl, Client
    from ._streams import Encoders
    from .encoders._requests import ClientRequest, SubmittedAnswer

    ChatHandler = Callable[[Request, Client, Chat], Awaitable[Response]]

_MAX_ANSWERS = 100


class ChatHandlers:
    """The handlers of the operations on chats.

    Args:
        store: The store that holds the chats.
        responder: The responder that answers messages.
        access: The access control.
        limits: The limits of the server.
        encoders: Factories of encoders, by format, in addition to the native format.
        error_text: The text that clients get for exceptions.
    """

    def __init__(
        self,
        store: MessageStore,
        responder: Responder,
        access: AccessControl,
        limits: WebLimits,
        encoders: Encoders,
        error_text: ErrorText,
    ) -> None:
        self._store = store
        self._access = access
        self._limits = limits
        self._error_text = error_text
        self._client_view = client_view(error_text)
        self._body_reader = BodyReader(access, limits)
        self._user_chats = UserChats(store, limits)
        channels = ChatChannels(store, limits, self._client_view)
        self._runs = ChatRuns(store, channels, responder, limits)
        self._input = UserInput(store, self._runs, limits)
        self._streams = EventStreams(store, channels, encoders, limits)

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncGenerator[None, None]:
        """Open the store and start the background tasks; end all runs, and close the store."""
        async with self._store:
            await self._runs.open()
            try:
                yield
            finally:
                await self._runs.close()

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers of the operations, by id."""
        return {
            "listChats": self._list,
            "createChat": self._create,
            "showChat": self._of_chat(self._show),
            "deleteChat": self._of_chat(self._delete),
            "exportChat": self._of_chat(self._export),
            "readMessages": self._of_chat(self._messages),
            "sendMessage": self._of_chat(self._submit),
            "readEvents": self._of_chat(self._streams.events_response),
            "readActiveRun": self._resume,
            "stopRun": self._of_chat(self._stop),
            "answer": self._of_chat(self._answer),
            "aiSdkChat": self._ai_sdk,
            "aiSdkResume": self._resume,
            "agUi": self._ag_ui,
        }

    def _of_chat(self, serve: ChatHandler) -> Handler:
        """Return the handler of an operation on one chat, which only its user can access."""

        async def handler(request: Request) -> Response:
            client = await self._access.authenticate(request)
            chat = await self._user_chats.find(request.path_params["chat_id"], client.user_id)
            return await serve(request, client, chat)

        return handler

    # Chats.

    async def _list(self, request: Request) -> Response:
        user = (await self._access.authenticate(request)).user_id
        limit = _page_size(request)
        before = request.query_params.get("before")
        if before is not None:
            before = (await self._user_chats.find(before, user)).chat_id
        chats = await self._store.chats(user_id=user, limit=limit, before=before)
        chat_titles = await titles(self._store, chats)
        return JSONResponse({"chats": [_chat_fields(chat, chat_titles) for chat in chats]})

    async def _create(self, request: Request) -> Response:
        client = await self._access.authenticate(request)
        body = await self._body_reader.json(request, client)
        check_fields(body, "chatId", "metadata")
        metadata: object = body.get("metadata", {})
        if not isinstance(metadata, dict):
            raise HttpError(400, "wrong_type", "`metadata` must be an object.")
        chat_id = id_of(body, "chatId")
        limit = self._limits.max_metadata_bytes
        if len(json.dumps(metadata, ensure_ascii=False).encode()) > limit:
            raise HttpError(413, "too_long", f"`metadata` must have at most {limit} bytes.")
        chat = await self._user_chats.create(
            chat_id, client.user_id, cast("dict[str, Any]", metadata)
        )
        known = public_id(chat.chat_id)
        return JSONResponse(
            {"chatId": known}, status_code=201, headers={"Location": f"{request.url.path}/{known}"}
        )

    async def _show(self, _: Request, __: Client, chat: Chat) -> Response:
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

    async def _delete(self, _: Request, __: Client, chat: Chat) -> Response:
        await self._runs.delete_chat(chat.chat_id)
        return Response(status_code=204)

    async def _export(self, _: Request, __: Client, chat: Chat) -> Response:
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

    async def _messages(self, request: Request, _: Client, chat: Chat) -> Response:
        after = number_of(request.query_params.get("after", "0"), "`after`")
        missing = _page_size(request)
        page: list[dict[str, Any]] = []
        while missing:
            history = await self._store.load(chat.chat_id, after=after, limit=missing)
            shown = [each for each in history.stored if not is_hidden(each.message)]
            page += map(self._message_fields, shown)
            if len(shown) == len(history.stored):
                break
            # Hidden messages do not count towards the limit.
            after, missing = history.stored[-1].sequence_number, missing - len(shown)
        return JSONResponse({"messages": page})

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

    async def _submit(self, request: Request, client: Client, chat: Chat) -> Response:
        body = await self._body_reader.json(request, client)
        check_fields(body, "text", "messageId")
        text = text_of(body, "text", required=bool(body), limit=self._limits.max_message_bytes)
        run, message_id = await self._input.submit(
            chat.chat_id, text, id_of(body, "messageId"), client
        )
        answer: dict[str, Any] = {
            "chatId": public_id(chat.chat_id),
            "runId": run.run_id,
            "sequenceNumber": run.first_event,
        }
        if message_id is not None:
            answer["messageId"] = message_id
        return JSONResponse(answer, status_code=202)

    async def _stop(self, request: Request, client: Client, chat: Chat) -> Response:
        await self._body_reader.json(request, client)
        run_id: str = request.path_params["run_id"]
        run = await self._store.run(run_id) if is_id(run_id) else None
        if run is None or run.chat_id != chat.chat_id:
            raise HttpError(404, "unknown_run", "There is no such run in this chat.")
        stopping = await self._runs.stop(run_id)
        return JSONResponse({"runId": run_id, "stopping": stopping}, status_code=202)

    async def _answer(self, request: Request, client: Client, chat: Chat) -> Response:
        body = await self._body_reader.json(request, client)
        key: str = request.path_params["key"]
        awaited = await self._input.awaited(chat.chat_id, key) if _is_valid_key(key) else None
        if "approved" in body if awaited is None else awaited.kind == "approval":
            check_fields(body, "approved", "reason")
            reason = text_of(body, "reason", required=False)
            value, is_error = decision(flag_of(body, "approved"), reason), False
        else:
            check_fields(body, "result", "isError")
            if "result" not in body:
                raise HttpError(400, "wrong_type", "`result` is required.")
            value, is_error = body["result"], flag_of(body, "isError", default=False)
        if not _is_valid_key(key):
            return _outcome("not_found")
        resolved = await self._input.resolve(
            chat.chat_id, key, value, awaited, client.user_id, is_error=is_error
        )
        return _outcome(resolved.outcome.value)

    # Requests of other protocols, whose responses are the streams of these.

    async def _ai_sdk(self, request: Request) -> Response:
        client = await self._access.authenticate(request)
        version = read_ai_sdk_version(request.headers.get(VERSION_HEADER))
        parsed = await self._body_reader.transcript(request, client, read_ai_sdk_request)
        run = await self._find_or_start_run(parsed, client)
        encoder = AiSdkEncoder(
            version=version,
            message_id=None if parsed.text is not None else parsed.message_id,
            known_calls=parsed.known_calls,
        )
        return await self._streams.run_response(run, encoder, client)

    async def _resume(self, request: Request) -> Response:
        # `useChat` requests this by itself when it opens a chat, also one that its first message
        # will create. It reads 204 as nothing to resume, and shows any other status as an error.
        client = await self._access.authenticate(request)
        chat = await self._user_chats.find_optional(request.path_params["chat_id"], client.user_id)
        return await self._streams.active_run_response(request, client, chat)

    async def _ag_ui(self, request: Request) -> Response:
        client = await self._access.authenticate(request)
        parsed = await self._body_reader.transcript(request, client, read_ag_ui_request)
        run = await self._find_or_start_run(parsed, client)
        encoder = AgUiEncoder(
            thread_id=parsed.chat_id,
            run_id=parsed.run_id,
            history=parsed.messages,
            protocol_version=parsed.protocol_version,
        )
        return await self._streams.run_response(run, encoder, client)

    async def _find_or_start_run(self, parsed: ClientRequest, client: Client) -> RunRecord:
        """Return the run that answers the new content of a request."""
        text, answers = parsed.text, parsed.answers
        chat = await self._user_chats.get_or_create(
            parsed.chat_id, client.user_id, allow_create=text is not None
        )
        chat_id = chat.chat_id
        if len(answers) > _MAX_ANSWERS:
            # Each answer is a write of its own.
            raise HttpError(413, "too_long", f"A request must have at most {_MAX_ANSWERS} answers.")
        outcomes = [await self._resolve(chat_id, each, client.user_id) for each in answers]
        # The client reads the run that waited for the answers, even if it has ended by now.
        run = await self._store.active_run(chat_id) if answers else None
        ids = [each.run_id for each in outcomes if each.run_id is not None]
        if run is None and ids:
            run = await self._store.run(ids[-1])
        if run is None:
            if text is None and not any(each.outcome is Outcome.RESOLVED for each in outcomes):
                raise HttpError(409, "nothing_waits", "Nothing waits for these answers any more.")
            message_id = parsed.message_id if text else None
            run, _ = await self._input.submit(chat_id, text, message_id, client)
        return run

    async def _resolve(
        self, chat_id: str, answer: SubmittedAnswer, user: str | None
    ) -> AnswerOutcome:
        value = answer.value
        awaited = await self._input.awaited(chat_id, answer.key)
        if answer.approved is not None and (awaited is None or awaited.kind != "question"):
            value = decision(answer.approved, answer.reason)
        return await self._input.resolve(chat_id, answer.key, value, awaited, user)


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


def _page_size(request: Request) -> int:
    limit = request.query_params.get("limit", "100")
    return number_of(limit, "`limit`", largest=MAX_PAGE_SIZE)


def _outcome(name: str) -> Response:
    status = {"not_found": 404, "conflict": 409}.get(name, 200)
    return JSONResponse({"outcome": name}, status_code=status)


def _is_valid_key(key: str) -> bool:
    """Return True if a text can be the key of an answer; tools choose their keys freely."""
    return 0 < len(key) <= 255 and key.isprintable()


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
