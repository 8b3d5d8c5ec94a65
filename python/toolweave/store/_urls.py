"""URLs of databases and their options."""

from __future__ import annotations

import sqlite3
from urllib.parse import urlencode

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from .. import _extras as extras
from ..exceptions import StoreError

_DRIVERS = {
    "sqlite": ("sqlite+aiosqlite", "aiosqlite", "store"),
    "postgresql": ("postgresql+asyncpg", "asyncpg", "postgres"),
    "postgres": ("postgresql+asyncpg", "asyncpg", "postgres"),
}
"""Driver, module and extra for each scheme of a URL."""

_SQLITE_OPTIONS = ("cache", "immutable", "mode", "modeof", "nolock", "psow", "uri", "vfs")
"""Options that SQLite reads in a URL; it silently ignores all others."""


def with_driver(url: str | URL) -> URL:
    """Return the URL with the driver that toolweave uses.

    Raises:
        StoreError: The URL cannot be parsed, names another kind of database, or has options that
            would be ignored.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError, TypeError):
        # The text is not repeated: it may contain a password.
        raise StoreError(
            "the URL of the store must be like sqlite:///chats.db or "
            "postgresql://user:password@host/database; the given one cannot be parsed"
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
    """Raise if SQLite would open another file than intended, or silently ignore an option."""
    path = url.database or ""
    # The values are not repeated: they may be secret.
    options = sorted(url.query)
    if path.startswith("file:") and url.query.get("uri") in ("true", "1"):
        unknown = [name for name in options if name not in _SQLITE_OPTIONS]
        if unknown:
            known = ", ".join(_SQLITE_OPTIONS)
            raise StoreError(f"the options of a SQLite URL must be {known}, got {unknown[0]!r}")
        return
    example = "sqlite:///file:chats.db?mode=rw&uri=true"
    if options:
        raise StoreError(
            f"the option {options[0]!r} would be ignored; a SQLite URL must have its options as in "
            f"{example}"
        )
    if path.startswith("file:"):
        raise StoreError(f"a name that begins with 'file:' must have uri=true, as in {example}")


def check_backend(name: str) -> None:
    """Raise unless a database is supported.

    Raises:
        StoreError: The database is neither SQLite nor PostgreSQL.
    """
    if name not in ("sqlite", "postgresql"):
        raise StoreError(f"the database of a store must be SQLite or PostgreSQL, got {name}")


def is_file(url: URL) -> bool:
    """Return True if a SQLite URL is the path of a file, without options."""
    return url.database not in (None, "", ":memory:") and not url.query


def open_file(url: URL, timeout: float) -> None:
    """Open a SQLite file, and create it if the URL allows it.

    Raises:
        OperationalError: The file cannot be opened.
    """
    path, options = str(url.database), {**url.query}
    if options.pop("uri", None) is not None:
        path = f"{path}?{urlencode(options, doseq=True)}"
    sqlite3.connect(path, timeout=timeout, uri=bool(url.query)).close()
