"""Approvals and answers: with the mouse, with the keyboard alone, at once and deferred."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from paging import OpenPage, expect_state
from serving import ScriptedServer, call, pause


def test_a_call_runs_once_the_person_allows_it(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    scripted.replies("Pay?", [call("TransferMoney", to="Ada", euros=5)], ["Paid."])
    page = open_page(scripted)
    page.say("Pay?")
    card = page.calls
    expect_state(card, "awaiting_approval")
    card.get_by_role("button", name="Allow").click()
    expect_state(card, "success")
    expect(card).to_contain_text("transferred 5 euros to Ada")
    expect(page.texts).to_have_text("Paid.")
    page.expect_end()
    page.expect_as_stored()


def test_a_denied_call_does_not_run_and_the_reason_is_shown(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    scripted.replies("Pay?", [call("TransferMoney", to="Bob", euros=7)], ["Then not."])
    page = open_page(scripted)
    page.say("Pay?")
    card = page.calls
    expect_state(card, "awaiting_approval")
    card.get_by_label("Reason (optional)").fill("that is too much")
    card.get_by_role("button", name="Deny").click()
    expect_state(card, "denied")
    expect(card).to_contain_text("that is too much")
    expect(page.texts).to_have_text("Then not.")
    page.expect_end()
    page.expect_as_stored()


@pytest.mark.parametrize(("steps", "state"), [(2, "success"), (3, "denied")])
def test_a_decision_works_with_the_keyboard(
    scripted: ScriptedServer, open_page: OpenPage, steps: int, state: str
) -> None:
    scripted.replies("Pay?", [call("TransferMoney", to="Eve", euros=9)], ["So be it."])
    page = open_page(scripted)
    # The message box has the focus initially, or is one step away from it.
    page.message_box.focus()
    page.page.keyboard.type("Pay?")
    page.page.keyboard.press("Enter")
    card = page.calls
    expect_state(card, "awaiting_approval")
    page.conversation.focus()
    reason = card.get_by_label("Reason (optional)")
    for _ in range(12):
        page.page.keyboard.press("Tab")
        if reason.evaluate("(field) => field === document.activeElement"):
            break
    expect(reason).to_be_focused()
    for _ in range(steps - 1):
        page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")
    expect_state(card, state)
    # The focus stays where the buttons were.
    expect(card).to_be_focused()


def test_a_question_is_answered_in_a_form_built_from_its_schema(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    scripted.replies("Pizza!", [call("OrderPizza", kind="Margherita")], ["Coming."])
    page = open_page(scripted)
    page.say("Pizza!")
    card = page.calls
    expect_state(card, "awaiting_answer", "awaiting an answer")
    expect(card.get_by_role("group", name="How shall the Margherita be?")).to_be_visible()
    answer = card.get_by_role("button", name="Answer")
    answer.click()
    # Nothing was chosen: the error is shown, and the field has the focus.
    expect(card.get_by_role("alert").filter(has_text="size")).to_be_visible()
    size = card.get_by_label("size")
    expect(size).to_be_focused()
    size.select_option("large")
    card.get_by_label("slices").fill("eight")
    answer.click()
    expect(card.get_by_label("slices")).to_be_focused()
    card.get_by_label("slices").fill("8")
    card.get_by_label("olives").check()
    answer.click()
    expect_state(card, "success")
    expect(card).to_contain_text("'size': 'large'")
    expect(card).to_contain_text("'slices': 8")
    expect(card).to_contain_text("'olives': True")
    page.expect_end()
    page.expect_as_stored()


def test_a_deferred_result_is_delivered_after_the_run(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    scripted.replies("Which day?", [call("AskColleague", question="day")], ["Tuesday it is."])
    page = open_page(scripted)
    page.say("Which day?")
    card = page.calls
    expect_state(card, "deferred")
    page.expect_end()
    expect(page.conversation).to_contain_text("Waiting for deferred results.")
    page.page.reload()
    expect_state(card, "deferred")
    card.get_by_text("Enter the result manually").click()
    card.get_by_role("textbox", name="Answer").fill("Tuesday")
    card.get_by_role("button", name="Answer").click()
    expect_state(card, "success")
    expect(card).to_contain_text("Tuesday")
    expect(page.texts).to_have_text("Tuesday it is.")
    page.expect_end()
    expect(page.conversation).not_to_contain_text("Waiting for deferred results.")


def test_a_run_that_is_stopped_shows_its_calls_as_interrupted(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    scripted.replies("Work.", ["I begin. ", call("ReadStation", city="never told")])
    scripted.replies("And now?", ["Now I listen."])
    page = open_page(scripted)
    page.say("Work.")
    expect_state(page.calls, "running")
    page.message_box.press("Escape")
    expect_state(page.calls, "interrupted")
    expect(page.conversation).to_contain_text("Stopped.")
    page.expect_end()
    page.expect_as_stored()
    page.say("And now?")
    expect(page.texts.last).to_have_text("Now I listen.")
    page.expect_end()
    page.expect_as_stored()


def test_a_stopped_text_keeps_its_content(scripted: ScriptedServer, open_page: OpenPage) -> None:
    scripted.replies("Talk.", ["Once upon a time", pause("never"), " there was more."])
    page = open_page(scripted)
    page.say("Talk.")
    expect(page.texts).to_have_text("Once upon a time")
    page.page.get_by_role("button", name="Stop").click()
    expect(page.conversation).to_contain_text("Stopped.")
    expect(page.texts).to_have_text("Once upon a time")
    page.expect_end()
    page.expect_as_stored()
