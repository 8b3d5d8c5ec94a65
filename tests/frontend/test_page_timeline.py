"""The timeline of the page: bars within their tracks, durations of tools, kept decisions."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from paging import OpenPage, expect_state
from serving import ScriptedServer, call


def test_bars_stay_within_their_tracks_and_exclude_waiting_for_approval(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    calls = [call("TransferMoney", to=name, euros=1) for name in ("Ada", "Bob")]
    scripted.replies("Pay both.", list(calls), ["Both are paid."])
    page = open_page(scripted)
    page.say("Pay both.")
    for name in ("Ada", "Bob"):
        card = page.call(name)
        expect_state(card, "awaiting_approval")
        # The time that a person takes to read the question.
        page.page.wait_for_timeout(150)
        card.get_by_role("textbox").fill(f"{name} has earned it")
        card.get_by_role("button", name="Allow").click()
        expect_state(card, "success")
    page.expect_end()
    for name in ("Ada", "Bob"):
        expect(page.call(name)).to_contain_text(f"Allowed by the user: {name} has earned it")

    timeline = page.show("Timeline")
    took = timeline.locator("dt", has_text="tools took").locator("xpath=following-sibling::dd")
    found = re.fullmatch(r"(< 1|\d+) ms", took.inner_text())
    assert found is not None, took.inner_text()
    assert found[1] == "< 1" or int(found[1]) < 100
    expect_within(timeline)


def expect_within(timeline: Locator) -> None:
    """Check that every bar is within its track."""
    expect(timeline.locator(".bar")).to_have_count(2)
    outside = timeline.locator(".track").evaluate_all(
        """(tracks) => tracks.flatMap((track) => {
          const [outer, inner] = [track, track.querySelector('.bar')].map(
            (each) => each.getBoundingClientRect());
          return inner.left < outer.left - 0.1 || inner.right > outer.right + 0.1
            ? [`${inner.left} to ${inner.right} in ${outer.left} to ${outer.right}`] : [];
        })"""
    )
    assert outside == []
