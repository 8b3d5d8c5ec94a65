"""Conversations on the page, from the first character of a call to the last word."""

from __future__ import annotations

from playwright.sync_api import expect

from paging import OpenPage, expect_state
from serving import ScriptedServer, call, pause


def test_a_conversation_is_shown_completely(scripted: ScriptedServer, open_page: OpenPage) -> None:
    name = "the north of the whole country"
    text = call("ReadStation", city=name)
    cut = text.index(" north")
    scripted.replies(
        "How is the weather?",
        [
            "I will ",
            pause("text"),
            "look. ",
            text[:cut],
            pause("half"),
            text[cut:],
            pause("called"),
        ],
        ["It is ", pause("answer"), "fine."],
    )
    page = open_page(scripted)
    page.say("How is the weather?")

    expect(page.texts).to_have_text("I will")
    scripted.release("text")
    card = page.calls
    expect_state(card, "writing")
    expect(page.texts).to_have_text("I will look.")
    arguments = card.get_by_role("group", name="Arguments", exact=True)
    expect(arguments).to_contain_text('"city": "the')
    expect(arguments).not_to_contain_text("country")

    scripted.release("half")
    expect(arguments).to_contain_text(f'"city": "{name}"')
    scripted.release("called")
    expect_state(card, "running")
    scripted.instruct(name, progress="half of it read")
    expect_state(card, "running", "progress")
    expect(card.get_by_role("group", name="Progress")).to_contain_text("half of it read")
    expect(page.conversation).to_contain_text("0 of 1 call answered")

    scripted.instruct(name, result="sunny")
    expect_state(card, "success")
    expect(card.get_by_role("group", name="Result")).to_contain_text("sunny")
    expect(page.conversation).to_contain_text("1 of 1 call answered")
    expect(page.texts.last).to_have_text("It is")
    scripted.release("answer")
    expect(page.texts.last).to_have_text("It is fine.")
    page.expect_end()
    page.expect_as_stored()


def test_results_in_another_order_are_shown_with_their_calls(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    cities = ["Oslo", "Rome", "Tokyo"]
    scripted.replies(
        "Three cities?",
        [" ".join(call("ReadStation", city=city) for city in cities)],
        ["All three."],
    )
    page = open_page(scripted)
    page.say("Three cities?")
    cards = [page.call(city) for city in cities]
    for card in cards:
        expect_state(card, "running")

    for place, number in [(2, 1), (0, 2), (1, 3)]:
        scripted.instruct(cities[place], result=f"result of {cities[place]}")
        expect_state(cards[place], "success")
        expect(page.conversation).to_contain_text(f"{number} of 3 calls answered")
    page.expect_end()
    for card, city in zip(cards, cities, strict=True):
        expect(card.get_by_role("group", name="Result")).to_contain_text(f"result of {city}")
    assert page.calls.evaluate_all(
        "(cards) => cards.map((card) => card.querySelector('.result .text').innerText.trim())"
    ) == [f"result of {city}" for city in cities]
    page.expect_as_stored()


def test_a_failed_tool_is_reported_and_the_model_continues(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    scripted.replies("Fail, please.", [call("ReadStation", city="f")], ["It did not work."])
    page = open_page(scripted)
    page.say("Fail, please.")
    expect_state(page.calls, "running")
    scripted.instruct("f", error="the station is closed")
    expect_state(page.calls, "error")
    error = page.calls.get_by_role("group", name="Error")
    expect(error).to_contain_text("the station is closed")
    expect(page.texts).to_have_text("It did not work.")
    page.expect_end()
    page.expect_as_stored()


def test_a_tool_that_takes_too_long_is_timed_out(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    scripted.replies("For ever?", [call("TrackParcel", number="DE-1")], ["Not for ever."])
    page = open_page(scripted)
    page.say("For ever?")
    expect_state(page.calls, "timeout")
    expect(page.texts).to_have_text("Not for ever.")
    page.expect_end()
    page.expect_as_stored()


def test_repairs_are_shown_path_by_path(scripted: ScriptedServer, open_page: OpenPage) -> None:
    written = "<TransferMoney>{'to': 'Ada', \"euros\": \"12\",}</TransferMoney>"
    scripted.replies("Pay Ada.", [written], ["Done."])
    page = open_page(scripted)
    page.say("Pay Ada.")
    card = page.calls
    expect_state(card, "awaiting_approval")
    card.get_by_text("repaired:").click()
    change = card.get_by_role("listitem").filter(has_text="/euros")
    expect(change).to_contain_text('"12"')
    expect(change.locator("ins")).to_have_text("12")
    arguments = card.get_by_role("group", name="Arguments", exact=True)
    expect(arguments).to_contain_text('"euros": 12')
    card.get_by_role("button", name="Show as written").click()
    expect(arguments).to_contain_text("'to': 'Ada'")
    expect(card.get_by_role("button", name="Show repaired")).to_be_visible()
    card.get_by_role("button", name="Allow").click()
    page.expect_end()


def test_a_call_that_cannot_run_reports_the_reason(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    scripted.replies("Pay nobody.", [call("TransferMoney", to="Ada", euros=-5)], ["Then not."])
    page = open_page(scripted)
    page.say("Pay nobody.")
    expect_state(page.calls, "error")
    expect(page.calls).to_contain_text("Cannot run")
    expect(page.calls).to_contain_text("euros")
    expect(page.texts).to_have_text("Then not.")


def test_raw_text_and_parsed_calls_are_shown_together(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    text = call("ReadStation", city="raw")
    scripted.replies("Raw?", ["Look: ", text], ["Seen."])
    page = open_page(scripted)
    page.say("Raw?")
    expect_state(page.calls, "running")
    raw = page.show("Raw text")
    expect(raw).to_contain_text(f"Look: {text}")
    scripted.instruct("raw", result="r")
    expect(raw.get_by_role("listitem")).to_have_count(2)
    expect(raw).to_contain_text("Seen.")
