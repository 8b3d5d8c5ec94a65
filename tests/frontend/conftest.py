"""Fixtures of the page's tests: the browser, the servers, and monitored windows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from browser import ARGUMENTS, MISSING, find
from paging import ChatPage, OpenPage, Watch
from serving import TEST_TIMEOUT, ScriptedServer, ServerProcess, demo_server, running

expect.set_options(timeout=TEST_TIMEOUT * 1000)


# The driver keeps an event loop running to the end: tests with loops need processes of their own.
@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Launch headless Chromium."""
    path = find()
    assert path is not None, MISSING
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def scripted_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedServer]:
    """Run a scripted server."""
    yield from running(ScriptedServer(tmp_path_factory.mktemp("scripted")))


@pytest.fixture
def scripted(scripted_process: ScriptedServer) -> ScriptedServer:
    """Return the scripted server, reset."""
    scripted_process.forget()
    return scripted_process


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Run `toolweave demo`."""
    yield from running(demo_server(tmp_path_factory.mktemp("demo")))


@pytest.fixture
def killable(tmp_path: Path) -> Iterator[ScriptedServer]:
    """Run a scripted server for one test, which may kill it."""
    yield from running(ScriptedServer(tmp_path))


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Return a function that opens a server's page in a new browser context.

    With `same_browser_as`, the page shares the context of another.
    """
    contexts = []
    watches: list[Watch] = []

    def opened(
        server: ServerProcess, *, same_browser_as: ChatPage | None = None, **options: Any
    ) -> ChatPage:
        if same_browser_as is not None:
            page = same_browser_as.page.context.new_page()
            page.goto(same_browser_as.page.url)
            return ChatPage(page, server, same_browser_as.watch)
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        context.set_default_timeout(TEST_TIMEOUT * 1000)
        watches.append(Watch(context, server))
        page = context.new_page()
        page.goto(f"{server.url}/")
        return ChatPage(page, server, watches[-1])

    yield opened
    for context in contexts:
        context.close()
    assert [trouble for watch in watches for trouble in watch.troubles] == []
