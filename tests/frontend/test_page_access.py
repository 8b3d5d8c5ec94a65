"""Accessibility: keyboard, screen reader, dark mode, reduced motion, narrow screens, languages."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from paging import ChatPage, OpenPage, expect_state
from paths import ROOT
from serving import Piece, ScriptedServer, call, pause

AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
NARROW = {"width": 360, "height": 640}
LONG = "an_argument_without_any_space_" * 8

# A paused reply with a call in each lasting state.
ALL_AT_ONCE: list[Piece] = [
    "Look at **all** of it:\n\n- one\n- two\n\n```python\nprint(1)\n```\n",
    call("ReadStation", city="done"),
    call("ReadStation", city="failed"),
    call("ReadStation", city=LONG),
    call("OrderPizza", kind="Margherita"),
    call("AskColleague", question="when?"),
    "<TransferMoney>{'to': 'Ada', \"euros\": \"12\",}</TransferMoney>",
    call("TransferMoney", to="Bob", euros=-1),
]


def all_at_once(page: ChatPage, server: ScriptedServer) -> None:
    """Show every kind of call."""
    server.replies("All at once.", ALL_AT_ONCE)
    page.say("All at once.")
    expect_state(page.call('"done"'), "running")
    expect_state(page.call('"failed"'), "running")
    server.instruct("done", result='{"a": [1, 2], "b": null}')
    server.instruct("failed", error="it did not work")
    server.instruct(LONG, progress=f"far {LONG}")
    expect_state(page.call('"done"'), "success")
    expect_state(page.call('"failed"'), "error")
    expect_state(page.call(LONG), "running", "progress")
    expect_state(page.call("Margherita"), "awaiting_answer", "awaiting an answer")
    expect_state(page.call("when?"), "deferred")
    expect_state(page.call("Ada"), "awaiting_approval")
    expect_state(page.call("Bob"), "error")


def barriers(page: ChatPage) -> list[str]:
    """Return the violations that `axe` finds."""
    # Colours in transition are not checked.
    page.page.evaluate("Promise.all(document.getAnimations().map((each) => each.finish?.()))")
    page.page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = page.page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations)"
    )
    return [
        f"{each['id']}: {each['help']} ({node['html'][:200]}; {node['failureSummary']})"
        for each in found
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violations_in_any_state(
    scripted: ScriptedServer, open_page: OpenPage, scheme: str
) -> None:
    page = open_page(scripted, color_scheme=scheme, reduced_motion="reduce")
    expect(page.page.get_by_role("list", name="Suggestions")).to_be_visible()
    assert barriers(page) == []
    all_at_once(page, scripted)
    for summary in page.calls.locator("summary").all():
        summary.click()
    assert barriers(page) == []
    for tab in ("Selection", "Raw text", "Timeline"):
        page.show(tab)
        assert barriers(page) == []
    page.page.get_by_role("button", name="Stop").click()
    page.expect_end()
    assert barriers(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violations_on_a_narrow_screen(
    scripted: ScriptedServer, open_page: OpenPage, scheme: str
) -> None:
    page = open_page(scripted, color_scheme=scheme, reduced_motion="reduce", viewport=NARROW)
    expect(page.page.get_by_role("list", name="Suggestions")).to_be_visible()
    assert barriers(page) == []
    all_at_once(page, scripted)
    assert barriers(page) == []
    for drawer in ("Chats", "Timeline, selection, raw text"):
        page.page.get_by_role("button", name=drawer, exact=True).click()
        expect(page.page.get_by_role("dialog")).to_be_visible()
        assert barriers(page) == []
        page.page.keyboard.press("Escape")
        expect(page.page.get_by_role("dialog")).to_have_count(0)


def test_a_narrow_screen_shows_everything_without_horizontal_scrolling(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    page = open_page(scripted, viewport=NARROW)
    expect(page.page.get_by_role("list", name="Suggestions")).to_be_visible()
    expect_no_sideways(page)
    all_at_once(page, scripted)
    expect_no_sideways(page)
    for summary in page.calls.locator("summary").all():
        summary.click()
    expect_no_sideways(page)
    for button in page.conversation.get_by_role("button").all():
        button.scroll_into_view_if_needed()
        box = button.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= NARROW["width"]

    page.page.get_by_role("button", name="Timeline, selection, raw text").click()
    drawer = page.page.get_by_role("dialog", name="Run details")
    for tab in ("Selection", "Raw text", "Timeline"):
        drawer.get_by_role("tab", name=tab).click()
        expect_no_sideways(page)
    page.page.keyboard.press("Escape")
    page.page.get_by_role("button", name="Chats", exact=True).click()
    page.page.get_by_role("dialog", name="Chats").get_by_role("link", name="New chat").click()
    expect(page.page.get_by_role("list", name="Suggestions")).to_be_visible()


def expect_no_sideways(page: ChatPage) -> None:
    """Check that nothing is wider than the window, except what scrolls within it."""
    wide = page.page.evaluate(
        """() => ['html', 'body', '[aria-label="Conversation"]', '[role=tabpanel]', 'dialog']
            .flatMap((selector) => [...document.querySelectorAll(selector)])
            .filter((each) => each.scrollWidth > each.clientWidth)
            .map((each) => `${each.tagName} ${each.scrollWidth} > ${each.clientWidth}`)"""
    )
    assert wide == []


def test_dark_mode_follows_the_system_and_the_users_choice(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    def lightness(page: ChatPage) -> float:
        """Return the lightness of the background, from 0 for black to 255 for white."""
        value: float = page.page.evaluate(
            """() => {
              const canvas = document.createElement('canvas').getContext('2d');
              canvas.fillStyle = getComputedStyle(document.documentElement).backgroundColor;
              canvas.fillRect(0, 0, 1, 1);
              return Math.max(...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3));
            }"""
        )
        return value

    page = open_page(scripted, color_scheme="light")
    assert lightness(page) > 200
    page.page.emulate_media(color_scheme="dark")
    assert lightness(page) < 60
    theme = page.page.get_by_role("button", name="Theme")
    expect(theme).to_have_accessible_name("Theme: system")
    theme.click()
    expect(theme).to_have_accessible_name("Theme: light")
    assert lightness(page) > 200
    page.page.reload()
    expect(theme).to_have_accessible_name("Theme: light")
    assert lightness(page) > 200
    theme.click()
    page.page.emulate_media(color_scheme="light")
    expect(theme).to_have_accessible_name("Theme: dark")
    assert lightness(page) < 60


@pytest.mark.parametrize(("motion", "moves"), [("no-preference", True), ("reduce", False)])
def test_reduced_motion_is_respected(
    scripted: ScriptedServer, open_page: OpenPage, motion: str, moves: bool
) -> None:
    scripted.replies("Move.", ["I move ", call("ReadStation", city=motion)])
    page = open_page(scripted, reduced_motion=motion)
    page.say("Move.")
    expect_state(page.calls, "running")
    endless = page.page.evaluate(
        """() => document.getAnimations().filter((each) =>
          each.playState === 'running' && each.effect.getComputedTiming().endTime > 1000).length"""
    )
    assert (endless > 0) is moves


def test_the_keyboard_reaches_everything_in_visual_order(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    page = open_page(scripted)
    expect(page.page.get_by_role("list", name="Suggestions")).to_be_visible()
    page.page.evaluate("document.activeElement.blur()")
    assert focused(page) == "Skip to the message box"
    page.page.keyboard.press("Enter")
    expect(page.message_box).to_be_focused()

    all_at_once(page, scripted)
    reached = []
    # From the last element the focus moves to the browser, then to the first element.
    for _ in range(80):
        reached.append(focused(page))
        if reached.count("Skip to the message box") == 2:
            break
    first = reached.index("Skip to the message box")
    reached = reached[first:-1]
    wanted = [
        "Skip to the message box",
        "toolweave",
        "Theme: system",
        "Timeline, selection, raw text",
        "New chat",
        "Conversation",
        "Answer",
        "Reason (optional)",
        "Allow",
        "Deny",
        "Message",
        "Stop",
        "Timeline",
    ]
    places = [reached.index(name) for name in wanted]
    assert places == sorted(places)


def focused(page: ChatPage) -> str:
    """Press Tab; return the accessible name of the focused element, once outlined."""
    page.page.keyboard.press("Tab")
    name, outlined = page.page.evaluate(
        """() => {
          const one = document.activeElement;
          const style = getComputedStyle(one);
          const around = getComputedStyle(one.closest('form') ?? one);
          const label = one.labels?.[0] ?? one;
          const by = document.getElementById(one.getAttribute('aria-labelledby'));
          return [
            (one.getAttribute('aria-label') ?? by?.innerText ?? label.innerText).trim(),
            one === document.body
              || [style, around].some((each) => each.outlineStyle !== 'none'),
          ];
        }"""
    )
    assert outlined, f"{name!r} has the focus without an outline"
    return str(name)


def test_a_live_region_announces_events(scripted: ScriptedServer, open_page: OpenPage) -> None:
    scripted.replies(
        "Tell me.", [call("TransferMoney", to="Ada", euros=3)], ["It ", pause("hear"), "is paid."]
    )
    page = open_page(scripted)
    announcements = page.page.locator("[aria-live='polite']")
    page.say("Tell me.")
    expect(announcements).to_contain_text("TransferMoney: awaiting approval.")
    page.calls.get_by_role("button", name="Allow").click()
    expect(announcements).to_contain_text("TransferMoney: success.")
    # Texts are announced when complete, not word by word.
    expect(page.texts).to_have_text("It")
    expect(announcements).not_to_contain_text("It")
    scripted.release("hear")
    expect(announcements).to_contain_text("It is paid.")
    expect(announcements).to_contain_text("Reply finished.")
    # Earlier content is not announced.
    page.page.reload()
    expect(page.texts).to_have_text("It is paid.")
    expect(announcements).to_be_empty()


def test_the_page_speaks_the_language_of_the_browser_and_then_that_of_the_choice(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    page = open_page(scripted, locale="de-AT")
    html = page.page.locator("html")
    expect(html).to_have_attribute("lang", "de")
    expect(page.page.get_by_role("list", name="Vorschläge")).to_be_visible()
    expect(page.page.get_by_role("heading", name="Fragen Sie")).to_be_visible()
    assert barriers(page) == []

    page.page.get_by_label("Sprache").select_option("English")
    expect(html).to_have_attribute("lang", "en")
    expect(page.page.get_by_role("list", name="Suggestions")).to_be_visible()
    page.page.reload()
    expect(html).to_have_attribute("lang", "en")
    expect(page.page.get_by_role("list", name="Suggestions")).to_be_visible()


def test_another_language_is_shown_at_once_in_every_state(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    page = open_page(scripted, reduced_motion="reduce")
    all_at_once(page, scripted)
    page.page.get_by_label("Language").select_option("Deutsch")
    calls = page.page.locator("article[data-call]")
    for name, state in {
        '"done"': "erledigt",
        '"failed"': "Fehler",
        "Margherita": "wartet auf eine Antwort",
        "when?": "aufgeschoben",
        "Ada": "wartet auf Erlaubnis",
    }.items():
        expect(calls.filter(has_text=name).locator("header")).to_contain_text(state)
    expect(calls.filter(has_text="Bob")).to_contain_text("Argumente verletzen das Schema")
    transfer = calls.filter(has_text="Ada")
    expect(transfer).to_contain_text("repariert: ")
    for tab in ("Auswahl", "Rohtext", "Zeitachse"):
        page.show(tab)
        assert barriers(page) == []
    page.page.set_viewport_size(NARROW)
    expect_no_sideways(page)
    assert barriers(page) == []
    transfer.get_by_role("button", name="Erlauben").click()
    expect(transfer).to_contain_text("Erlaubt von Ihnen")
