"""The page that `docs/how-to/own-page.md` writes, in a browser."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, expect

from markdown_blocks import blocks
from page_examples import examples
from paths import DOCS

GUIDE = DOCS / "how-to/own-page.md"


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an application in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def test_the_page_of_the_guide_shows_texts_and_asks_for_approval(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text("utf-8")
    files = {block.language: block.code for block in blocks(text)}
    Path("site/assets").mkdir(parents=True)
    Path("site/index.html").write_text(files["html"], "utf-8")
    Path("site/assets/chat.js").write_text(files["js"], "utf-8")
    [shop] = examples(text)
    namespace, _ = shop.run(str(GUIDE))
    troubles: list[str] = []
    with served(namespace["app"]) as url, browser.new_context() as context:
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.location["url"]))
        page.goto(url)
        page.get_by_label("Message").fill("We need bolts.")
        page.get_by_role("button", name="Send").click()
        page.get_by_role("button", name="Allow the call").click()
        expect(page.locator("#chat p")).to_have_text(
            ["We need bolts.", "I can. ", "They arrive on Friday."]
        )
        # Some browsers look for an icon, which the page of the guide does not have.
        assert [place for place in troubles if place != f"{url}/favicon.ico"] == []
