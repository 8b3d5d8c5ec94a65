"""The real clients and a real server: requests, lost connections, and reconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

import toolweave as tw
from chat_servers import app_of, serve
from toolweave import Agent
from toolweave.executor import Deferred
from toolweave.testing import ScriptedModel
from toolweave.tools import tool
from toolweave.web import ask_in_chat
from web_clients import AG_UI, AI_SDK, Shown, ag_ui_calls, node, ui_calls

CHAT = "chat-1"
ANSWER = "2 and 3 is 5."


class Held:
    """A tool that waits until the client releases it."""

    def __init__(self) -> None:
        self.released = asyncio.Event()
        self.runs = 0

    async def wait_for_it(self) -> str:
        """Wait."""
        self.runs += 1
        await self.released.wait()
        return "it came"

    def behind(self, app: Starlette) -> ASGIApp:
        """Return the application with a route that releases the tool."""

        async def released(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or scope["path"] != "/release":
                await app(scope, receive, send)
                return
            self.released.set()
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"{}"})

        return released


def add(a: int, b: int) -> int:
    return a + b


@tool(requires_approval=True)
def pay(amount: int) -> str:
    return f"paid {amount}"


def book() -> Deferred:
    return Deferred("booking-4")


def play(
    path: Path, protocol: str, version: str, flow: str, agent: Callable[[Held], Agent]
) -> list[Any]:
    """Return the state of the client after each step of a flow."""

    async def main() -> list[Any]:
        held = Held()
        async with serve(held.behind(app_of(path, agent(held)))) as server:  # type: ignore[arg-type]
            given = {
                "protocol": protocol,
                "version": version,
                "flow": flow,
                "base": str(server.base_url).rstrip("/"),
                "chatId": CHAT,
            }
            seen: list[Any] = await asyncio.to_thread(node, "live.mjs", given)
            return seen

    return asyncio.run(main())


def talker(_: Held) -> Agent:
    script = ["Let me see. ", '<add>{"a": 2, "b": 3}</add>'], ANSWER, "You are welcome."
    return Agent(ScriptedModel(*script), [add])


def waiter(held: Held) -> Agent:
    return Agent(ScriptedModel("<wait_for_it>{}</wait_for_it>", "There."), [held.wait_for_it])


def payer(_: Held) -> Agent:
    script = '<pay>{"amount": 3}</pay>', "Well."
    return Agent(ScriptedModel(*script), [pay], approver=ask_in_chat)


def booker(held: Held) -> Agent:
    async def in_time(_: Sequence[tw.Message]) -> str:
        await held.released.wait()
        return "It is booked."

    return Agent(ScriptedModel("<book>{}</book>", in_time), [book])


def texts(message: dict[str, Any]) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


@pytest.mark.parametrize("flow", ["talk", "talk sparingly"])
@pytest.mark.parametrize("version", AI_SDK)
def test_use_chat_asks_and_continues_after_an_answer(
    tmp_path: Path, version: str, flow: str
) -> None:
    first, second = play(tmp_path, "ai-sdk", version, flow, talker)
    assert (first["status"], first["error"]) == ("ready", None)
    _, answer = first["messages"]
    assert texts(answer).split() == f"Let me see. {ANSWER}".split()
    assert ui_calls(answer["parts"]) == [Shown("add", {"a": 2, "b": 3}, "success", "5")]
    assert answer["metadata"]["stopReason"] == "completed"
    assert (second["status"], second["error"]) == ("ready", None)
    assert [each["role"] for each in second["messages"]] == ["user", "assistant"] * 2
    assert texts(second["messages"][-1]) == "You are welcome."


@pytest.mark.parametrize("version", AI_SDK)
def test_use_chat_that_reconnects_during_a_run_receives_all_of_it(
    tmp_path: Path, version: str
) -> None:
    cut, whole = play(tmp_path, "ai-sdk", version, "resume", waiter)
    assert ui_calls(cut["messages"][-1]["parts"]) == [Shown("wait_for_it", {}, "waiting")]
    assert (whole["status"], whole["error"]) == ("ready", None)
    question, answer = whole["messages"]
    assert (question["role"], answer["role"]) == ("user", "assistant")
    assert answer["id"] == cut["messages"][-1]["id"]
    assert ui_calls(answer["parts"]) == [Shown("wait_for_it", {}, "success", "it came")]
    assert texts(answer) == "There."


@pytest.mark.parametrize("version", AI_SDK)
def test_use_chat_resumes_nothing_without_a_run(tmp_path: Path, version: str) -> None:
    talk = play(tmp_path, "ai-sdk", version, "talk", talker)
    (idle,) = play(tmp_path, "ai-sdk", version, "idle", talker)
    assert talk[-1]["messages"]
    assert idle == {"status": "ready", "error": None, "messages": []}


@pytest.mark.parametrize("version", AI_SDK)
def test_use_chat_allows_a_call(tmp_path: Path, version: str) -> None:
    asking, seen, answer = play(tmp_path, "ai-sdk", version, "approve", payer)
    (call,) = [each for each in asking["messages"][-1]["parts"] if each["type"] == "dynamic-tool"]
    # Version 5 has no state for that.
    assert call["state"] == ("input-available" if version == "5" else "approval-requested")
    assert answer["status"] == 200
    assert (seen["status"], seen["error"]) == ("ready", None)
    parts = seen["messages"][-1]["parts"]
    assert ui_calls(parts) == [Shown("pay", {"amount": 3}, "success", "paid 3")]


@pytest.mark.parametrize("version", AI_SDK)
def test_use_chat_stops_a_run(tmp_path: Path, version: str) -> None:
    seen, answer = play(tmp_path, "ai-sdk", version, "stop", waiter)
    assert answer["status"] == 202
    assert (seen["status"], seen["error"]) == ("ready", None)
    message = seen["messages"][-1]
    (call,) = ui_calls(message["parts"])
    assert call.outcome == "error"
    assert message["metadata"]["stopReason"] == "cancelled"


@pytest.mark.parametrize("version", AI_SDK)
def test_use_chat_receives_the_reason_an_answer_is_not_regenerated(
    tmp_path: Path, version: str
) -> None:
    (seen,) = play(tmp_path, "ai-sdk", version, "regenerate", talker)
    assert seen["status"] == "error"
    assert "replies cannot be regenerated" in seen["error"].lower()


@pytest.mark.parametrize("version", AI_SDK)
def test_use_chat_continues_after_a_deferred_result(tmp_path: Path, version: str) -> None:
    waiting, answer, seen = play(tmp_path, "ai-sdk", version, "come later", booker)
    assert waiting["messages"][-1]["metadata"]["stopReason"] == "deferred"
    assert ui_calls(waiting["messages"][-1]["parts"]) == [Shown("book", {}, "waiting")]
    assert answer["status"] == 200
    assert (seen["status"], seen["error"]) == ("ready", None)
    assert texts(seen["messages"][-1]) == "It is booked."


@pytest.mark.parametrize("version", AG_UI)
def test_ag_ui_continues_after_a_deferred_result(tmp_path: Path, version: str) -> None:
    waiting, answer, seen = play(tmp_path, "ag-ui", version, "come later", booker)
    assert waiting["result"] == {"stopReason": "deferred"}
    assert answer["status"] == 200
    assert (seen["error"], seen["warnings"]) == (None, [])
    assert seen["messages"][-1]["content"] == "It is booked."


@pytest.mark.parametrize("version", AG_UI)
def test_ag_ui_asks_and_continues_after_an_answer(tmp_path: Path, version: str) -> None:
    first, second = play(tmp_path, "ag-ui", version, "talk", talker)
    for seen in (first, second):
        assert (seen["error"], seen["warnings"]) == (None, [])
        assert seen["result"] == {"stopReason": "completed"}
    assert ag_ui_calls(first["messages"]) == [Shown("add", {"a": 2, "b": 3}, "success", "5")]
    contents = [each["content"] for each in first["messages"] if each.get("content")]
    assert [each.strip() for each in contents] == ["First.", "Let me see.", "5", ANSWER]
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert second["messages"][-1]["content"] == "You are welcome."


@pytest.mark.parametrize("version", AG_UI)
def test_ag_ui_that_reconnects_during_a_run_receives_all_of_it(
    tmp_path: Path, version: str
) -> None:
    cut, whole = play(tmp_path, "ag-ui", version, "resume", waiter)
    assert ag_ui_calls(cut["messages"]) == [Shown("wait_for_it", {}, "waiting")]
    assert (whole["error"], whole["warnings"]) == (None, [])
    assert ag_ui_calls(whole["messages"]) == [Shown("wait_for_it", {}, "success", "it came")]
    assert whole["messages"][-1]["content"] == "There."


@pytest.mark.parametrize("version", AG_UI)
def test_ag_ui_denies_a_call(tmp_path: Path, version: str) -> None:
    seen, answer = play(tmp_path, "ag-ui", version, "approve", payer)
    assert answer["status"] == 200
    assert (seen["error"], seen["warnings"]) == (None, [])
    (call,) = ag_ui_calls(seen["messages"])
    assert (call.name, call.outcome) == ("pay", "denied")
    (message,) = [each for each in seen["messages"] if each["role"] == "tool"]
    assert message["error"] == message["content"]
