"""Conversations across reloads, lost connections and server restarts."""

from __future__ import annotations

from playwright.sync_api import expect

from paging import OpenPage, expect_state
from serving import ScriptedServer, call, pause

LEASE_IS_OVER = ("--ahead", "60")
"""Clock offset of a second server: the leases of the first one have expired."""


def test_a_reload_in_the_middle_of_a_run_loses_nothing_and_shows_nothing_twice(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    written = call("ReadStation", city="reloaded")
    scripted.replies(
        "Reload me.",
        ["Some ", pause("r1"), "words. ", written[:25], pause("r2"), written[25:]],
        ["The ", pause("r3"), "end."],
    )
    page = open_page(scripted)
    page.say("Reload me.")
    expect(page.texts).to_have_text("Some")
    page.page.reload()
    expect(page.texts).to_have_text("Some")
    scripted.release("r1")
    expect_state(page.calls, "writing")
    page.page.reload()
    expect_state(page.calls, "writing")
    expect(page.texts).to_have_text("Some words.")
    scripted.release("r2")
    expect_state(page.calls, "running")
    scripted.instruct("reloaded", progress="on its way")
    expect_state(page.calls, "running", "progress")
    page.page.reload()
    expect_state(page.calls, "running", "progress")
    expect(page.calls).to_contain_text("on its way")
    scripted.instruct("reloaded", result="here")
    expect_state(page.calls, "success")
    expect(page.texts.last).to_have_text("The")
    page.page.reload()
    expect(page.texts.last).to_have_text("The")
    scripted.release("r3")
    expect(page.texts.last).to_have_text("The end.")
    page.expect_end()
    page.expect_as_stored()
    page.page.reload()
    expect(page.texts.last).to_have_text("The end.")
    page.expect_as_stored()


def test_a_restarted_server_continues_with_the_next_message(
    killable: ScriptedServer, open_page: OpenPage
) -> None:
    killable.replies(
        "First.", ["Two calls. ", call("ReadStation", city="a"), call("ReadStation", city="b")]
    )
    page = open_page(killable)
    page.say("First.")
    expect_state(page.call('"b"'), "running")
    killable.instruct("a", result="it was done")
    expect_state(page.call('"a"'), "success")

    page.watch.connection_is_lost = True
    killable.kill()
    expect(page.connection).to_contain_text("reconnecting")
    # The page keeps what it has shown.
    expect_state(page.call('"a"'), "success")
    killable.start(*LEASE_IS_OVER)
    expect_state(page.call('"b"'), "interrupted")
    expect_state(page.call('"a"'), "success")
    expect(page.connection).to_contain_text("live")
    page.watch.connection_is_lost = False
    expect(page.conversation).to_contain_text("Interrupted: the server went away")
    page.expect_end()
    page.expect_as_stored()

    killable.replies("Second.", [call("ReadStation", city="c")], ["All is well."])
    page.say("Second.")
    expect_state(page.call('"c"'), "running")
    killable.instruct("c", result="again")
    expect(page.texts.last).to_have_text("All is well.")
    page.expect_end()
    page.expect_as_stored()


def test_text_streamed_before_a_server_is_killed_is_kept(
    killable: ScriptedServer, open_page: OpenPage
) -> None:
    killable.replies("Write.", ["Half a sen", pause("never"), "tence."])
    page = open_page(killable)
    page.say("Write.")
    expect(page.texts).to_have_text("Half a sen")
    page.watch.connection_is_lost = True
    killable.kill()
    killable.start(*LEASE_IS_OVER)
    expect(page.conversation).to_contain_text("Interrupted: the server went away")
    expect(page.texts).to_have_text("Half a sen")
    page.expect_end()
    page.expect_as_stored()


def test_a_message_that_fails_while_the_server_is_down_can_be_sent_again(
    killable: ScriptedServer, open_page: OpenPage
) -> None:
    killable.replies("Hello.", ["Hello!"])
    page = open_page(killable)
    page.say("Hello.")
    expect(page.texts).to_have_text("Hello!")
    page.expect_end()
    page.watch.connection_is_lost = True
    killable.kill()
    page.say("Are you there?")
    expect(page.conversation.get_by_role("alert")).to_contain_text("Not sent.")
    killable.start()
    killable.replies("Are you there?", ["I am."])
    page.page.get_by_role("button", name="Send again").click()
    expect(page.texts.last).to_have_text("I am.")
    page.expect_end()
    page.expect_as_stored()


def test_a_page_that_was_offline_catches_up_once_online(
    killable: ScriptedServer, open_page: OpenPage
) -> None:
    killable.replies("Wait.", ["Before. ", call("ReadStation", city="off")])
    page = open_page(killable)
    page.say("Wait.")
    expect_state(page.calls, "running")
    page.watch.connection_is_lost = True
    page.page.context.set_offline(True)
    # A browser keeps open streams, so the server must end this one.
    killable.kill()
    killable.start(*LEASE_IS_OVER)
    expect(page.connection).to_contain_text("reconnecting")
    expect_state(page.calls, "running")
    page.page.context.set_offline(False)
    expect_state(page.calls, "interrupted")
    expect(page.connection).to_contain_text("live")
    page.expect_end()

    page.page.context.set_offline(True)
    page.say("Are you there?")
    expect(page.conversation.get_by_role("alert")).to_contain_text("Not sent.")
    page.page.context.set_offline(False)
    killable.replies("Are you there?", ["I am."])
    page.page.get_by_role("button", name="Send again").click()
    expect(page.texts.last).to_have_text("I am.")
    page.expect_end()
    page.expect_as_stored()


def test_tabs_with_one_chat_stay_synchronized(
    scripted: ScriptedServer, open_page: OpenPage
) -> None:
    scripted.replies(
        "Share.", ["Here: ", call("TransferMoney", to="both", euros=1)], [pause("s"), "Shared."]
    )
    one = open_page(scripted)
    one.say("Share.")
    expect_state(one.calls, "awaiting_approval")
    other = open_page(scripted, same_browser_as=one)
    third = open_page(scripted, same_browser_as=one)
    expect_state(other.calls, "awaiting_approval")
    expect_state(third.calls, "awaiting_approval")
    other.calls.get_by_role("button", name="Allow").click()
    for each in (one, other, third):
        expect_state(each.calls, "success")
    scripted.release("s")
    for each in (one, other, third):
        expect(each.texts.last).to_have_text("Shared.")
        each.expect_end()
        each.expect_as_stored()


def test_one_tab_stops_the_run_of_the_other(scripted: ScriptedServer, open_page: OpenPage) -> None:
    scripted.replies("Go on.", [call("ReadStation", city="unheard")])
    one = open_page(scripted)
    one.say("Go on.")
    expect_state(one.calls, "running")
    other = open_page(scripted, same_browser_as=one)
    expect_state(other.calls, "running")
    other.page.get_by_role("button", name="Stop").click()
    for each in (one, other):
        expect_state(each.calls, "interrupted")
        expect(each.conversation).to_contain_text("Stopped.")
        each.expect_end()
