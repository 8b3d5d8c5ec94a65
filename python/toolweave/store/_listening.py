"""The connection for notifications from PostgreSQL."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any

from ..exceptions import StoreError
from ._database import translated_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.ext.asyncio import AsyncConnection

    from ._database import Database

_log = logging.getLogger("toolweave.store")

_PAUSE = 0.5
"""Minimum number of seconds between attempts to connect."""


class Listener:
    """A listener on a separate connection, which does not count against the pool.

    Args:
        database: The database; the listener does nothing unless it is PostgreSQL.
        on_change: Callback with the id of a changed chat and its revision.
        on_disconnect: Callback for the end of the connection, and for each new connection.
    """

    def __init__(
        self,
        database: Database,
        on_change: Callable[[str, int], None],
        on_disconnect: Callable[[], None],
    ) -> None:
        self._database = database
        self._on_change = on_change
        self._on_disconnect = on_disconnect
        self._connection: AsyncConnection | None = None
        self._is_alive = False
        self._has_failed = False
        self._next_attempt = 0.0

    @property
    def is_connected(self) -> bool:
        """True if all changes are being notified."""
        return self._is_alive

    async def connect(self) -> None:
        """Try to connect, unless the last attempt was too recent."""
        if not self._database.is_postgresql or time.monotonic() < self._next_attempt:
            return
        self._next_attempt = time.monotonic() + _PAUSE
        await self.close()
        try:
            with translated_errors(f"listening to {self._database}"):
                await self._connect()
        except StoreError as error:
            if not self._has_failed:
                _log.warning("changes are not notified", extra={"error": str(error)})
            self._has_failed = True
            return
        if self._has_failed:
            _log.info("changes are notified again")
        self._has_failed = False
        # Changes before the connection was established are polled once.
        self._on_disconnect()

    async def close(self) -> None:
        """Close the connection."""
        self._is_alive = False
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                with translated_errors("the end of listening"):
                    await connection.close()
            except StoreError:
                _log.debug("the connection that listened had ended")

    async def _connect(self) -> None:
        connection = await self._database.engine.connect()
        self._connection = connection
        raw = await connection.get_raw_connection()
        driver: Any = raw.driver_connection
        if not hasattr(driver, "add_listener"):
            raise StoreError(
                "the driver must support notifications, such as postgresql+asyncpg, got "
                f"{self._database.engine.dialect.driver}"
            )
        # Detached, the connection is not returned to the pool and does not count against it.
        raw.detach()
        loop = asyncio.get_running_loop()

        def on_notification(*arguments: object) -> None:
            revision, _, chat_id = str(arguments[-1]).partition(" ")
            self._on_change(chat_id, int(revision))

        def on_terminated(*_: object) -> None:
            self._is_alive = False
            if not loop.is_closed():
                self._on_disconnect()

        driver.add_termination_listener(on_terminated)
        await driver.add_listener(self._database.channel, on_notification)
        self._is_alive = True
