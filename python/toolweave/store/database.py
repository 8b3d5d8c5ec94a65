"""A database, and transactions on it."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from sqlalchemy import event, func, select
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, StaticPool

from ..exceptions import StoreError
from .tables import make_tables
from .urls import check_backend, is_file, open_file, with_driver

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator

    from sqlalchemy import UpdateBase
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.pool import ConnectionPoolEntry

_log = logging.getLogger("toolweave.store")

_T = TypeVar("_T")

_OLDEST_SQLITE = (3, 35)
"""The first that has `RETURNING`."""

_BUSY_SECONDS = 30.0
"""How long SQLite waits for another process that writes."""

_OPENING_STEP_SECONDS = 0.1
"""How long SQLite waits at once while a store is opened: nobody can be cancelled meanwhile."""

_BUSY = "toolweave_busy"
"""Where the `info` of a connection of SQLite says for how long it waits, in seconds."""

TRANSACTION = "toolweave_transaction"
"""Where work says, in the `info` of a connection, by what its transaction can be told."""


class TransactionRef(NamedTuple):
    """By what it can be told later whether PostgreSQL has done a transaction."""

    number: int
    """Its number. One that was lost in a crash is given to another transaction."""
    chat_id: str
    """The chat that it changes."""
    revision: int
    """What the chat becomes."""


_SYNCHRONOUS = "toolweave_synchronous"
"""Where the `info` of a connection of SQLite says what was told to it last."""

_TEXT = partial(str, encoding="utf-8", errors="replace")
"""How text of SQLite's is read."""

_PAUSE = 0.1
"""How long to wait before the database is tried again, in seconds."""


@dataclass
class _Attempt:
    """How far a write has come."""

    found: object = None
    """What the work has returned."""
    transaction: TransactionRef | None = None
    """What PostgreSQL knows the transaction by."""
    is_committing: bool = False
    """Whether it may have been done although nothing was heard."""


