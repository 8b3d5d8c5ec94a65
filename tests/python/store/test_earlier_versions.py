"""Chats stored by version 0.1, with all text of a reply before its calls."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import toolweave as tw
from chat_servers import all_events, finished, on_a_server, say, serve_agent
from order_of_writing import check_results, note
from paths import ROOT
from toolweave import Agent, StreamReducer
from toolweave.store import MessageStore, RunRecord
from toolweave.testing import ScriptedModel

EXPIRED = 4_000_000_000.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a folder with a copy of the chats."""
    script = (ROOT / "tests" / "recorded" / "store-0.1" / "chats.sql").read_text("utf-8")
    with closing(sqlite3.connect(tmp_path / "chats.db")) as connection:
        connection.executescript(script)
    return tmp_path


def kinds(messages: tuple[tw.Message, ...]) -> list[str]:
    return [message.kind.value for message in messages]


@on_a_server
async def test_a_chat_is_loaded_unchanged_and_continued(folder: Path) -> None:
    async with MessageStore(f"sqlite:///{folder / 'chats.db'}") as store:
        history = await store.load("whole")
    assert history.problems == ()
    assert kinds(history.messages) == ["text", "text", "tools_aggregate", "text"]
    check_results(history.messages)

    reply = ["Three: ", '<note>{"n": 3}</note>', " is next."]
    model = ScriptedModel(reply, "It is noted.")
    chat = "/chats/whole"
    async with serve_agent(folder, Agent(model, [note])) as client:
        sent = await say(client, chat, "Note 3, too.")
        assert (await finished(client, chat, sent["runId"]))["stopReason"] == "completed"
        events = await all_events(client, chat)
    asked = "\n".join(getattr(each, "text", "") for each in model.requests[0].messages)
    assert asked.index("Let me see.") < asked.index("noted 2") < asked.index("Both are noted.")

    async with MessageStore(f"sqlite:///{folder / 'chats.db'}") as store:
        history = await store.load("whole")
    assert history.problems == ()
    own = [*history.messages[4:]]
    assert kinds(tuple(own)) == ["text", "text", "tools_aggregate", "text", "text"]
    assert [each.text for each in own if isinstance(each, tw.TextMessage)] == [
        "Note 3, too.",
        "Three: ",
        " is next.",
        "It is noted.",
    ]
    reducer = StreamReducer()
    for event in events:
        reducer.push(event)
    snapshot = reducer.snapshot()
    assert snapshot["problems"] == []
    assert [each["messageId"] for each in snapshot["messages"]] == [m.id for m in history.messages]


def test_a_run_that_broke_off_is_recovered_completely(folder: Path) -> None:
    async def main() -> tuple[tuple[tw.Message, ...], list[RunRecord]]:
        async with MessageStore(f"sqlite:///{folder / 'chats.db'}") as store:
            ended = await store.recover(now=EXPIRED)
            history = await store.load("broken")
            assert history.problems == ()
            reducer = StreamReducer()
            for event in await store.events("broken"):
                reducer.push(event)
            assert reducer.snapshot()["problems"] == []
            assert await store.recover(now=EXPIRED) == []
            return history.messages, ended

    messages, [ended] = asyncio.run(main())
    assert ended.run_id == "r"
    assert kinds(messages) == ["text", "text", "tools_aggregate"]
    assert [m.text for m in messages if isinstance(m, tw.TextMessage)] == [
        "Note 1 and 2.",
        "Let me see.  And  One moment.",
    ]
    results = [(r.result, r.error_code) for r in messages[2].tool_results]
    assert results[0] == ("noted 1", None)
    assert [code for _, code in results] == [None, tw.ErrorCode.INTERRUPTED]
