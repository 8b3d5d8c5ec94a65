"""URLs of databases: which there are, and what they may ask for."""

from __future__ import annotations

import sqlite3
from urllib.parse import urlencode

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from .. import extras
from ..exceptions import StoreError

_DRIVERS = {
    "sqlite": ("sqlite+aiosqlite", "aiosqlite", "store"),
    "postgresql": ("postgresql+asyncpg", "asyncpg", "postgres"),
    "postgres": ("postgresql+asyncpg", "asyncpg", "postgres"),
}
"""By what a URL begins with: the driver, its module and the extra that brings it."""

_SQLITE_OPTIONS = ("cache", "immutable", "mode", "modeof", "nolock", "psow", "uri", "vfs")
"""What SQLite reads in a URL of its own; all else it would leave out without a word."""


def with_driver(url: str | URL) -> URL:
    """The URL with the driver that we use.

    Raises:
        StoreError: It cannot be read, is of another kind of database, or asks for what would be
            ignored.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError, TypeError):
        # The text is not repeated: it may hold a password.
        raise StoreError(
            "the URL of the store cannot be read; it looks like sqlite:///chats.db or "
            "postgresql://user:password@host/database"
        ) from None
    if parsed.drivername in _DRIVERS:
        driver, module, extra = _DRIVERS[parsed.drivername]
        extras.require(module, extra)
        parsed = parsed.set(drivername=driver)
    check_backend(parsed.get_backend_name())
    if parsed.get_backend_name() == "sqlite":
        _check_sqlite_options(parsed)
    return parsed


def _check_sqlite_options(url: URL) -> None:
    """Refuses what would open another file than is meant, or be left out without a word."""
    path = url.database or ""
    # The values are not repeated: people put anything into URLs.
    options = sorted(url.query)
    if path.startswith("file:") and url.query.get("uri") in ("true", "1"):
        unknown = [name for name in options if name not in _SQLITE_OPTIONS]
        if unknown:
            known = ", ".join(_SQLITE_OPTIONS)
            raise StoreError(f"SQLite has no option {unknown[0]!r} in a URL; it has {known}")
        return
    example = "sqlite:///file:chats.db?mode=rw&uri=true"
    if options:
        raise StoreError(
            f"the option {options[0]!r} would be ignored; a URL of SQLite takes options only as "
            f"in {example}"
        )
    if path.startswith("file:"):
        raise StoreError(f"a name that begins with 'file:' needs uri=true, as in {example}")


def check_backend(name: str) -> None:
    """Refuses other kinds of databases.

    Raises:
        StoreError: It is one.
    """
    if name not in ("sqlite", "postgresql"):
        raise StoreError(f"a store is kept in SQLite or PostgreSQL, not in {name}")


def is_file(url: URL) -> bool:
    """Whether it is the path of a file, and nothing but that."""
    return url.database not in (None, "", ":memory:") and not url.query


def open_file(url: URL, retry_timeout: float) -> None:
    """Opens a file of SQLite, and makes it if the URL lets it be made.

    Raises:
        OperationalError: It cannot be opened.
    """
    path, options = str(url.database), {**url.query}
    if options.pop("uri", None) is not None:
        path = f"{path}?{urlencode(options, doseq=True)}"
    sqlite3.connect(path, timeout=retry_timeout, uri=bool(url.query)).close()
