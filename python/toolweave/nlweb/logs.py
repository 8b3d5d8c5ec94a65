"""Warnings on standard error where nobody has configured logging.

NLWeb configures loggers of its own and leaves the others alone, so that what a library warns of
would be lost.
"""

from __future__ import annotations

import logging


class UnconfiguredHandler(logging.Handler):
    """Shows warnings as the logging module does that has no handlers, and only then."""

    def emit(self, record: logging.LogRecord) -> None:
        """Shows a record, unless somebody else does."""
        shown = logging.lastResort
        if shown is None or record.levelno < shown.level or self._is_configured(record.name):
            return
        shown.handle(record)

    def _is_configured(self, name: str) -> bool:
        """Return True if a logger that a record passes has a handler that shows it."""
        logger: logging.Logger | None = logging.getLogger(name)
        while logger is not None:
            for handler in logger.handlers:
                if not isinstance(handler, (UnconfiguredHandler, logging.NullHandler)):
                    return True
            logger = logger.parent if logger.propagate else None
        return False


def show_warnings() -> None:
    """Show warnings of queries to NLWeb where logging is not configured."""
    for area in ("handlers", "nlweb", "registry", "selection"):
        logger = logging.getLogger(f"toolweave.{area}")
        if not any(isinstance(handler, UnconfiguredHandler) for handler in logger.handlers):
            logger.addHandler(UnconfiguredHandler())
