"""Functions that process pools and clusters import from this module."""

from __future__ import annotations

import os
import threading
import time
import uuid


class UnpicklableError(Exception):
    """An exception that cannot be unpickled: it takes two arguments and pickles one."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")


def add(a: int, b: int) -> int:
    return a + b


def process_id(seconds: float = 0.0) -> int:
    time.sleep(seconds)
    return os.getpid()


def ticket() -> str:
    return uuid.uuid4().hex


def divide(a: int, b: int) -> float:
    return a / b


def touchy() -> None:
    raise UnpicklableError("kitchen", "on fire")


def lock() -> object:
    return threading.Lock()


def die() -> None:
    os._exit(1)
