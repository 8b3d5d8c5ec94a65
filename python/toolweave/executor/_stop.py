"""Reasons to stop a running call."""

from __future__ import annotations

from enum import Enum


class Stop(Enum):
    """Reason why a call is stopped."""

    TIMEOUT = "timeout"
    """The timeout has passed."""
    IDLE = "idle"
    """The idle timeout has passed."""
    INTERRUPTED = "interrupted"
    """The run was cancelled, so the result is no longer needed."""
