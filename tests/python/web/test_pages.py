"""The page of an application: its settings, its logo and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette

from chat_servers import QUICK, on_a_server, serve
from toolweave import Agent
from toolweave.store import MessageStore
from toolweave.testing import ScriptedModel
from toolweave.web import AgentResponder, Page, Suggestion, chat_app

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
HOSTILE = '</title><script>alert("1")</script>'


def app_of(folder: Path, page: Page) -> Starlette:
    store = MessageStore(f"sqlite:///{folder / 'chats.db'}")
    return chat_app(store, AgentResponder(Agent(ScriptedModel("Hi."))), page=page, limits=QUICK)


@on_a_server
async def test_the_page_has_the_settings_and_the_logo(tmp_path: Path) -> None:
    logo = tmp_path / "logo.svg"
    logo.write_text(SVG)
    page = Page(
        title="Tea desk",
        headline="Ask about tea",
        intro="We know\n\nall teas.",
        suggestions=["What is Assam?", Suggestion(label="Green", text="Which teas are green?")],
        placeholder="Ask",
        logo=logo,
        links={"Help": "/help", "Mail": "mailto:tea@tea.example"},
    )
    async with serve(app_of(tmp_path, page)) as client:
        assert (await client.get("/playground.json")).json() == {
            "title": "Tea desk",
            "headline": "Ask about tea",
            "intro": "We know\n\nall teas.",
            "placeholder": "Ask",
            "suggestions": [
                {"label": "What is Assam?", "text": "What is Assam?"},
                {"label": "Green", "text": "Which teas are green?"},
            ],
            "links": [
                {"label": "Help", "url": "/help"},
                {"label": "Mail", "url": "mailto:tea@tea.example"},
            ],
            "hasLogo": True,
            "pendingTimeout": 60_000,
        }
        answer = await client.get("/logo")
        assert (answer.text, answer.headers["content-type"]) == (SVG, "image/svg+xml")
        # As a document of its own, it runs nothing.
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        index = (await client.get("/")).text
        assert "<title>Tea desk</title>" in index
        assert 'content="Ask about tea"' in index


@on_a_server
async def test_texts_of_the_index_are_escaped(tmp_path: Path) -> None:
    page = Page(title=HOSTILE, headline=f'"{HOSTILE}')
    async with serve(app_of(tmp_path, page)) as client:
        index = (await client.get("/")).text
        assert "<script>" not in index
        assert index.count("</title>") == 1
        assert index.count("&lt;script&gt;") == 2
        assert (await client.get("/logo")).status_code == 404


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"title": ""}, "title must be a string that is not empty, got ''"),
    ({"title": " "}, "title must be a string that is not empty, got ' '"),
    ({"title": 7}, "title must be a string, got 7"),
    ({"title": "x" * 201}, "title must have at most 200 characters, got 201"),
    ({"headline": "x" * 201}, "headline must have at most 200 characters, got 201"),
    ({"intro": "x" * 4001}, "intro must have at most 4000 characters, got 4001"),
    ({"intro": "a\ud800"}, "intro must not contain a lone surrogate, got one at 1"),
    ({"placeholder": "x" * 201}, "placeholder must have at most 200 characters, got 201"),
    ({"suggestions": "Hi"}, "suggestions must be a sequence of Suggestions or strings, got 'Hi'"),
    ({"suggestions": ["a", ""]}, "suggestions[1] must be a string that is not empty, got ''"),
    ({"suggestions": ["x" * 201]}, "suggestions[0] must have at most 200 characters, got 201"),
    ({"suggestions": ["x"] * 25}, "suggestions must be at most 24, got 25"),
    ({"links": {"A": "javascript:alert(1)"}}, "links['A'] must be a URL with https:, http: or"),
    ({"links": {"A": "//evil.example"}}, "links['A'] must be a URL with https:, http: or"),
    ({"links": {"A": "/\\evil.example"}}, "links['A'] must be a URL with https:, http: or"),
    ({"links": {"": "/a"}}, "a label of links must be a string that is not empty"),
    ({"links": {str(n): "/a" for n in range(13)}}, "links must be at most 12, got 13"),
    ({"logo": "none.svg"}, "logo must be a file with the ending .svg, .png,"),
    ({"logo": __file__}, "logo must be a file with the ending .svg, .png,"),
]


@pytest.mark.parametrize(("settings", "error"), REFUSED)
def test_invalid_settings_are_refused(settings: dict[str, Any], error: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        Page(**settings)
    assert str(caught.value).startswith(error)


@given(st.text())
def test_any_link_is_refused_or_opens_a_page_or_a_mail(url: str) -> None:
    try:
        Page(links={"A link": url})
    except ValueError:
        return
    assert url.lower().startswith(("https://", "http://", "mailto:", "/", "#"))
    assert not url.startswith(("//", "/\\"))
