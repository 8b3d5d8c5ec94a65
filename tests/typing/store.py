"""Types of stores: read by mypy and pyright, never run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine
from typing_extensions import assert_type

from toolweave import ConversationStore, Message, Outcome, TextMessage, ToolCall, ToolResult
from toolweave.executor._deferred import Resolution
from toolweave.store import (
    Chat,
    History,
    MessageStore,
    PendingInput,
    PurgeResult,
    RunRecord,
    StoreConversations,
    StoredMessage,
    StoredPendingInput,
    StoreProblem,
    WriteResult,
)


async def keeping(engine: AsyncEngine) -> None:
    async with MessageStore(engine, schema="chats", table_prefix="tw_", migrate=False) as store:
        assert_type(store, MessageStore)
        chat = await store.create_chat(user_id="ann", metadata={"a": 1}, exist_ok=True)
        assert_type(chat, Chat)
        assert_type(await store.chat("c"), Chat | None)
        assert_type(await store.chats(user_id="ann", limit=5, before="c"), list[Chat])
        call, result = ToolCall("call_0", "book", {}), ToolResult("call_0", "book", "ok")
        written = await store.write(
            "c",
            events=[{"kind": "text", "messageId": "m", "delta": "a"}],
            messages=[TextMessage("Hi!")],
            started=[call],
            finished=[(call, result)],
            pending=[PendingInput("k", "approval", call)],
        )
        assert_type(written, WriteResult)
        assert_type(written.messages, tuple[StoredMessage, ...])
        history = await store.load("c", after=1, limit=2)
        assert_type(history, History)
        assert_type(history.messages, tuple[Message, ...])
        assert_type(history.problems, tuple[StoreProblem, ...])
        assert_type(await store.events("c", run_id="r"), list[dict[str, Any]])
        async with store.watch("c") as watch:
            assert_type(await watch.changed(1.0), bool)
        async for line in store.export_chat("c"):
            assert_type(line, str)
        assert_type(await store.purge(timedelta(days=1)), PurgeResult)

        await store.write("c", messages=["Hi!"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
        MessageStore("sqlite://", "schema")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def running(store: MessageStore, call: ToolCall) -> None:
    run = await store.start_run("c", "r", owner="me", lease=5)
    assert_type(run, RunRecord)
    assert_type(run.written, WriteResult)
    assert_type(await store.renew("r", "me"), bool)
    assert_type(await store.request_stop("r"), bool)
    assert_type(await store.finish_run("r", "me", "completed"), WriteResult)
    assert_type(await store.recover(), list[RunRecord])
    assert_type(await store.active_run("c"), RunRecord | None)
    assert_type(await store.add_pending("c", kind="question", call=call), str)
    assert_type(await store.resolve("k", 1, chat_id="c"), Outcome)
    assert_type(await store.resolution("k", chat_id="c"), Resolution | None)
    assert_type(await store.pending("c"), list[StoredPendingInput])

    await store.add_pending("c", kind="wish", call=call)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def conversations(store: MessageStore) -> ConversationStore:
    return StoreConversations(store, lease=5.0)
