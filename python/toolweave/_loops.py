"""The event loop: asyncio's, or a sentence that says so."""

from __future__ import annotations

import asyncio
import sys


def running_loop() -> asyncio.AbstractEventLoop:
    """The event loop that runs in this thread.

    Raises:
        RuntimeError: None does; another library may run the coroutine, such as trio.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        library = _library()
    here = "no event loop of asyncio runs here" if library is None else f"this is {library}"
    raise RuntimeError(f"toolweave runs on asyncio only, and {here}: use asyncio.run")


def _library() -> str | None:
    """The name of the library that runs coroutines in this thread, if it tells it, as trio does."""
    sniffio = sys.modules.get("sniffio")
    if sniffio is None:
        return None
    try:
        return str(sniffio.current_async_library())
    except sniffio.AsyncLibraryNotFoundError:
        return None
