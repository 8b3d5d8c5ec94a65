"""Tutorial and how-to pages: their blocks run in new namespaces, and print what the pages show."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from starlette.applications import Starlette

from chat_servers import on_a_server, serve
from markdown_blocks import blocks
from page_examples import Example, examples
from paths import DOCS, PAGES
from toolweave import cli

# Pages with tests of their own.
APART = {"testing.md", "deployment.md"}
SAVED = re.compile(r"(?s)as `([\w./]+)`:\n\n```(?:html|js|json|xml)\n(.*?)```\n")
LESSONS = [DOCS / "index.md"] + [
    page for page in PAGES if page.parent.name in ("tutorial", "how-to") and page.name not in APART
]


def shown_output(page: Path, example: Example) -> str | None:
    """Return the output that the page shows right below a block; None if it shows none."""
    found = blocks(page.read_text("utf-8"))
    place = [block.line for block in found].index(example.block.line)
    code, following = example.block, found[place + 1 : place + 2]
    end = code.line + code.code.count("\n")
    if following and following[0].language == "text" and following[0].line == end + 3:
        return following[0].code.strip("\n")
    return None


def printed_by(page: Path, example: Example, **given: Any) -> str:
    """Return what a block and the blocks before it print."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        _, running = example.run(str(page), **given)
        if inspect.iscoroutine(running):
            asyncio.run(running)
    return printed.getvalue()


def output_of(page: Path, example: Example, **given: Any) -> str:
    """Return what a block prints, without what the blocks before it print."""
    before = printed_by(page, example.predecessor, **given) if example.predecessor else ""
    return printed_by(page, example, **given).removeprefix(before)


def saved_files(page: Path) -> list[tuple[str, str]]:
    """Return the names and texts of the files other than programs that a page lets readers save."""
    return SAVED.findall(page.read_text("utf-8"))


def lessons() -> Iterator[Any]:
    for page in LESSONS:
        for example in examples(page.read_text("utf-8")):
            if not example.given:
                yield pytest.param(page, example, id=f"{page.stem}-{example.block.line}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("page", "example"), list(lessons()))
def test_a_block_prints_what_its_page_shows(page: Path, example: Example, folder: Path) -> None:
    for name, text in saved_files(page):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    printed = output_of(page, example)
    shown = shown_output(page, example)
    if shown is not None:
        assert printed.strip("\n") == shown


@pytest.mark.usefixtures("folder")
def test_the_client_of_the_page_approves_the_call() -> None:
    page = DOCS / "tutorial/page.md"
    shop, client = examples(page.read_text("utf-8"))
    namespace, _ = shop.run(str(page))

    async def approve(app: Starlette) -> None:
        async with serve(app) as server:
            printed = await asyncio.to_thread(output_of, page, client, url=str(server.base_url))
        assert printed.strip("\n") == shown_output(page, client)

    on_a_server(approve)(namespace["app"])


@pytest.mark.usefixtures("folder")
def test_the_line_of_the_page_that_denies_the_call_gives_the_model_the_reason() -> None:
    page = DOCS / "tutorial/page.md"
    text = page.read_text("utf-8")
    [deny] = [block.code.strip() for block in blocks(text) if "approve(chat" in block.code][1:]
    shop, client = examples(text.replace('client.approve(chat, event["key"])\n', f"{deny}\n", 1))
    namespace, _ = shop.run(str(page))

    async def refuse(app: Starlette) -> None:
        async with serve(app) as server:
            await asyncio.to_thread(printed_by, page, client, url=str(server.base_url))

    on_a_server(refuse)(namespace["app"])
    _, second = namespace["model"].requests
    assert "We have enough bolts." in str(second)
    assert "arrive on Friday" not in str(second)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_commands_of_a_page_have_the_options_that_it_gives_them(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def accept(_: object) -> int:
        return 0

    for name, command in cli.COMMANDS.items():
        assert isinstance(command, ModuleType), name
        monkeypatch.setattr(command, "run", accept)
    for block in blocks(page.read_text("utf-8")):
        if block.language != "console":
            continue
        for line in block.code.splitlines():
            _, _, called = line.partition("$ toolweave ")
            if called:
                arguments = shlex.split(called.replace("\\", ""), comments=True)
                try:
                    cli.main(arguments)
                except SystemExit as stop:
                    assert not stop.code, (line, capsys.readouterr().err)
