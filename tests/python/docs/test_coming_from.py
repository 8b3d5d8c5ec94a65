"""The pages for users of other libraries: their blocks run, each with the library that it shows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from loop_watchdog import Watchdog
from page_examples import Example, examples
from paths import DOCS

PAGES = sorted(set((DOCS / "coming-from").glob("*.md")) - {DOCS / "coming-from/index.md"})
TOPICS = (
    "An agent with a tool",
    "Instructions and dependencies",
    "Typed output",
    "Several turns",
    "Streaming",
    "Agents that use agents",
    "Limits of use",
    "Approval",
    "Tests",
    "A web application",
    "Without a counterpart",
)


def blocks_of_pages() -> list[object]:
    return [
        pytest.param(page, example, id=f"{page.stem}-{example.block.line}")
        for page in PAGES
        for example in examples(page.read_text("utf-8"))
    ]


@pytest.fixture
def event_loop() -> Iterator[None]:
    """Set an event loop: synchronous runs of other libraries create one and leave it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


@pytest.mark.usefixtures("event_loop")
@pytest.mark.parametrize(("page", "example"), blocks_of_pages())
def test_a_block_runs(
    page: Path,
    example: Example,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    loop_watchdog: Watchdog,
) -> None:
    monkeypatch.chdir(tmp_path)
    if "toolweave" not in example.block.code:
        # All tasks are those of the other library.
        loop_watchdog.leave_out("")
    example.run(str(page))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_each_topic_with_both_libraries(page: Path) -> None:
    lines = page.read_text("utf-8").splitlines()
    assert tuple(line[3:] for line in lines if line.startswith("## ")) == TOPICS
    starts = [number for number, line in enumerate(lines, 1) if line.startswith("## ")]
    found = examples("\n".join(lines))
    for topic, start, end in zip(TOPICS[:-1], starts, starts[1:], strict=False):
        codes = [each.block.code for each in found if start < each.block.line < end]
        assert any("toolweave" in code for code in codes), topic
        assert any("toolweave" not in code for code in codes), topic
