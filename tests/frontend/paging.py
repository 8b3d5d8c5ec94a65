"""The page as a person uses it, and what it must not do meanwhile."""

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
    """Keeps what no page of ours may do: errors, dialogs, requests to others, refused sources.

    Args:
        context: The windows that are watched.
        server: The only one that they may ask.
    """

    def __init__(self, context: BrowserContext, server: ServerProcess) -> None:
        self._server = server
        self.troubles: list[str] = []
        """What they did."""
        self.connection_is_lost = False
        """Whether requests may fail."""
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
    """A window with the page in it.

    Args:
        page: The window.
        server: Who serves it.
        watch: What is wrong in it.
    """

    def __init__(self, page: Page, server: ServerProcess, watch: Watch) -> None:
        self.page = page
        self.server = server
        self.watch = watch
        self._sent = 0

    @property
    def chat_id(self) -> str:
        """The chat that is open."""
        return urlsplit(self.page.url).fragment.strip("/")

    @property
    def events(self) -> str:
        """Where all that happened in the chat can be read."""
        return f"/chats/{self.chat_id}/events?after=0"

    @property
    def conversation(self) -> Locator:
        """What was said."""
        return self.page.get_by_role("region", name="Conversation")

    @property
    def message_box(self) -> Locator:
        """Where the person writes."""
        return self.page.get_by_role("textbox", name="Message")

    @property
    def connection(self) -> Locator:
        """Whether the page hears of what happens."""
        return self.page.get_by_role("banner").get_by_role("status")

    @property
    def calls(self) -> Locator:
        """All calls, in the order in which they stand there."""
        return self.conversation.locator("article[data-call]")

    def call(self, text: str) -> Locator:
        """The one call in which a text stands."""
        return self.calls.filter(has_text=text)

    @property
    def texts(self) -> Locator:
        """All texts of the model."""
        return self.conversation.locator(".turn.assistant .item[data-kind='text']")

    def say(self, text: str) -> None:
        """Writes something and sends it."""
        self.message_box.fill(text)
        self.message_box.press("Enter")
        self._sent += 1

    def take(self, suggestion: str) -> None:
        """Says what the page suggests."""
        suggestions = self.page.get_by_role("list", name="Suggestions").get_by_role("button")
        suggestions.filter(has_text=suggestion).click()
        self._sent += 1

    def show(self, tab: str) -> Locator:
        """What one of the tabs beside the conversation shows."""
        self.page.get_by_role("tab", name=tab).click()
        return self.page.get_by_role("tabpanel", name=tab)

    def expect_end(self) -> None:
        """Waits until nothing runs any more, and all of it is shown."""
        inputs = self.conversation.locator(".turn.user .item")
        expect(inputs.nth(max(0, self._sent - 1))).to_be_visible()
        # What was said is stored together with the start of its run: this ends when that does.
        numbers = re.findall(r"^id: (\d+)", self.server.read(self.events), re.MULTILINE)
        expect(self.conversation).to_have_attribute("data-events", numbers[-1])
        expect(self.page.get_by_role("button", name="Send")).to_be_visible()

    def expect_as_stored(self) -> None:
        """Compares all that is shown with what is stored: nothing lost, nothing twice, in order."""
        stored = list(_stored(self.server.messages(self.chat_id)))
        shown = self.conversation.locator(_ITEMS)
        expect(shown).to_have_count(len(stored))
        assert shown.evaluate_all(_READ) == stored


OpenPage = Callable[..., ChatPage]
"""Opens the page of a server: a window of its own, with the options of a browser context."""


def expect_state(card: Locator, state: str, word: str | None = None) -> None:
    """Waits until a call is in a state, and says so."""
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
