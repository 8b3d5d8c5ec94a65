"""Tests of watches over files in a real folder."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sample_registries import DETAILS, SEARCH, SHOP, names, registry_of
from toolweave.exceptions import RegistryError
from toolweave.registry import RegistryWatch, Reload, ToolRegistry

ONE, TWO = registry_of(Thing=SEARCH), registry_of(Thing=SEARCH + DETAILS)
BROKEN = TWO[:-4]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "tools.xml"
    path.parent.mkdir()
    path.write_text(ONE, "utf-8")
    return path


# Changes of the file by other programs; they may block the loop, which is idle.


def write(file: Path, text: str) -> None:
    file.write_text(text, "utf-8")


def replace(file: Path, text: str) -> None:
    """Replace a file in one step, so that it is never seen half written."""
    other = file.with_name("other")
    other.write_text(text, "utf-8")
    other.replace(file)


def move_to_backup(file: Path) -> None:
    file.rename(file.with_name("tools.xml~"))


def remove(path: Path) -> None:
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink()


async def next_reload(reloads: RegistryWatch) -> Reload:
    return await asyncio.wait_for(anext(reloads), 30)


async def until_changed(reloads: RegistryWatch) -> None:
    """Wait until the registry has changed, since a file may be read half written."""
    while not (await next_reload(reloads)).changed:
        pass


def test_a_file_that_changes_is_read_again(file: Path) -> None:
    async def main() -> None:
        registry = ToolRegistry.load(file)
        async with registry.watch() as reloads:
            write(file, TWO)
            await until_changed(reloads)
            assert names(registry, "Recipe") == ["search", "details"]
            write(file, ONE)
            await until_changed(reloads)
            assert names(registry, "Recipe") == ["search"]

    asyncio.run(main())


def test_a_file_replaced_by_an_editor_is_read_again(file: Path) -> None:
    async def main() -> None:
        registry = ToolRegistry.load(file)
        async with registry.watch() as reloads:
            for text in (TWO, ONE, TWO):
                # As most editors save, and as `ToolRegistry.write` does.
                other = file.with_name(".tools.xml.swp")
                other.write_text(text, "utf-8")
                other.replace(file)
                await until_changed(reloads)
                assert registry.fingerprint == ToolRegistry.loads(text).fingerprint
            # As other editors save: the old file becomes the backup.
            move_to_backup(file)
            write(file, ONE)
            await until_changed(reloads)
            assert names(registry, "Thing") == ["search"]

    asyncio.run(main())


def test_a_broken_file_is_reported_with_its_diagnostics_and_changes_nothing(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        registry = ToolRegistry.load(file)
        before = registry.snapshot
        async with registry.watch() as reloads:
            replace(file, BROKEN)
            reload = await next_reload(reloads)
            assert reload.changed is False
            assert isinstance(reload.error, RegistryError)
            assert reload.diagnostics == reload.error.diagnostics
            assert reload.diagnostics[0].severity == "error"
            assert registry.snapshot is before
            replace(file, ONE)
            assert await next_reload(reloads) == Reload(changed=False)
            remove(file)
            assert isinstance((await next_reload(reloads)).error, FileNotFoundError)
            assert registry.snapshot is before
            replace(file, TWO)
            assert await next_reload(reloads) == Reload(changed=True)

    with caplog.at_level(logging.WARNING, "toolweave.registry"):
        asyncio.run(main())
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert str(file) in caplog.text


def test_changes_before_the_watch_started_are_read(file: Path) -> None:
    async def main() -> None:
        registry = ToolRegistry.load(file)
        write(file, TWO)
        async with registry.watch() as reloads:
            assert names(registry, "Thing") == ["search", "details"]
            assert await next_reload(reloads) == Reload(changed=True)

    asyncio.run(main())


def test_reloads_need_no_consumer(file: Path) -> None:
    async def main() -> None:
        registry = ToolRegistry.load(file)
        arrived = asyncio.Event()
        loop = asyncio.get_running_loop()

        class Arrival(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                if record.getMessage() == "registry read":
                    loop.call_soon_threadsafe(arrived.set)

        handler = Arrival()
        logger = logging.getLogger("toolweave.registry")
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            async with registry.watch():
                replace(file, TWO)
                await asyncio.wait_for(arrived.wait(), 30)
                assert names(registry, "Thing") == ["search", "details"]
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)

    asyncio.run(main())


def test_a_link_with_a_new_target_is_followed(tmp_path: Path) -> None:
    """As clusters mount configuration: tools.xml -> ..data/tools.xml, ..data -> ..1."""
    for number, text in (("..1", ONE), ("..2", TWO)):
        (tmp_path / number).mkdir()
        (tmp_path / number / "tools.xml").write_text(text, "utf-8")
    (tmp_path / "..data").symlink_to("..1")
    file = tmp_path / "tools.xml"
    file.symlink_to("..data/tools.xml")

    async def main() -> None:
        registry = ToolRegistry.load(file)
        async with registry.watch() as reloads:
            other = tmp_path / "..tmp"
            other.symlink_to("..2")
            other.replace(tmp_path / "..data")
            await until_changed(reloads)
            assert names(registry, "Thing") == ["search", "details"]

    asyncio.run(main())


def test_other_files_of_the_folder_are_ignored(file: Path) -> None:
    async def main() -> None:
        registry = ToolRegistry.load(file)
        async with registry.watch() as reloads:
            for number in range(20):
                file.with_name(f"other_{number}.xml").write_text(BROKEN, "utf-8")
            replace(file, TWO)
            # The first reload is of the file itself.
            assert await next_reload(reloads) == Reload(changed=True)

    asyncio.run(main())


def test_a_watch_ends_with_its_block(file: Path) -> None:
    async def main() -> None:
        registry = ToolRegistry.load(file)
        watch = registry.watch()
        async with watch as reloads:
            waiting = asyncio.create_task(anext(reloads))
            await asyncio.sleep(0)
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(waiting, 30)
        assert [reload async for reload in watch] == []
        with pytest.raises(RuntimeError, match="only once"):
            await watch.__aenter__()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_a_watch_may_be_cancelled(file: Path) -> None:
    async def main() -> None:
        registry = ToolRegistry.load(file)
        entered = asyncio.Event()

        async def follow() -> None:
            async with registry.watch() as reloads:
                entered.set()
                async for _ in reloads:
                    pass

        following = asyncio.create_task(follow())
        await asyncio.wait_for(entered.wait(), 30)
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(following, 30)

    asyncio.run(main())


def test_iterating_over_a_watch_requires_a_block(file: Path) -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match="async with"):
            await anext(ToolRegistry.load(file).watch())

    asyncio.run(main())


def test_a_missing_folder_cannot_be_watched(file: Path) -> None:
    async def main() -> None:
        registry = ToolRegistry.load(file)
        remove(file)
        remove(file.parent)
        with pytest.raises(FileNotFoundError):
            async with registry.watch():
                pass

    asyncio.run(main())


def test_a_missing_package_is_reported_with_its_extra(file: Path) -> None:
    program = (
        "import sys; sys.modules['watchfiles'] = None\n"
        "from toolweave import ToolRegistry\n"
        "try: ToolRegistry.load(sys.argv[1]).watch()\n"
        "except ImportError as err: print(err)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(file)],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ,
    )
    assert done.stdout == (
        "the package watchfiles is not installed; pip install 'toolweave[nlweb]'\n"
    )


def test_a_file_keeps_its_handlers_while_it_is_watched(file: Path) -> None:
    async def main() -> None:
        registry = ToolRegistry.load(file)

        @registry.handler("details", type="Recipe")
        def details(item_name: str) -> str:
            return item_name

        async with registry.watch() as reloads:
            replace(file, SHOP)
            await until_changed(reloads)
            [_, entry] = registry.tools_for("Recipe")
            assert entry.type == "Recipe"
            assert registry.handler_for(entry) is details

    asyncio.run(main())


def test_a_watch_cancelled_while_it_starts_is_stopped(file: Path) -> None:
    reading, release = threading.Event(), threading.Event()

    class Slow(ToolRegistry):
        def reload(self) -> bool:
            reading.set()
            release.wait(30)
            return False

    async def main() -> None:
        async def follow() -> None:
            async with RegistryWatch(Slow(), file):
                pass

        following = asyncio.create_task(follow())
        assert await asyncio.to_thread(reading.wait, 30)
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(following, 30)
        assert len(asyncio.all_tasks()) == 1
        release.set()

    asyncio.run(main())


def test_an_unexpected_error_ends_the_watch_and_is_raised(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Odd(ToolRegistry):
        reads = 0

        def reload(self) -> bool:
            self.reads += 1
            if self.reads > 1:
                raise RuntimeError("odd")
            return True

    async def main() -> None:
        async with RegistryWatch(Odd(), file) as reloads:
            assert await next_reload(reloads) == Reload(changed=True)
            replace(file, TWO)
            with pytest.raises(RuntimeError, match="odd"):
                await next_reload(reloads)

    with caplog.at_level(logging.ERROR, "toolweave.registry"):
        asyncio.run(main())
    assert [record.getMessage() for record in caplog.records] == [
        "the file is not watched any more"
    ]
