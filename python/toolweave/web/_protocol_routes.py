"""Endpoints for clients of AG-UI and of the AI SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Route

from ..kinds import Outcome
from ._encoders.ag_ui import AgUiEncoder
from ._encoders.ai_sdk import AiSdkEncoder
from ._encoders.requests import (
    VERSION_HEADER,
    read_ag_ui_request,
    read_ai_sdk_request,
    read_ai_sdk_version,
)
from ._errors import HttpError, unknown_chat
from ._security import quota_key

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ..store import MessageStore, RunRecord
    from ._answers import AnswerOutcome, AnswerResolver
    from ._bodies import BodyReader
    from ._encoders.requests import ClientRequest, SubmittedAnswer
    from ._security import AccessControl
    from ._streams import EventStreams
    from ._submissions import MessageSubmitter
    from ._user_chats import UserChats

_MAX_ANSWERS = 100


class ProtocolRoutes:
    """Routes that take requests of other protocols, and respond with the streams of these.

    Args:
        access: The access control.
        body_reader: The reader of request bodies.
        user_chats: The chats that users can access.
        store: The store that holds the chats.
        submitter: The submitter of users' messages.
        resolver: The resolver of users' answers.
        streams: The factory of streams.
    """

    def __init__(
        self,
        access: AccessControl,
        body_reader: BodyReader,
        user_chats: UserChats,
        store: MessageStore,
        submitter: MessageSubmitter,
        resolver: AnswerResolver,
        streams: EventStreams,
    ) -> None:
        self._access = access
        self._body_reader = body_reader
        self._user_chats = user_chats
        self._store = store
        self._submitter = submitter
        self._resolver = resolver
        self._streams = streams

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route("/ai-sdk/chat", self._ai_sdk, methods=["POST"]),
            Route("/ai-sdk/chat/{chat_id}/stream", self._resume, methods=["GET"]),
            Route("/ag-ui", self._ag_ui, methods=["POST"]),
        ]

    async def _ai_sdk(self, request: Request) -> Response:
        user = await self._access.authenticate(request)
        version = read_ai_sdk_version(request.headers.get(VERSION_HEADER))
        parsed = await self._body_reader.transcript(request, user, read_ai_sdk_request)
        run = await self._find_or_start_run(request, user, parsed)
        encoder = AiSdkEncoder(
            version=version,
            message_id=None if parsed.text is not None else parsed.message_id,
            known_calls=parsed.known_calls,
        )
        return await self._streams.run_response(request, run, encoder, user)

    async def _resume(self, request: Request) -> Response:
        # `useChat` requests this path by itself, below the URL that it posts to.
        user = await self._access.authenticate(request)
        chat_id: str = request.path_params["chat_id"]
        chat = await self._user_chats.get_or_create(chat_id, user, allow_create=False)
        return await self._streams.active_run_response(request, chat.chat_id, user)

    async def _ag_ui(self, request: Request) -> Response:
        user = await self._access.authenticate(request)
        parsed = await self._body_reader.transcript(request, user, read_ag_ui_request)
        run = await self._find_or_start_run(request, user, parsed)
        encoder = AgUiEncoder(
            thread_id=parsed.chat_id,
            run_id=parsed.run_id,
            history=parsed.messages,
            protocol_version=parsed.protocol_version,
        )
        return await self._streams.run_response(request, run, encoder, user)

    async def _find_or_start_run(
        self, request: Request, user: str | None, parsed: ClientRequest
    ) -> RunRecord:
        """Return the run that answers the new content of a request."""
        text, answers = parsed.text, parsed.answers
        chat = await self._user_chats.get_or_create(
            parsed.chat_id, user, allow_create=text is not None
        )
        chat_id = chat.chat_id
        if len(answers) > _MAX_ANSWERS:
            # Each answer is a write of its own.
            raise HttpError(413, "too_long", f"A request must have at most {_MAX_ANSWERS} answers.")
        outcomes = [await self._resolve(chat_id, each, user) for each in answers]
        # The client reads the run that waited for the answers, even if it has ended by now.
        run = await self._store.active_run(chat_id) if answers else None
        ids = [each.run_id for each in outcomes if each.run_id is not None]
        if run is None and ids:
            run = await self._store.run(ids[-1])
        if run is None:
            if text is None and not any(each.outcome is Outcome.RESOLVED for each in outcomes):
                raise HttpError(409, "nothing_waits", "Nothing waits for these answers any more.")
            submission = await self._submitter.submit(
                chat_id,
                text,
                parsed.message_id if text else None,
                user,
                quota_key=quota_key(request, user),
            )
            run = await self._store.run(submission.run_id)
        if run is None:
            raise unknown_chat()
        return run

    async def _resolve(
        self, chat_id: str, answer: SubmittedAnswer, user: str | None
    ) -> AnswerOutcome:
        value = answer.value
        kind = await self._resolver.pending_kind(chat_id, answer.key)
        if answer.approved is not None and kind != "question":
            decision: dict[str, object] = {"approved": answer.approved}
            if answer.reason is not None:
                decision["reason"] = answer.reason
            value = decision
        return await self._resolver.resolve(
            chat_id, answer.key, value, is_error=False, user_id=user
        )