class Database:
    """An engine, and what is so about its kind of database.

    Args:
        url: A URL, or an engine, which stays the caller's.
        schema: The schema of the tables.
        prefix: What the names of the tables begin with.
        patience: For how many seconds it is tried again where the server is away.
    """

    def __init__(
        self,
        url: str | URL | AsyncEngine,
        schema: str | None = None,
        prefix: str = "",
        retry_timeout: float = 0.0,
    ) -> None:
        self._retry_timeout = retry_timeout
        self.tables = make_tables(schema, prefix)
        self.schema = schema
        self.prefix = prefix
        self._owns_engine = not isinstance(url, AsyncEngine)
        self._engine = url if isinstance(url, AsyncEngine) else _engine(with_driver(url))
        check_backend(self._engine.dialect.name)
        self.is_postgresql = self._engine.dialect.name == "postgresql"
        if schema is not None and not self.is_postgresql:
            raise ValueError("SQLite has no schemas; give the tables a prefix instead")
        self.channel = f"toolweave_{schema or ''}_{prefix}"[:63]
        """What PostgreSQL's notifications go through."""
        # One connection that all share can have one transaction only. Otherwise, who writes to
        # SQLite in this process stands in a line, which is fairer than to ask again and again.
        shares = isinstance(self._engine.sync_engine.pool, StaticPool)
        self._read_lock = asyncio.Lock() if shares else None
        self._write_lock = None if self.is_postgresql else self._read_lock or asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        # While the store is opened: until when to try.
        self._open_deadline: float | None = None
        self.is_open = False

    def __str__(self) -> str:
        # What comes after a question mark may hold passwords too.
        return self._engine.url.set(query={}).render_as_string(hide_password=True)

    @property
    def engine(self) -> AsyncEngine:
        """The engine."""
        return self._engine

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None, None]:
        """Sees whether the database is there, and closes it if what follows fails.

        Where SQLite is locked by others it is tried again until `retry_timeout` is over, from here to
        the end of the block.

        Raises:
            StoreError: It is not, or is too old.
        """
        self.is_open = True
        self._open_deadline = time.monotonic() + self._retry_timeout
        try:
            await self._find()
            yield
        except TypeError as error:
            await self.close()
            raise StoreError(f"{self} has an option that its driver refuses: {error}") from error
        except BaseException:
            await self.close()
            raise
        finally:
            self._open_deadline = None
        _log.info("a store is open", extra={"database": str(self)})

    async def _find(self) -> None:
        while True:
            try:
                await self._run(self._prepare)
            except StoreError as error:
                # Of two that open a new file at once SQLite refuses one, and does not let it wait.
                if (
                    self.is_postgresql
                    or not error.transient
                    or time.monotonic() >= self._retry_deadline()
                ):
                    raise
            else:
                return
            await asyncio.sleep(_PAUSE)

    def _retry_deadline(self) -> float:
        """Until when something that begins now is tried again."""
        if self._open_deadline is not None and not self.is_postgresql:
            return self._open_deadline
        return time.monotonic() + self._retry_timeout

    async def close(self) -> None:
        """Waits for what was begun, and closes the connections that are ours."""
        self.is_open = False
        while self._tasks:
            await asyncio.wait(list(self._tasks))
        if self._owns_engine:
            await self._engine.dispose()

    async def write(
        self,
        work: Callable[[AsyncConnection], Awaitable[_T]],
        *,
        starts_with_write: bool = False,
        is_durable: bool = True,
    ) -> _T:
        """Does work in a transaction that writes.

        It is done as a whole or not at all, and once begun is finished although the caller is
        cancelled. While the server is away it is tried again, unless it may have been done.

        Args:
            work: What is done.
            starts_with_write: Whether the first thing it does is to change something.
            is_durable: Whether it has to outlive a failure of the power. Killed processes lose
                nothing either way.

        Raises:
            StoreError: The database did not do it.
        """
        deadline = self._retry_deadline()
        while True:
            attempt = _Attempt()
            try:
                return await self._run(
                    partial(self._write, work, attempt, starts_with_write, is_durable)
                )
            except StoreError as error:
                if not error.transient or time.monotonic() > deadline:
                    raise
                _log.info("a write is tried again", extra={"error": str(error)})
                is_known = not attempt.is_committing or attempt.transaction is not None
                if not is_known:
                    raise
            await asyncio.sleep(_PAUSE)
            if attempt.transaction is not None and await self.was_committed(attempt.transaction):
                return cast("_T", attempt.found)

    async def _write(
        self,
        work: Callable[[AsyncConnection], Awaitable[_T]],
        attempt: _Attempt,
        starts_with_write: bool,
        is_durable: bool,
    ) -> _T:
        async with self._holding(self._write_lock), self._connected() as connection:
            if not self.is_postgresql:
                if self._owns_engine:
                    await _synchronize(connection, "FULL" if is_durable else "NORMAL")
                if not starts_with_write:
                    await _begin(connection, "BEGIN IMMEDIATE")
            elif self._engine.dialect.default_isolation_level != "READ COMMITTED":
                # Under others, what waited for a lock would fail.
                await connection.execution_options(isolation_level="READ COMMITTED")
            connection.info.pop(TRANSACTION, None)
            found = await work(connection)
            attempt.found = found
            attempt.transaction = connection.info.pop(TRANSACTION, None)
            attempt.is_committing = self.is_postgresql
            await connection.commit()
            return found

    async def was_committed(self, transaction: TransactionRef) -> bool:
        """Whether PostgreSQL has done a transaction of which it did not say that it had.

        Raises:
            StoreError: The database could not be asked.
        """
        chats = self.tables.chats

        async def work(connection: AsyncConnection) -> bool:
            # As long as it goes on it has the row. A crash takes back the number of what was not
            # done, and gives it to another.
            found = await connection.execute(
                select(chats.c.revision).where(chats.c.id == transaction.chat_id).with_for_update()
            )
            revision = found.scalar_one_or_none()
            if revision is not None and revision < transaction.revision:
                return False
            # There is no asking for the state of numbers that are not given yet.
            next_one = func.txid_snapshot_xmax(func.txid_current_snapshot())
            given = await connection.execute(select(next_one > transaction.number))
            if not given.scalar_one():
                return False
            status = await connection.execute(select(func.txid_status(transaction.number)))
            return bool(status.scalar_one() == "committed")

        return await self.read(work)

    async def execute(self, statement: UpdateBase) -> int:
        """Runs one statement that writes.

        Returns:
            How many rows it has changed.

        Raises:
            StoreError: The database did not do it.
        """

        async def work(connection: AsyncConnection) -> int:
            return (await connection.execute(statement)).rowcount

        return await self.write(work)

    async def read(
        self,
        work: Callable[[AsyncConnection], Awaitable[_T]],
        *,
        snapshot: bool = False,
        retry: bool = True,
    ) -> _T:
        """Does work that only reads.

        Args:
            work: What is done.
            snapshot: Whether all of it sees the database as it was at one time.
            again: Whether it is tried again while the server is away.

        Raises:
            StoreError: The database did not do it.
        """

        async def run() -> _T:
            async with self._holding(self._read_lock), self._connected() as connection:
                if snapshot and self.is_postgresql:
                    await connection.execution_options(isolation_level="REPEATABLE READ")
                elif snapshot:
                    await _begin(connection, "BEGIN")
                return await work(connection)

        deadline = self._retry_deadline() if retry else 0.0
        while True:
            try:
                return await self._run(run)
            except StoreError as error:
                if not error.transient or time.monotonic() >= deadline:
                    raise
            await asyncio.sleep(_PAUSE)

    async def _run(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Work in a task of its own: a driver that is cancelled loses its connection."""
        if not self.is_open:
            raise StoreError("the store is not open; use it as `async with MessageStore(...)`")

        async def run() -> _T:
            with translated_errors(f"the database {self}"):
                return await work()

        task = asyncio.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._done)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # What was begun is over before the caller goes on.
            await asyncio.wait([task])
            raise

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # heard, also where the caller was cancelled

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[AsyncConnection, None]:
        """A connection that waits for others no longer than it may."""
        async with self._engine.connect() as connection:
            if self._owns_engine and not self.is_postgresql:
                wait = _BUSY_SECONDS if self._open_deadline is None else _OPENING_STEP_SECONDS
                if connection.info.get(_BUSY, _BUSY_SECONDS) != wait:
                    await connection.exec_driver_sql(f"PRAGMA busy_timeout={wait * 1000:.0f}")
                    connection.info[_BUSY] = wait
            yield connection

    @asynccontextmanager
    async def _holding(self, lock: asyncio.Lock | None) -> AsyncGenerator[None, None]:
        if lock is None:
            yield
        else:
            async with lock:
                yield

    async def _prepare(self) -> None:
        url = self._engine.url
        if not self.is_postgresql:
            _check_version()
            if self._owns_engine and (is_file(url) or url.query):
                # A driver that fails leaves a thread behind, which fails in turn.
                await asyncio.to_thread(open_file, url, _OPENING_STEP_SECONDS)
        async with self._connected() as connection:
            if self._owns_engine and not self.is_postgresql:
                # Readers and a writer do not wait for each other. Kept in the file.
                await connection.exec_driver_sql("PRAGMA journal_mode=WAL")


def _check_version() -> None:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        oldest = ".".join(map(str, _OLDEST_SQLITE))
        found = sqlite3.sqlite_version
        raise StoreError(f"SQLite {found} is too old; {oldest} or newer is needed")


@contextmanager
def translated_errors(what: str) -> Generator[None, None, None]:
    """Failures of the database as ours: neither statements nor values are in the text.

    Raises:
        StoreError: Something of the database failed; the cause says what.
    """
    try:
        yield
    except DBAPIError as error:
        transient = error.connection_invalidated or _is_transient(error)
        raise StoreError(f"{what} failed: {_said(error.orig)}", transient) from error
    except PoolTimeoutError as error:
        raise StoreError(f"{what} has no connection left; {_said(error)}", True) from error
    except SQLAlchemyError as error:
        raise StoreError(f"{what} failed: {type(error).__name__}") from error
    except (OSError, asyncio.TimeoutError) as error:
        raise StoreError(f"{what} cannot be reached: {_said(error)}", True) from error
    except Exception as error:
        # asyncpg's own, where SQLAlchemy is not between.
        if type(error).__module__.partition(".")[0] in ("asyncpg", "aiosqlite", "sqlite3"):
            raise StoreError(f"{what} failed: {_said(error)}", _is_transient(error)) from error
        raise


def _is_transient(error: BaseException) -> bool:
    """Whether a failure of a driver may pass by itself."""
    states = ("08", "40", "53", "55P03", "57P")
    link: BaseException | None = error
    for _ in range(10):
        if link is None:
            break
        state: object = getattr(link, "sqlstate", None)
        if isinstance(state, str) and state.startswith(states):
            return True
        text = str(link).lower()
        if "database is locked" in text or "connection is closed" in text:
            return True
        if isinstance(link, OSError):
            return True
        link = link.__cause__ or cast("BaseException | None", getattr(link, "orig", None))
    return False


def _said(error: BaseException | None) -> str:
    if error is None:
        return "nothing was said"
    # The first line: details below it may hold values.
    lines = str(error).splitlines()
    said = lines[0] if lines else ""
    # SQLAlchemy's classes for asyncpg put the name of the class before the text.
    return said.rpartition(">: ")[2] or type(error).__name__


def _engine(url: URL) -> AsyncEngine:
    if url.get_backend_name() != "sqlite":
        try:
            return create_async_engine(url, pool_pre_ping=True, hide_parameters=True)
        except (SQLAlchemyError, ImportError) as error:
            raise StoreError(
                f"the driver {url.drivername} cannot be used: {_said(error)}"
            ) from error
    # Connections are kept, the last one first: it knows what it was told last.
    kept = {"poolclass": AsyncAdaptedQueuePool, "pool_use_lifo": True} if is_file(url) else {}
    engine = create_async_engine(
        url, hide_parameters=True, connect_args={"timeout": _BUSY_SECONDS}, **kept
    )

    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        # Text that is damaged is read as far as it is text, and fails by itself, not its page.
        driver: Any = connection.driver_connection
        driver.text_factory = _TEXT
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    return engine


async def _synchronize(connection: AsyncConnection, level: str) -> None:
    """Says how much SQLite does for what is written next; a lasting write makes all before last."""
    if connection.info.get(_SYNCHRONOUS, "FULL") != level:
        await connection.exec_driver_sql(f"PRAGMA synchronous={level}")
        connection.info[_SYNCHRONOUS] = level


async def _begin(connection: AsyncConnection, statement: str) -> None:
    """Begins a transaction of SQLite's, unless the engine itself has."""
    raw = await connection.get_raw_connection()
    if not getattr(raw.driver_connection, "in_transaction", False):
        await connection.exec_driver_sql(statement)
