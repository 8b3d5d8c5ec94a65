"""Decisions on calls: the events, the aggregate and the snapshot name the user that made them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from chat_servers import all_events, finished, new_chat, on_a_server, say, serve_agent, until
from toolweave import Agent, Approval, StreamReducer, ToolAggregateMessage, tool
from toolweave.testing import ScriptedModel
from toolweave.web import ask_in_chat


@tool(requires_approval=True)
async def pay(euros: int) -> str:
    """Pay."""
    return f"paid {euros}"


def user_of(request: Request) -> str | None:
    return request.headers.get("x-user")


@pytest.mark.parametrize("approved", [True, False], ids=["allowed", "denied"])
@pytest.mark.parametrize("user", ["ann", None], ids=["users", "no users"])
@on_a_server
async def test_a_decision_names_the_user_and_the_reason(
    tmp_path: Path, user: str | None, approved: bool
) -> None:
    model = ScriptedModel('<pay>{"euros": 7}</pay>', "Well.")
    agent = Agent(model, [pay], approver=ask_in_chat)
    options: dict[str, Any] = {} if user is None else {"authenticate": user_of}
    decision = {"approved": approved, "reason": "It is due."}
    async with serve_agent(tmp_path, agent, **options) as client:
        client.headers.update({} if user is None else {"x-user": user})
        chat = await new_chat(client)
        accepted = await say(client, chat, "Pay!")
        asked = await until(client, chat, "tool_state", state="awaiting_approval")
        while "key" not in asked:
            after = asked["sequenceNumber"]
            asked = await until(client, chat, "tool_state", after, state="awaiting_approval")
        path = f"{chat}/answers/{asked['key']}"
        outcomes = [
            (await client.post(path, json=body)).json()["outcome"]
            for body in (decision, decision, {**decision, "approved": not approved})
        ]
        assert outcomes == ["resolved", "duplicate", "conflict"]
        forged = await client.post(path, json={**decision, "decidedBy": "bob"})
        assert forged.status_code == 400
        await finished(client, chat, accepted["runId"])
        received = await all_events(client, chat)
    [state] = [each for each in received if each.get("state") in ("approved", "denied")]
    assert state["decidedBy"] == (user or "user")
    assert state["reason"] == "It is due."
    reducer = StreamReducer()
    for event in received:
        reducer.push(event)
    [call] = [call for each in reducer.snapshot()["messages"] for call in each.get("toolCalls", ())]
    assert call["state"] == ("success" if approved else "denied")
    assert (call["approved"], call["decidedBy"]) == (approved, user or "user")


@pytest.mark.parametrize(
    ("answer", "received"),
    [
        (Approval.allow(), {"outcome": "allowed", "reason": None}),
        (
            Approval.allow("small sum", decided_by="rule 7"),
            {"outcome": "allowed", "reason": "small sum", "decidedBy": "rule 7"},
        ),
        (
            Approval.deny(decided_by="rule 8"),
            {"outcome": "denied", "reason": None, "decidedBy": "rule 8"},
        ),
    ],
)
def test_the_aggregate_keeps_the_name_that_an_approver_gives(
    answer: Approval, received: dict[str, Any]
) -> None:
    model = ScriptedModel('<pay>{"euros": 7}</pay>', "Well.")
    result = Agent(model, [pay], approver=lambda *_: answer).run_sync("Pay!")
    [aggregate] = [each for each in result.messages if isinstance(each, ToolAggregateMessage)]
    assert list((aggregate.metadata or {})["approvals"].values()) == [received]
