"""Warnings on standard error if logging is not configured.

A library drops its records where the application has no handler. Servers that configure only their
own loggers, as uvicorn and NLWeb do, would lose the reason why a run or a tool has failed.
"""

from __future__ import annotations

import logging


class UnconfiguredHandler(logging.Handler):
    """Handler that shows warnings like `logging.lastResort`, only if no other handler would."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record, unless another handler does."""
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
    """Show the warnings of this package if logging is not configured."""
    logger = logging.getLogger(__package__)
    if not any(isinstance(handler, UnconfiguredHandler) for handler in logger.handlers):
        logger.addHandler(UnconfiguredHandler())
