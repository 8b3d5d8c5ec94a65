"""Why a call is stopped from outside."""

from __future__ import annotations

from enum import Enum


class Stop(Enum):
    """Why a call is stopped from outside."""

    TIMEOUT = "timeout"
    """It took too long."""
    IDLE = "idle"
    """It reported nothing for too long."""
    INTERRUPTED = "interrupted"
    """Nobody waits for it any more."""
