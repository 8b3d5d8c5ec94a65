"""Statements and examples of docs/how-to/deployment.md."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import sqlite3
from pathlib import Path

import pytest

import toolweave
from chat_servers import all_events, new_chat, on_a_server, say, serve
from page_examples import examples
from paths import DOCS
from toolweave.store import MessageStore
from toolweave.web import WebLimits

PAGE = DOCS / "how-to/deployment.md"
TEXT = PAGE.read_text("utf-8")
PYTHON = examples(TEXT)


def test_the_server_serves_and_its_store_is_tidied_and_updated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CHATS", raising=False)
    namespace, _ = PYTHON[0].run(str(PAGE))

    @on_a_server
    async def ask() -> None:
        async with serve(namespace["app"]) as client:
            assert (await client.get("/chats")).status_code == 401
            client.headers["x-forwarded-user"] = "ann"
            chat = await new_chat(client)
            await say(client, chat, "Hi!")
            async with client.stream("GET", f"{chat}/events") as stream:
                assert stream.headers["x-accel-buffering"] == "no"
                assert "no-transform" in stream.headers["cache-control"]
                await stream.aread()
            assert (await all_events(client, chat))[-1]["stopReason"] == "completed"
            elsewhere = await client.get("/chats", headers={"host": "evil.example"})
            assert elsewhere.status_code == 400

    ask()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for example in PYTHON[1:]:
            example.run(str(PAGE))
    assert printed.getvalue() == "0 chats 0 conversations\nup to date\n"


def test_a_backup_of_a_file_that_is_in_use_is_whole(tmp_path: Path) -> None:
    [statement] = re.findall(r'"(VACUUM INTO [^"]+)"', TEXT)
    path, backup = tmp_path / "chats.db", tmp_path / "backup.db"

    async def main() -> None:
        async with MessageStore(f"sqlite:///{path}") as store:
            await store.create_chat("c")
            assert path.with_name("chats.db-wal").exists()
            with contextlib.closing(sqlite3.connect(path)) as connection:
                connection.execute(statement.replace("backup.db", str(backup)))
        async with MessageStore(f"sqlite:///{backup}") as store:
            assert await store.chat("c") is not None

    asyncio.run(main())


def test_the_records_that_are_named_are_written() -> None:
    section = TEXT.partition("\n## Monitoring\n")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `toolweave\.(\w+)` \| `([^`]+)` \|", section, re.MULTILINE)
    assert len(named) > 5
    for area, record in named:
        files = Path(toolweave.__file__).parent.joinpath(area).glob("**/*.py")
        assert any(f'"{record}"' in file.read_text("utf-8") for file in files), (area, record)


def test_documented_numbers_are_the_defaults() -> None:
    limits = WebLimits()
    assert f"`heartbeat`, which is {limits.heartbeat:g} seconds" in TEXT
    assert f"half times `lease`, {1.5 * limits.lease:g} seconds" in TEXT
    assert f"in the last {1000 * limits.batch:g} ms" in TEXT
