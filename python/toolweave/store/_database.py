"""The database of a store, and transactions on it."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from sqlalchemy import event, func, insert, select
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, StaticPool

from ..exceptions import StoreError
from ._tables import tables_of
from ._urls import check_backend, is_file, open_file, with_driver

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        Awaitable,
        Callable,
        Generator,
        Iterator,
        Mapping,
        Sequence,
    )

    from sqlalchemy import CursorResult, Executable, Table, UpdateBase
    from sqlalchemy.dialects import postgresql, sqlite
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.pool import ConnectionPoolEntry

_log = logging.getLogger("toolweave.store")

_T = TypeVar("_T")

_OLDEST_SQLITE = (3, 35)
"""First version of SQLite with `RETURNING`."""

_BUSY_SECONDS = 30.0
"""Seconds that SQLite waits for another process that writes."""

_OPENING_STEP_SECONDS = 0.1
"""Seconds that SQLite waits at a time while a store is opened: a wait cannot be cancelled."""

_BUSY = "toolweave_busy"
"""Key in the `info` of a SQLite connection for its busy timeout, in seconds."""

TRANSACTION = "toolweave_transaction"
"""Key in the `info` of a connection for the `TransactionRef` of the current transaction."""


class TransactionRef(NamedTuple):
    """A PostgreSQL transaction, identified so that its outcome can be queried later."""

    number: int
    """Transaction id. If a crash loses the transaction, another one gets the same id."""
    chat_id: str
    """Id of the chat that it changes."""
    revision: int
    """Revision of the chat after the transaction."""


_SYNCHRONOUS = "toolweave_synchronous"
"""Key in the `info` of a SQLite connection for its current `synchronous` setting."""

_TEXT = partial(str, encoding="utf-8", errors="replace")
"""Decoder of text from SQLite."""

BATCH_SIZE = 500
"""Maximum number of rows in a statement: SQLAlchemy prepares all of them on the event loop."""

_PAUSE = 0.1
"""Seconds to wait before an operation is retried."""


@dataclass
class _Attempt:
    """State of one attempt to write."""

    result: object = None
    """Return value of the work."""
    transaction: TransactionRef | None = None
    """The transaction, if its outcome can be queried later."""
    is_committing: bool = False
    """True if the transaction may have been committed without a confirmation."""


class Database:
    """An engine and the specifics of its kind of database.

    Args:
        url: A URL, or an engine, which the caller disposes of.
        schema: Schema of the tables.
        prefix: Prefix of the names of the tables.
        retry_timeout: Seconds to keep retrying while the server is unavailable.
    """

    def __init__(
        self,
        url: str | URL | AsyncEngine,
        schema: str | None = None,
        prefix: str = "",
        retry_timeout: float = 0.0,
    ) -> None:
        self._retry_timeout = retry_timeout
        self.tables = tables_of(schema, prefix)
        self.schema = schema
        self.prefix = prefix
        self._owns_engine = not isinstance(url, AsyncEngine)
        self._engine = url if isinstance(url, AsyncEngine) else _engine(with_driver(url))
        check_backend(self._engine.dialect.name)
        self.is_postgresql = self._engine.dialect.name == "postgresql"
        if schema is not None and not self.is_postgresql:
            raise ValueError(
                "schema must be None for SQLite, which has no schemas; use a table prefix instead"
            )
        self.channel = f"toolweave_{schema or ''}_{prefix}"[:63]
        """Name of the channel for PostgreSQL notifications."""
        # A single shared connection can have only one transaction. Otherwise, writers to SQLite in
        # this process queue for a lock, which is fairer than polling.
        shares = isinstance(self._engine.sync_engine.pool, StaticPool)
        self._read_lock = asyncio.Lock() if shares else nullcontext()
        self._write_lock = self._read_lock if shares or self.is_postgresql else asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        # The deadline for retries while the store is being opened.
        self._open_deadline: float | None = None
        self.is_open = False

    def __str__(self) -> str:
        # The query string may contain passwords too.
        return self._engine.url.set(query={}).render_as_string(hide_password=True)

    @property
    def engine(self) -> AsyncEngine:
        """Engine of SQLAlchemy."""
        return self._engine

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None, None]:
        """Open the database, and close it if the block fails.

        If SQLite is locked by others, operations are retried until `retry_timeout` has passed since
        the start of the block.

        Raises:
            StoreError: The database cannot be used, or is too old.
        """
        self.is_open = True
        self._open_deadline = time.monotonic() + self._retry_timeout
        try:
            # If two processes open a new file at once, SQLite fails one of them immediately.
            await self._retried(self._prepare, 0.0 if self.is_postgresql else self._open_deadline)
            yield
        except TypeError as error:
            await self.close()
            raise StoreError(f"the driver rejects an option of {self}: {error}") from error
        except BaseException:
            await self.close()
            raise
        finally:
            self._open_deadline = None
        _log.info("a store is open", extra={"database": str(self)})

    def _retry_deadline(self) -> float:
        """Return the deadline for retries of an operation that starts now."""
        if self._open_deadline is not None and not self.is_postgresql:
            return self._open_deadline
        return time.monotonic() + self._retry_timeout

    async def close(self) -> None:
        """Wait for operations in progress, and dispose of the engine unless it is the caller's."""
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
        """Run a transaction that writes.

        The transaction is atomic. Once started it is completed even if the caller is cancelled.
        While the server is unavailable it is retried, unless it may have been committed.

        Args:
            work: The transaction.
            starts_with_write: True if its first statement writes, and so takes the write lock.
            is_durable: True if it must survive a power failure. A killed process loses nothing
                either way.

        Raises:
            StoreError: The database failed.
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
                _log.info("a write is retried", extra={"error": str(error)})
                is_known = not attempt.is_committing or attempt.transaction is not None
                if not is_known:
                    raise
            await asyncio.sleep(_PAUSE)
            if attempt.transaction is not None and await self.was_committed(attempt.transaction):
                return cast("_T", attempt.result)

    async def _write(
        self,
        work: Callable[[AsyncConnection], Awaitable[_T]],
        attempt: _Attempt,
        starts_with_write: bool,
        is_durable: bool,
    ) -> _T:
        async with self._write_lock, self._connected() as connection:
            if not self.is_postgresql:
                if self._owns_engine:
                    await _synchronize(connection, "FULL" if is_durable else "NORMAL")
                if not starts_with_write:
                    await _begin(connection, "BEGIN IMMEDIATE")
            elif self._engine.dialect.default_isolation_level != "READ COMMITTED":
                # At stricter levels, a transaction that has waited for a lock would fail.
                await connection.execution_options(isolation_level="READ COMMITTED")
            connection.info.pop(TRANSACTION, None)
            result = await work(connection)
            attempt.result = result
            attempt.transaction = connection.info.pop(TRANSACTION, None)
            attempt.is_committing = self.is_postgresql
            await connection.commit()
            return result

    async def was_committed(self, transaction: TransactionRef) -> bool:
        """Return True if PostgreSQL committed a transaction whose confirmation was lost.

        Raises:
            StoreError: The database could not be queried.
        """
        chats = self.tables.chats

        async def work(connection: AsyncConnection) -> bool:
            # An open transaction still locks the row. After a crash, the id of an uncommitted
            # transaction is assigned again.
            found = await connection.execute(
                select(chats.c.revision).where(chats.c.id == transaction.chat_id).with_for_update()
            )
            revision = found.scalar_one_or_none()
            if revision is not None and revision < transaction.revision:
                return False
            # The status of an id that is not assigned yet cannot be queried.
            next_number = func.txid_snapshot_xmax(func.txid_current_snapshot())
            is_assigned = await connection.execute(select(next_number > transaction.number))
            if not is_assigned.scalar_one():
                return False
            status = await connection.execute(select(func.txid_status(transaction.number)))
            return bool(status.scalar_one() == "committed")

        return await self.read(work)

    async def execute(self, statement: UpdateBase) -> int:
        """Execute one statement that writes.

        Returns:
            The number of rows changed.

        Raises:
            StoreError: The database failed.
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
        """Run a transaction that only reads.

        Args:
            work: The transaction.
            snapshot: True to read a consistent snapshot of the database.
            retry: True to retry while the server is unavailable.

        Raises:
            StoreError: The database failed.
        """

        async def run() -> _T:
            async with self._read_lock, self._connected() as connection:
                if snapshot and self.is_postgresql:
                    await connection.execution_options(isolation_level="REPEATABLE READ")
                elif snapshot:
                    await _begin(connection, "BEGIN")
                return await work(connection)

        return await self._retried(run, self._retry_deadline() if retry else 0.0)

    async def query(self, statement: Executable, *, retry: bool = True) -> CursorResult[Any]:
        """Execute one statement that reads.

        Raises:
            StoreError: The database failed.
        """
        return await self.read(lambda connection: connection.execute(statement), retry=retry)

    def insert(self, table: Table) -> postgresql.Insert | sqlite.Insert:
        """Return an insert that supports conflict clauses."""
        # The engine has imported its own dialect, and would not need the other one.
        if self.is_postgresql:
            from sqlalchemy.dialects import postgresql

            return postgresql.insert(table)
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)

    async def lock_name(self, connection: AsyncConnection, name: str) -> None:
        """Lock a name until the end of a transaction; in SQLite, writers exclude each other."""
        if self.is_postgresql:
            digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            number = int.from_bytes(digest, "big", signed=True)
            await connection.execute(select(func.pg_advisory_xact_lock(number)))

    async def _retried(self, work: Callable[[], Awaitable[_T]], deadline: float) -> _T:
        """Run work again after a transient failure, until the deadline."""
        while True:
            try:
                return await self._run(work)
            except StoreError as error:
                if not error.transient or time.monotonic() >= deadline:
                    raise
            await asyncio.sleep(_PAUSE)

    async def _run(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Run work in a separate task: cancelling a driver would lose its connection."""
        if not self.is_open:
            raise StoreError("the store must be open; use it as `async with MessageStore(...)`")

        async def run() -> _T:
            with translated_errors(f"the database {self}"):
                return await work()

        task = asyncio.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._done)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # The work ends before the caller continues.
            await asyncio.wait([task])
            raise

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, even if the caller was cancelled

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[AsyncConnection, None]:
        """Yield a connection whose busy timeout is set."""
        async with self._engine.connect() as connection:
            if self._owns_engine and not self.is_postgresql:
                wait = _BUSY_SECONDS if self._open_deadline is None else _OPENING_STEP_SECONDS
                if connection.info.get(_BUSY, _BUSY_SECONDS) != wait:
                    await connection.exec_driver_sql(f"PRAGMA busy_timeout={wait * 1000:.0f}")
                    connection.info[_BUSY] = wait
            yield connection

    async def _prepare(self) -> None:
        url = self._engine.url
        if not self.is_postgresql:
            _check_version()
            if self._owns_engine and (is_file(url) or url.query):
                # Checked first: a driver that fails to connect leaves a thread behind.
                await asyncio.to_thread(open_file, url, _OPENING_STEP_SECONDS)
        async with self._connected() as connection:
            if self._owns_engine and not self.is_postgresql:
                # In WAL mode readers and a writer do not block each other. Stored in the file.
                await connection.exec_driver_sql("PRAGMA journal_mode=WAL")


def _check_version() -> None:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        oldest = ".".join(map(str, _OLDEST_SQLITE))
        found = sqlite3.sqlite_version
        raise StoreError(f"SQLite must be {oldest} or newer, got {found}")


def in_batches(items: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """Return the parts of a sequence, each small enough for one statement."""
    return (items[start : start + BATCH_SIZE] for start in range(0, len(items), BATCH_SIZE))


async def insert_rows(
    connection: AsyncConnection, table: Table, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Insert rows with the same columns, in batches between which other tasks run."""
    for batch in in_batches(rows):
        await connection.execute(insert(table), batch)


@contextmanager
def translated_errors(what: str) -> Generator[None, None, None]:
    """Convert failures of the database to `StoreError`, without statements and values in the text.

    Raises:
        StoreError: The database failed; the `__cause__` is its exception.
    """
    try:
        yield
    except DBAPIError as error:
        transient = error.connection_invalidated or _is_transient(error)
        raise StoreError(f"{what} failed: {_first_line(error.orig)}", transient) from error
    except PoolTimeoutError as error:
        raise StoreError(f"{what} has no connection left; {_first_line(error)}", True) from error
    except SQLAlchemyError as error:
        raise StoreError(f"{what} failed: {type(error).__name__}") from error
    except (OSError, asyncio.TimeoutError) as error:
        raise StoreError(f"{what} cannot be reached: {_first_line(error)}", True) from error
    except Exception as error:
        # Exceptions that drivers raise without SQLAlchemy in between.
        if type(error).__module__.partition(".")[0] in ("asyncpg", "aiosqlite", "sqlite3"):
            raise StoreError(
                f"{what} failed: {_first_line(error)}", _is_transient(error)
            ) from error
        raise


def _is_transient(error: BaseException) -> bool:
    """Return True if an operation that failed with this error may succeed when retried."""
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


def _first_line(error: BaseException | None) -> str:
    if error is None:
        return "no details"
    # Only the first line: details below it may contain values.
    lines = str(error).splitlines()
    text = lines[0] if lines else ""
    # SQLAlchemy's classes for asyncpg prefix the text with the name of the class.
    return text.rpartition(">: ")[2] or type(error).__name__


def _engine(url: URL) -> AsyncEngine:
    if url.get_backend_name() != "sqlite":
        try:
            return create_async_engine(url, pool_pre_ping=True, hide_parameters=True)
        except (SQLAlchemyError, ImportError) as error:
            raise StoreError(
                f"the driver {url.drivername} cannot be used: {_first_line(error)}"
            ) from error
    # Pooled last-in, first-out: the connection used last already has its settings.
    pooling = {"poolclass": AsyncAdaptedQueuePool, "pool_use_lifo": True} if is_file(url) else {}
    engine = create_async_engine(
        url, hide_parameters=True, connect_args={"timeout": _BUSY_SECONDS}, **pooling
    )

    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        # Damaged text is decoded as far as possible, so that it does not fail a whole page of rows.
        driver: Any = connection.driver_connection
        driver.text_factory = _TEXT
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    return engine


async def _synchronize(connection: AsyncConnection, level: str) -> None:
    """Set the `synchronous` level of SQLite; a durable write makes all earlier ones durable too."""
    if connection.info.get(_SYNCHRONOUS, "FULL") != level:
        await connection.exec_driver_sql(f"PRAGMA synchronous={level}")
        connection.info[_SYNCHRONOUS] = level


async def _begin(connection: AsyncConnection, statement: str) -> None:
    """Begin a transaction in SQLite, unless the engine has already begun one."""
    raw = await connection.get_raw_connection()
    if not getattr(raw.driver_connection, "in_transaction", False):
        await connection.exec_driver_sql(statement)
