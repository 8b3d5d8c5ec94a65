"""The page of one's own agent: its texts, links and logo."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from paging import OpenPage
from serving import HERE, ServerProcess, running


@pytest.fixture
def tea_desk(tmp_path: Path) -> Iterator[ServerProcess]:
    """Run the tea desk, an application with a page of its own."""
    yield from running(ServerProcess([str(HERE / "tea_desk.py")], tmp_path))


def test_the_page_has_the_texts_the_logo_and_the_links_of_the_application(
    tea_desk: ServerProcess, open_page: OpenPage
) -> None:
    page = open_page(tea_desk)
    window = page.page
    expect(window).to_have_title("Tea desk")
    expect(window.get_by_role("heading", name="Tea desk")).to_be_visible()
    expect(window.get_by_role("heading", name="What would you like to drink?")).to_be_visible()
    expect(window.locator(".intro")).to_have_text(
        ["I know 80 teas, and how to make them.", "It takes < 10 minutes & no skill."]
    )
    expect(page.message_box).to_have_attribute("placeholder", "Ask about tea")
    # The image was loaded, under the page's policy.
    logo = window.locator("header img")
    expect(logo).to_have_js_property("complete", True)
    assert logo.evaluate("(image) => image.naturalWidth") > 0
    expect(window.locator('link[rel="icon"]')).to_have_attribute("href", "./logo")
    expect(window.get_by_role("link", name="Privacy")).to_have_attribute("href", "/privacy")
    page.take("How long does green tea steep?")
    page.expect_end()
    expect(page.texts).to_contain_text("two minutes")
    # In an open chat as well.
    expect(page.message_box).to_have_attribute("placeholder", "Ask about tea")
