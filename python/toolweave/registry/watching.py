"""A registry that is read again whenever its file changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..exceptions import RegistryError, ToolweaveError
from ..extras import require
from .sources import is_registry_file

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from types import TracebackType

    from typing_extensions import Self

    from .._core import Diagnostic
    from .registry import ToolRegistry

log = logging.getLogger("toolweave.registry")

_MAX_PENDING = 100
"""So many reloads wait for someone to ask for them; older ones are forgotten."""


class _Awatch(Protocol):
    """What is used of watchfiles."""

    def __call__(
        self,
        *paths: Path,
        watch_filter: Callable[[object, str], bool],
        recursive: bool,
    ) -> AsyncGenerator[object, None]: ...


@dataclass(frozen=True)
class Reload:
    """What came of reading the file again."""

    changed: bool
    """Whether the registry says anything else than before."""
    error: ToolweaveError | OSError | None = None
    """Why the file cannot be used; the registry is then as it was."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the file, where that is why it cannot be used."""
        return self.error.diagnostics if isinstance(self.error, RegistryError) else ()


class RegistryWatch:
    """Follows what a registry is from while an ``async with`` block lasts.

    It is an iterator over the reloads, for whoever wants to know of them; see
    `ToolRegistry.watch`.
    """

    def __init__(self, registry: ToolRegistry, *paths: Path, poll: float | None = None) -> None:
        """Prefer `ToolRegistry.watch`.

        Args:
            registry: The registry, which is read again.
            *paths: Files, and folders of files.
            poll: After how many seconds it is read again though nothing was seen to change, since
                some of it is elsewhere; None for never.
        """
        self._awatch: _Awatch = require("watchfiles", "nlweb").awatch
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
            raise RuntimeError("a watch is for one block; ask the registry for another")
        self._task = asyncio.create_task(self._follow())
        self._task.add_done_callback(lambda _: self._wakeup.set())
        try:
            # The task runs up to its first wait, and then the system watches.
            await asyncio.sleep(0)
            if self._task.done():
                self._task.result()
            # Of what was written before that, nobody is told.
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
            # It has been logged, and whoever listened has been told.
            task.exception()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Reload:
        while not self._reloads:
            if self._task is None:
                raise RuntimeError(
                    "reloads come in a block: async with registry.watch() as reloads"
                )
            if self._task.done():
                if not self._task.cancelled():
                    self._task.result()
                raise StopAsyncIteration
            self._wakeup.clear()
            await self._wakeup.wait()
        return self._reloads.popleft()

    async def _follow(self) -> None:
        # Editors put another file in the place of the old one, so it is the folder that is
        # watched. What a link leads to may change as well as the link.
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
                watch_filter=lambda _, path: self._is_relevant(Path(path)),
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

    def _is_relevant(self, path: Path) -> bool:
        # Links between the path and the file may have any name.
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
        # One fault is told once, and that it is gone is worth telling as well.
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
