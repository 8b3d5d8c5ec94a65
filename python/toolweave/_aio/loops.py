"""The running event loop, which must be asyncio's."""

from __future__ import annotations

import asyncio
import sys


def running_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop that runs in this thread.

    Raises:
        RuntimeError: No asyncio event loop is running; another library, such as trio, may be.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        library = _library()
    here = "no event loop of asyncio runs here" if library is None else f"this is {library}"
    raise RuntimeError(f"toolweave runs on asyncio only, and {here}: use asyncio.run")


def _library() -> str | None:
    """Return the name of the async library that runs this thread, if sniffio knows it."""
    sniffio = sys.modules.get("sniffio")
    if sniffio is None:
        return None
    try:
        return str(sniffio.current_async_library())
    except sniffio.AsyncLibraryNotFoundError:
        return None
