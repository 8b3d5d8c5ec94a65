"""`toolweave demo` in a browser: tool selection, scenes with costs, recorded scenarios."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from paging import ChatPage, OpenPage, expect_state
from scenarios import SCENARIOS, play_scenario
from serving import ServerProcess


def test_a_selection_is_shown_as_bars_with_their_numbers(
    demo: ServerProcess, open_page: OpenPage
) -> None:
    page = open_page(demo)
    play_scenario(page, "selection")
    expect(page.conversation.locator("[data-kind='selection']")).to_be_visible()
    page.expect_end()
    shown = page.show("Selection")
    bars = shown.get_by_role("listitem")
    expect(bars.first).to_be_visible()
    events = _events(demo, page)
    selection = next(event for event in events if event["kind"] == "selection")
    expect(bars).to_have_count(len(selection["ranking"]))
    widths = []
    for number, each in enumerate(selection["ranking"]):
        expect(bars.nth(number)).to_contain_text(each["tool"])
        expect(bars.nth(number)).to_contain_text(f"{each['score']:g}")
        box = bars.nth(number).locator(".share").bounding_box()
        assert box is not None
        widths.append(box["width"])
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > widths[-1]
    expect(bars.filter(has_text="(picked)")).to_contain_text(selection["tool"])
    page.expect_as_stored()


def test_scenes_and_their_costs_are_shown_on_the_timeline(
    demo: ServerProcess, open_page: OpenPage
) -> None:
    page = open_page(demo)
    play_scenario(page, "scenes")
    page.expect_end()
    timeline = page.show("Timeline")
    steps = timeline.get_by_role("list", name="Steps").get_by_role("listitem")
    expect(steps.filter(has_text="Calculator")).not_to_have_count(0)
    expect(steps.filter(has_text="Weather")).not_to_have_count(0)
    expect(steps.filter(has_text=re.compile(r"[$0]\.\d+"))).not_to_have_count(0)
    expect(timeline).to_contain_text("cost")
    calls = timeline.get_by_role("list", name=re.compile("calls?$")).get_by_role("listitem")
    expect(calls).to_have_count(page.calls.count())


@pytest.mark.parametrize(
    "name", [name for name in SCENARIOS if name not in ("approval", "question", "deferred")]
)
def test_a_suggestion_plays_its_scenario_to_the_end(
    demo: ServerProcess, open_page: OpenPage, name: str
) -> None:
    page = open_page(demo)
    play_scenario(page, name)
    expect(page.texts).not_to_have_count(0)
    page.expect_end()
    run = _events(demo, page)[-1]
    assert (run["kind"], run["stopReason"]) == ("run", "completed")
    expect(page.page.locator(".problems")).to_have_count(0)


def test_a_scenario_waits_for_the_user(demo: ServerProcess, open_page: OpenPage) -> None:
    page = open_page(demo)
    play_scenario(page, "approval")
    expect_state(page.calls, "awaiting_approval")
    page.calls.get_by_role("button", name="Allow").click()
    expect_state(page.calls, "success")
    page.expect_end()
    page.expect_as_stored()


def _events(server: ServerProcess, page: ChatPage) -> list[dict[str, Any]]:
    lines = server.read(page.events).splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
