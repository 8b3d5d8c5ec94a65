"""Watch that reloads a registry whenever its files change."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .._extras import require
from ..exceptions import RegistryError, ToolweaveError
from ._sources import is_registry_file

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from types import TracebackType

    from typing_extensions import Self

    from .._core import Diagnostic

log = logging.getLogger("toolweave.registry")

_MAX_PENDING = 100
"""Maximum number of reloads that wait to be consumed; older ones are dropped."""


class _Reloadable(Protocol):
    """Registry that can be read again."""

    def reload(self) -> bool: ...


@dataclass(frozen=True)
class Reload:
    """Outcome of a reload."""

    changed: bool
    """True if the tools have changed."""
    error: ToolweaveError | OSError | None = None
    """Error of the file; the registry has then not changed."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Diagnostics of the file, if it has errors."""
        return self.error.diagnostics if isinstance(self.error, RegistryError) else ()


class RegistryWatch:
    """Watch over the sources of a registry, for the duration of an ``async with`` block.

    It is an async iterator over the reloads, which need not be consumed; see
    `ToolRegistry.watch`.
    """

    def __init__(self, registry: _Reloadable, *paths: Path, poll: float | None = None) -> None:
        """Prefer `ToolRegistry.watch`.

        Args:
            registry: The registry to reload.
            *paths: The files and folders to watch.
            poll: Interval in seconds at which URLs are read again; None for never.
        """
        self._awatch: Callable[..., AsyncGenerator[object, None]] = require(
            "watchfiles", "nlweb"
        ).awatch
        self._registry = registry
        self._poll = poll
        self._folders = {path for path in paths if path.is_dir()}
        self._files = [path for path in paths if path not in self._folders]
        self._reading = asyncio.Lock()
        self._failed: str | None = None
        self._reloads: deque[Reload] = deque(maxlen=_MAX_PENDING)
        self._wakeup = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._task is not None:
            raise RuntimeError("a watch can be entered only once; call registry.watch() again")
        self._task = asyncio.create_task(self._follow())
        self._task.add_done_callback(lambda _: self._wakeup.set())
        try:
            # The task runs until its first await, from where on the system watches.
            await asyncio.sleep(0)
            if self._task.done():
                self._task.result()
            # Changes before that are not reported by the system.
            await self._read()
        except BaseException:
            await self._end(self._task)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._task is not None:
            await self._end(self._task)

    @staticmethod
    async def _end(task: asyncio.Task[None]) -> None:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            # It has been logged, and raised for the consumer.
            task.exception()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Reload:
        while not self._reloads:
            if self._task is None:
                raise RuntimeError(
                    "reloads must be consumed within: async with registry.watch() as reloads"
                )
            if self._task.done():
                if not self._task.cancelled():
                    self._task.result()
                raise StopAsyncIteration
            self._wakeup.clear()
            await self._wakeup.wait()
        return self._reloads.popleft()

    async def _follow(self) -> None:
        # Editors replace files, so the folders are watched. Both a link and its target may change.
        folders = {folder.resolve() for folder in self._folders}
        for file in self._files:
            folders |= {file.absolute().parent, file.resolve().parent}
        polling = (
            None if self._poll is None else asyncio.create_task(self._poll_sources(self._poll))
        )
        try:
            if not folders:
                await asyncio.get_running_loop().create_future()
            changes = self._awatch(
                *sorted(folders),
                watch_filter=self._is_relevant,
                recursive=False,
            )
            async with contextlib.aclosing(changes):
                async for _ in changes:
                    await self._read()
        except Exception:
            paths = ", ".join(str(path) for path in [*self._files, *sorted(self._folders)])
            log.exception("the file is not watched any more", extra={"path": paths})
            raise
        finally:
            if polling is not None:
                await self._end(polling)

    async def _poll_sources(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            await self._read()

    def _is_relevant(self, _change: object, name: str) -> bool:
        path = Path(name)
        # Links between the path and the file may have other names.
        if path.is_symlink() or any(path.name in (f.name, f.resolve().name) for f in self._files):
            return True
        return is_registry_file(path) and path.parent.resolve() in {
            f.resolve() for f in self._folders
        }

    async def _read(self) -> None:
        async with self._reading:
            try:
                reload = Reload(await asyncio.to_thread(self._registry.reload))
            except (ToolweaveError, OSError) as err:
                reload = Reload(False, err)
        failed = None if reload.error is None else f"{type(reload.error).__name__}: {reload.error}"
        # An error is reported once, and its end as well.
        if reload.changed or failed != self._failed:
            if failed is not None:
                log.warning(
                    "the registry stays as it was: %s",
                    reload.error,
                    extra={"diagnostics": len(reload.diagnostics)},
                )
            self._failed = failed
            self._reloads.append(reload)
            self._wakeup.set()
