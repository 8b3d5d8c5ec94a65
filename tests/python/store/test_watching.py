"""Notification of watches about changes by other processes, and across restarts of the server."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text as sql

from postgres_server import PostgresServer
from store_processes import StoreProcess
from stored_runs import TEST_TIMEOUT, text, with_store
from toolweave import StoreError
from toolweave.store import MessageStore
from toolweave.store._database import TransactionRef


def test_a_watch_is_notified_of_changes_by_another_process(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        other = await asyncio.to_thread(StoreProcess, store_url)
        try:
            async with store.watch("c") as watch, store.watch("quiet") as quiet:
                await until_listening(store)
                await watch.changed(0)
                await quiet.changed(0)
                event = {"kind": "text", "messageId": "m", "delta": "a"}
                for change in (
                    f"write('c', events=[{event}])",
                    "start_run('c', 'r', owner='other')",
                    "request_stop('r')",
                    "finish_run('r', 'other', 'cancelled')",
                    "delete_chat('c')",
                    "create_chat('c')",
                    "write('c')",
                ):
                    await other.does(change)
                    if not change.startswith("create"):
                        assert await watch.changed(TEST_TIMEOUT), change
                assert not await quiet.changed(0)
        finally:
            await asyncio.to_thread(other.close)

    # PostgreSQL is not polled: it notifies.
    with_store(store_url, scenario, poll=0.02 if store_url.startswith("sqlite") else 1000.0)


async def until_listening(store: MessageStore) -> None:
    """Wait until PostgreSQL has a connection that listens for changes."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query"
    while store.database.is_postgresql:
        async with store.database.engine.connect() as connection:
            found = await connection.exec_driver_sql(f"{query} ~* '^LISTEN'")
            if found.scalar_one() == 1:
                return
        await asyncio.sleep(0.01)


def test_all_watches_of_a_store_share_one_connection(postgres_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        chats = [f"c{number}" for number in range(20)]
        for chat_id in chats:
            await store.create_chat(chat_id)
        watches = [store.watch(chat_id) for chat_id in chats * 2]
        for watch in watches:
            await watch.__aenter__()
        await until_listening(store)  # checks that there is exactly one
        for watch in watches:
            await watch.__aexit__(None, None, None)

    with_store(postgres_url, scenario)


def test_watches_survive_a_restart_of_the_server(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        async with store.watch("c") as watch:
            await until_listening(store)
            await watch.changed(0)
            await asyncio.to_thread(postgres_server.stop)
            assert not await watch.changed(0.05)
            await asyncio.to_thread(postgres_server.start)
            other = await asyncio.to_thread(StoreProcess, postgres_url)
            try:
                await other.does("write('c')")
                assert await watch.changed(TEST_TIMEOUT)
                await until_listening(store)
            finally:
                await asyncio.to_thread(other.close)

    with_store(postgres_url, scenario, poll=0.05)


def test_writes_wait_for_a_restart_of_the_server_and_are_committed_once(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        await store.start_run("c", "r", owner="me")
        stopped = asyncio.Event()

        async def write() -> int:
            count = 0
            while count < 20 or not stopped.is_set():
                await store.write("c", run_id="r", owner="me", events=[text(f"{count}")])
                count += 1
            return count

        writing = asyncio.create_task(write())
        for _ in range(2):
            await asyncio.to_thread(postgres_server.stop)
            await asyncio.to_thread(postgres_server.start)
        stopped.set()
        count = await asyncio.wait_for(writing, TEST_TIMEOUT)
        events = await store.events("c", limit=None)
        assert [event["delta"] for event in events] == [str(n) for n in range(count)]
        assert [event["sequenceNumber"] for event in events] == list(range(1, count + 1))

    with_store(postgres_url, scenario, retry_timeout=TEST_TIMEOUT)


class Proxy:
    """A proxy that breaks the connection when the client commits.

    Args:
        port: Port of the server.
        forwards: True to forward the commit to the server first.
    """

    def __init__(self, port: int, *, forwards: bool) -> None:
        self.port = port
        self.forwards = forwards
        self.is_armed = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, asks = await asyncio.open_connection("127.0.0.1", self.port)
        back = asyncio.create_task(self._copy(answers, writer))
        self._tasks.add(back)
        while data := await reader.read(65536):
            if self.is_armed and b"COMMIT" in data:
                self.is_armed = False
                back.cancel()
                await asyncio.wait([back])
                if self.forwards:
                    asks.write(data)
                    assert b"COMMIT" in await answers.read(65536)
                break
            asks.write(data)
        asks.close()
        writer.close()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()


@pytest.mark.parametrize("forwards", [True, False])
def test_a_write_without_confirmation_is_committed_once(
    postgres_server: PostgresServer, postgres_url: str, forwards: bool
) -> None:
    async def main() -> None:
        proxy = Proxy(postgres_server.port, forwards=forwards)
        server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        url = postgres_url.replace(f":{postgres_server.port}/", f":{port}/") + "?ssl=disable"
        async with server, MessageStore(url) as store:
            await store.create_chat("c")
            for count in (1, 2):
                proxy.is_armed = True
                written = await store.write("c", events=[text("a")])
                assert not proxy.is_armed
                assert [event["sequenceNumber"] for event in written.events] == [count]
            assert await store.events("c") == [*await store.events("c", limit=1), *written.events]

    asyncio.run(asyncio.wait_for(main(), TEST_TIMEOUT))


def test_without_a_retry_timeout_the_error_is_transient(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        await asyncio.to_thread(postgres_server.stop)
        try:
            for use in (store.write("c"), store.load("c")):
                with pytest.raises(StoreError) as failed:
                    await use
                assert failed.value.transient
        finally:
            await asyncio.to_thread(postgres_server.start)
        await store.write("c")

    with_store(postgres_url, scenario, retry_timeout=0.0)


def test_closing_a_store_wakes_its_watches(store_url: str) -> None:
    async def main() -> None:
        store = MessageStore(store_url)
        async with store:
            await store.create_chat("c")
            watch = store.watch("c")
            await watch.__aenter__()
            waiting = asyncio.create_task(watch.changed())
            await asyncio.sleep(0)
        assert await asyncio.wait_for(waiting, TEST_TIMEOUT)
        with pytest.raises(StoreError, match="must be open"):
            await store.events("c")

    asyncio.run(main())


def test_a_transaction_lost_in_a_crash_was_not_committed(postgres_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        await store.create_chat("c")
        await store.write("c", events=[text("a")])
        database = store.database
        async with database.engine.connect() as connection:
            number = (await connection.execute(sql("SELECT txid_current()"))).scalar_one()
            await connection.commit()
            revision = (await connection.execute(sql("SELECT revision FROM chats"))).scalar_one()
        assert await database.was_committed(TransactionRef(number, "c", revision))
        # The id was assigned to another transaction, or is not assigned yet.
        assert not await database.was_committed(TransactionRef(number, "c", revision + 1))
        assert not await database.was_committed(TransactionRef(number + 1000, "c", revision))

    with_store(postgres_url, scenario)
