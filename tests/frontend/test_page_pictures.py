"""Screenshots for the documentation: `TOOLWEAVE_PICTURES=docs/images` renews them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from paging import ChatPage, OpenPage, expect_state
from scenarios import play_scenario
from serving import HERE, ScriptedServer, ServerProcess, call, demo_server, running

WIDE = {"width": 1280, "height": 760}
SMALL = {"width": 390, "height": 780}
MOST_BYTES = 150_000


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[ServerProcess]:
    """Run `toolweave demo` without chats."""
    yield from running(demo_server(tmp_path))


@pytest.fixture
def take(tmp_path: Path) -> Callable[[ChatPage, str], None]:
    """Return a function that takes a screenshot of the window."""
    folder = Path(os.environ.get("TOOLWEAVE_PICTURES", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)

    def taken(page: ChatPage, name: str) -> None:
        # No transition is running, and no hover effect shows.
        page.page.mouse.move(0, 0)
        page.page.evaluate("document.activeElement.blur()")
        path = folder / f"{name}.png"
        page.page.screenshot(path=path, animations="disabled", caret="hide")
        assert 10_000 < path.stat().st_size < MOST_BYTES

    return taken


Take = Callable[[ChatPage, str], None]


def opened(open_page: OpenPage, server: ServerProcess, **options: Any) -> ChatPage:
    """Open the page in a window for screenshots."""
    page = open_page(server, **{"viewport": WIDE, "color_scheme": "light", **options})
    expect(page.page.get_by_role("list", name="Suggestions")).to_be_visible()
    return page


def test_the_start(tmp_path: Path, open_page: OpenPage, take: Take) -> None:
    tall = {"width": 1280, "height": 880}
    # At the default pace, which the page mentions.
    for server in running(demo_server(tmp_path, speed=1)):
        take(opened(open_page, server, viewport=tall), "playground-start")


@pytest.mark.parametrize(
    ("name", "scheme"), [("playground-calls", "light"), ("playground-dark", "dark")]
)
def test_calls_whose_results_come_in_any_order(
    killable: ScriptedServer, open_page: OpenPage, take: Take, name: str, scheme: str
) -> None:
    cities = ["Oslo", "Rome", "Tokyo"]
    prompt = "How warm is it in Oslo, Rome and Tokyo? Read the station of each city."
    calls = [call("ReadStation", city=city) for city in cities]
    killable.replies(prompt, ["I read all three stations.\n", *calls])
    page = opened(open_page, killable, color_scheme=scheme)
    page.say(prompt)
    for city in cities:
        expect_state(page.call(city), "running")
    killable.instruct("Oslo", progress="3 of 5 sensors read")
    killable.instruct("Rome", result="Rome: 18 °C (long-term mean of May, rounded)")
    killable.instruct("Tokyo", progress="1 of 3 sensors read")
    expect_state(page.call("Rome"), "success")
    for city in ("Oslo", "Tokyo"):
        expect_state(page.call(city), "running", "progress")
    take(page, name)


def test_a_call_that_awaits_approval(fresh: ServerProcess, open_page: OpenPage, take: Take) -> None:
    page = opened(open_page, fresh)
    play_scenario(page, "approval")
    expect_state(page.calls, "awaiting_approval")
    take(page, "playground-approval")


def test_repairs(fresh: ServerProcess, open_page: OpenPage, take: Take) -> None:
    page = opened(open_page, fresh, viewport={"width": 1280, "height": 1140})
    play_scenario(page, "repairs")
    page.expect_end()
    page.calls.first.get_by_text("repaired:").click()
    take(page, "playground-repairs")


def test_errors(fresh: ServerProcess, open_page: OpenPage, take: Take) -> None:
    page = opened(open_page, fresh)
    play_scenario(page, "invalid")
    page.expect_end()
    page.page.get_by_role("tab", name="Raw text").click()
    take(page, "playground-errors")


def test_scenes(fresh: ServerProcess, open_page: OpenPage, take: Take) -> None:
    page = opened(open_page, fresh)
    play_scenario(page, "scenes")
    page.expect_end()
    expect(page.show("Timeline")).to_contain_text("Run completed")
    take(page, "playground-scenes")


def test_a_selection(fresh: ServerProcess, open_page: OpenPage, take: Take) -> None:
    page = opened(open_page, fresh)
    play_scenario(page, "selection")
    page.expect_end()
    expect(page.show("Selection").get_by_role("listitem")).not_to_have_count(0)
    take(page, "playground-selection")


def test_the_page_of_an_agent_of_ones_own(tmp_path: Path, open_page: OpenPage, take: Take) -> None:
    for server in running(ServerProcess([str(HERE / "tea_desk.py")], tmp_path)):
        take(opened(open_page, server, viewport={"width": 1280, "height": 620}), "page-of-an-agent")


def test_a_narrow_screen(fresh: ServerProcess, open_page: OpenPage, take: Take) -> None:
    page = opened(open_page, fresh, viewport=SMALL, device_scale_factor=1.5, has_touch=True)
    play_scenario(page, "question")
    expect_state(page.calls, "awaiting_answer", "awaiting an answer")
    take(page, "playground-narrow")
