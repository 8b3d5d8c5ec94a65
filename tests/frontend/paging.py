"""A page object for the chat page, and a monitor of its errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Locator,
    Page,
    Request,
    expect,
)

from serving import ServerProcess

_VIOLATIONS = """
document.addEventListener('securitypolicyviolation', (event) => {
  console.error(`refused by the policy: ${event.violatedDirective} ${event.blockedURI}`);
});
"""
_LOST = re.compile(
    r"Failed to load resource: (net::ERR_|the server responded with a status of 409)"
)


class Watch:
    """A recorder of what the page must not do: errors, dialogs, foreign requests, CSP violations.

    Args:
        context: The monitored browser context.
        server: The only server that may receive requests.
    """

    def __init__(self, context: BrowserContext, server: ServerProcess) -> None:
        self._server = server
        self.troubles: list[str] = []
        """The recorded violations."""
        self.connection_is_lost = False
        """True if requests may fail."""
        context.add_init_script(_VIOLATIONS)
        context.on("console", self._console)
        context.on("weberror", lambda error: self.troubles.append(f"thrown: {error.error}"))
        context.on("dialog", self._dialog)
        context.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning"):
            return
        if self.connection_is_lost and _LOST.match(message.text):
            return
        self.troubles.append(f"{message.type} in the console: {message.text}")

    def _dialog(self, dialog: Dialog) -> None:
        self.troubles.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        if urlsplit(request.url).scheme in ("data", "blob"):
            return
        if not request.url.startswith(f"{self._server.url}/"):
            self.troubles.append(f"a request to {request.url}")


class ChatPage:
    """A window with the page.

    Args:
        page: The window.
        server: The server of the page.
        watch: The monitor of the window.
    """

    def __init__(self, page: Page, server: ServerProcess, watch: Watch) -> None:
        self.page = page
        self.server = server
        self.watch = watch
        self._sent = 0

    @property
    def chat_id(self) -> str:
        """Id of the open chat."""
        return urlsplit(self.page.url).fragment.strip("/")

    @property
    def events(self) -> str:
        """Path of all events of the chat."""
        return f"/chats/{self.chat_id}/events?after=0"

    @property
    def conversation(self) -> Locator:
        """The conversation."""
        return self.page.get_by_role("region", name="Conversation")

    @property
    def message_box(self) -> Locator:
        """The message box."""
        return self.page.get_by_role("textbox", name="Message")

    @property
    def connection(self) -> Locator:
        """The connection status."""
        return self.page.get_by_role("banner").get_by_role("status")

    @property
    def calls(self) -> Locator:
        """All calls, in document order."""
        return self.conversation.locator("article[data-call]")

    def call(self, text: str) -> Locator:
        """Return the call that contains a text."""
        return self.calls.filter(has_text=text)

    @property
    def texts(self) -> Locator:
        """All texts of the model, in document order."""
        return self.conversation.locator(".turn.assistant .item[data-kind='text']")

    def say(self, text: str) -> None:
        """Type a message and send it."""
        self.message_box.fill(text)
        self.message_box.press("Enter")
        self._sent += 1

    def take(self, suggestion: str) -> None:
        """Send a suggestion of the page."""
        suggestions = self.page.get_by_role("list", name="Suggestions").get_by_role("button")
        suggestions.filter(has_text=suggestion).click()
        self._sent += 1

    def show(self, tab: str) -> Locator:
        """Open a tab of the side panel, and return its panel."""
        self.page.get_by_role("tab", name=tab).click()
        return self.page.get_by_role("tabpanel", name=tab)

    def expect_end(self) -> None:
        """Wait until the last run has ended and all its events are shown."""
        inputs = self.conversation.locator(".turn.user .item")
        expect(inputs.nth(max(0, self._sent - 1))).to_be_visible()
        # A message is stored together with the start of its run, so reading ends with the run.
        numbers = re.findall(r"^id: (\d+)", self.server.read(self.events), re.MULTILINE)
        expect(self.conversation).to_have_attribute("data-events", numbers[-1])
        expect(self.page.get_by_role("button", name="Send")).to_be_visible()

    def expect_as_stored(self) -> None:
        """Check that the shown messages are exactly the stored ones, in order."""
        stored = list(_stored(self.server.messages(self.chat_id)))
        shown = self.conversation.locator(_ITEMS)
        expect(shown).to_have_count(len(stored))
        assert shown.evaluate_all(_READ) == stored


OpenPage = Callable[..., ChatPage]
"""Function that opens the page of a server, with options of a browser context."""


def expect_state(card: Locator, state: str, word: str | None = None) -> None:
    """Wait until a call is in a state and shows it."""
    expect(card).to_have_attribute("data-state", state)
    expect(card.locator("header")).to_contain_text(word or state.replace("_", " "))


_ITEMS = ".item[data-kind='text'], article[data-call]"

_READ = """(items) => items.map((item) => {
  if (!item.dataset.call) return ['text', item.innerText.trim()];
  const result = item.querySelector('.result .text');
  return ['call', item.dataset.call, item.dataset.state, result ? result.innerText.trim() : ''];
})"""


def _stored(messages: list[dict[str, Any]]) -> Iterator[list[str]]:
    for message in messages:
        if message["kind"] == "text":
            yield ["text", message["text"].strip()]
        elif message["kind"] == "tools_aggregate":
            results = {each["toolCallId"]: each for each in message["toolResults"]}
            for call in message["toolCalls"]:
                result = results[call["toolCallId"]]
                yield ["call", call["toolCallId"], _state(result), result["result"].strip()]


def _state(result: dict[str, Any]) -> str:
    if not result.get("isError"):
        return "success"
    code = str(result.get("errorCode", "error"))
    return code if code in ("denied", "interrupted", "timeout") else "error"
