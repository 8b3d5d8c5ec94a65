"""Options in the URL of a file: each is honoured or refused, and no other file is created."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from itertools import product
from pathlib import Path
from urllib.parse import urlencode

import pytest

from stored_runs import text, with_store
from toolweave import StoreError
from toolweave.store import MessageStore

OPTIONS = [
    {},
    {"mode": "ro"},
    {"mode": "rw"},
    {"mode": "rwc"},
    {"cache": "private"},
    {"timeout": "5"},
    {"colour": "s3cr3t"},
    {"mode": "ro", "colour": "s3cr3t"},
]


async def use(store: MessageStore) -> None:
    await store.create_chat("c", exist_ok=True)
    await store.write("c", events=[text("a")])


@pytest.mark.parametrize("is_there", [False, True])
def test_no_option_opens_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    with_store(f"sqlite:///{tmp_path}/made.db", use)
    for start, options, uri in product(("", "file:"), OPTIONS, ({}, {"uri": "true"})):
        with tempfile.TemporaryDirectory() as folder:
            monkeypatch.chdir(folder)
            if is_there:
                shutil.copy(tmp_path / "made.db", "x.db")
            given = urlencode({**options, **uri})
            failed = False
            try:
                with_store(
                    f"sqlite:///{start}x.db?{given}" if given else f"sqlite:///{start}x.db", use
                )
            except StoreError as error:
                failed = True
                assert "s3cr3t" not in str(error)
            # Nothing is written if that is forbidden, or if an option is unknown.
            is_plain = not start and not options and not uri
            is_uri = bool(start and uri) and options in ({}, *OPTIONS[2:5])
            makes = is_there or options.get("mode") != "rw"
            assert failed is not (is_plain or (is_uri and makes)), (start, given)
            names = {each.name for each in Path(folder).iterdir()} - {"x.db-wal", "x.db-shm"}
            assert names == ({"x.db"} if is_there or not failed else set()), (start, given)
            monkeypatch.undo()


def test_a_file_that_may_only_be_read_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    with_store(f"sqlite:///{path}", use)

    async def main() -> None:
        url = f"sqlite:///file:{path}?mode=ro&uri=true"
        async with MessageStore(url, migrate=False, retry_timeout=0.0) as store:
            assert len(await store.events("c")) == 1
            with pytest.raises(StoreError, match="readonly"):
                await use(store)

    asyncio.run(main())
