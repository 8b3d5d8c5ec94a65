"""Consistency of docs/explanation/web.md with the code."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.routing import Route

from chat_servers import QUICK, on_a_server, serve
from markdown_blocks import blocks
from page_examples import examples
from paths import DOCS
from toolweave import Agent
from toolweave.store import MessageStore
from toolweave.testing import ScriptedModel
from toolweave.tools import RateLimit
from toolweave.web import AgentResponder, Page, WebLimits, chat_app

PAGE = DOCS / "explanation/web.md"
TEXT = PAGE.read_text("utf-8")


def rows(heading: str) -> list[list[str]]:
    """Return the rows of the table under a heading, without the header."""
    section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_blocks_run_and_the_client_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    apps: list[dict[str, Any]] = []
    clients: list[dict[str, Any]] = []
    for example in examples(TEXT):
        namespace, _ = example.run(str(PAGE))
        (apps if "app" in namespace else clients).append(namespace)
    [documented] = [block.code for block in blocks(TEXT) if block.language == "text"]
    printed = io.StringIO()

    @on_a_server
    async def ask() -> None:
        async with serve(apps[0]["app"]) as client:
            with contextlib.redirect_stdout(printed):
                await clients[0]["ask"](str(client.base_url))
        secured = [each["app"] for each in apps if "user" in each]
        assert len(secured) == 2
        for app in secured:
            async with serve(app) as client:
                assert (await client.get("/chats")).status_code == 401
                session = {"cookie": "session=a-long-random-value"}
                assert (await client.get("/chats", headers=session)).status_code == 200
        async with serve(apps[-1]["app"]) as client:
            assert "<title>Sums</title>" in (await client.get("/")).text
            assert (await client.get("/logo")).status_code == 200

    ask()
    assert printed.getvalue() == documented


def test_the_limits_are_those_of_the_server() -> None:
    documented: dict[str, str] = {}
    for name, default, *_ in rows("Limits"):
        values = names(default) or [default]
        documented.update(itertools.zip_longest(names(name), values, fillvalue=""))
    actual = {
        each.name: "600 in 60 seconds"
        if isinstance(each.default, RateLimit)
        else repr(each.default)
        for each in fields(WebLimits)
    }
    assert documented == actual


def test_the_routes_are_those_of_the_application(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html>")
    responder = AgentResponder(Agent(ScriptedModel("Hi.")))
    app = chat_app(MessageStore("sqlite://"), responder, page=Page(directory=tmp_path))
    actual = {
        (method, re.sub(r"\{(\w+?)(_id)?(:path)?\}", r"{\1}", each.path).replace("{chat}", "{id}"))
        for each in app.routes
        if isinstance(each, Route)
        for method in cast("set[str]", each.methods) - {"HEAD"}
    }
    documented = {
        (names(method)[0], path) for method, paths, *_ in rows("Routes") for path in names(paths)
    }
    assert documented == actual


@on_a_server
async def test_the_page_is_served_with_its_files_and_its_settings(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>A page</title>")
    (tmp_path / "assets" / "page-1a2b.js").write_text("export {}")
    page = Page(
        title="Tea",
        headline="Ask about tea",
        pending_timeout=2.5,
        extra_settings={"about": "Tea."},
        directory=tmp_path,
    )
    responder = AgentResponder(Agent(ScriptedModel("Hi.")))
    app = chat_app(
        MessageStore(f"sqlite:///{tmp_path / 'chats.db'}"), responder, page=page, limits=QUICK
    )
    async with serve(app) as client:
        index = await client.get("/")
        assert "<title>A page</title>" in index.text
        policy = index.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        script = await client.get("/assets/page-1a2b.js")
        assert (script.status_code, script.headers["cache-control"]) == (200, "no-cache")
        tag = {"If-None-Match": script.headers["etag"]}
        assert (await client.get("/assets/page-1a2b.js", headers=tag)).status_code == 304
        for path in (
            "/assets/../index.html",
            "/assets/..%2findex.html",
            "/assets/none.js",
            "/assets/%00",
            "/assets//etc/passwd",
        ):
            assert (await client.get(path)).status_code == 404
        assert (await client.get("/playground.json")).json() == {
            "about": "Tea.",
            "title": "Tea",
            "headline": "Ask about tea",
            "suggestions": [],
            "links": [],
            "hasLogo": False,
            "pendingTimeout": 2500,
        }
    with pytest.raises(ValueError, match=r"index\.html"):
        Page(directory=tmp_path / "assets")
