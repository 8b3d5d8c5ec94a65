"""Tests that a large registry is reloaded off the event loop."""

from __future__ import annotations

import asyncio
from pathlib import Path

from loop_watchdog import many
from sample_registries import SEARCH, registry_of
from toolweave.registry import ToolRegistry

LONG = SEARCH.replace("a search?", "a search? " + "Look at the words, é and ü too. " * 160)


def registry(size: int) -> str:
    tools = [LONG.replace('name="search"', f'name="search_{number}"') for number in range(size)]
    return registry_of(Thing="".join(tools))


def test_a_file_that_is_watched(tmp_path: Path) -> None:
    file = tmp_path / "tools.xml"
    file.write_text(registry(10), "utf-8")
    loaded = ToolRegistry.load(file)
    large = registry(many(2_000))

    async def main() -> None:
        toolset = loaded.toolset("Recipe")
        async with loaded.watch() as reloads:
            await asyncio.to_thread(file.write_text, large, "utf-8")
            while len(loaded.snapshot.entries) <= 10:
                await asyncio.wait_for(anext(reloads), 30)
        assert len(toolset) >= 10
        read = await asyncio.to_thread(ToolRegistry.load, file)
        assert read.fingerprint == loaded.fingerprint

    asyncio.run(main())
