"""Recorded streams in the real clients: they show the messages of the run."""

from __future__ import annotations

from typing import Any

import pytest

from encoded_runs import encode, framed
from toolweave.web._sse import to_json
from toolweave.web.encoders import AgUiEncoder, AiSdkEncoder
from web_clients import AG_UI, AI_SDK, Shown, ag_ui_calls, node, ui_calls
from web_scenarios import SCENARIOS, Scenario

QUESTION = {"id": "question", "role": "user", "content": "Please."}
# Each client with its streams.
UI_STREAMS = [
    (client, version) for client in AI_SDK for version in (5, 6, 7) if version <= int(client)
]

Read = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def read() -> Read:
    """Return the state of each client after each stream."""
    streams: dict[str, Any] = {}
    for name, scenario in SCENARIOS.items():
        events = scenario.log.events
        for version in (5, 6, 7):
            body = framed(encode(AiSdkEncoder(version=version), events))
            clients = [client for client, least in UI_STREAMS if least == version]
            streams[f"{name}/{version}"] = {
                "protocol": "ai-sdk",
                "body": body,
                "versions": clients,
            }
        for kind, encoder in (
            ("ag-ui", AgUiEncoder(history=[QUESTION])),
            ("watching", AgUiEncoder()),
        ):
            body = framed(encode(encoder, events))
            streams[f"{name}/{kind}"] = {
                "protocol": "ag-ui",
                "body": body,
                "messages": [QUESTION],
            }
    return node("recorded.mjs", streams)


def taken(arguments: Any) -> Any:
    """Return the arguments that the client keeps: it rejects unsafe keys."""
    if not isinstance(arguments, dict) or not {"at", "by"} <= set(arguments):
        return arguments
    return {name: to_json(each) for name, each in arguments.items()}


def expected_ui_calls(scenario: Scenario, version: int) -> list[Shown]:
    expected: list[Shown] = []
    for shown in scenario.calls:
        if shown.outcome == "denied":
            # From version 6 on there is a state for that, without text; before, an error.
            refused = (
                {"outcome": "denied", "result": None} if version >= 6 else {"outcome": "error"}
            )
            shown = shown._replace(**refused)
        elif shown.outcome == "error" and shown.result is None:
            shown = shown._replace(result="The model did not finish this call.")
        expected.append(shown._replace(arguments=taken(shown.arguments)))
    return expected


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize(("client", "version"), UI_STREAMS)
def test_use_chat_shows_all_messages(read: Read, scenario: str, client: str, version: int) -> None:
    expected = SCENARIOS[scenario]
    seen = read[f"{scenario}/{version}"][client]
    assert seen["error"] == expected.error
    assert seen["status"] == ("ready" if expected.error is None else "error")
    question, answer = seen["messages"]
    assert (question["role"], answer["role"], answer["id"]) == ("user", "assistant", "run")
    parts = answer["parts"]
    contents = [part for part in parts if part["type"] in ("text", "reasoning")]
    assert "".join(part["text"] for part in contents if part["type"] == "text") == expected.text
    thought = "".join(part["text"] for part in contents if part["type"] == "reasoning")
    assert thought == expected.reasoning
    assert all(part["state"] == "done" for part in contents)
    assert ui_calls(parts) == expected_ui_calls(expected, version)


def expected_ag_ui_calls(scenario: Scenario) -> list[Shown]:
    return [
        shown._replace(outcome="waiting") if shown[2:] == ("error", None) else shown
        for shown in scenario.calls
    ]


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("client", AG_UI)
def test_ag_ui_clients_end_with_all_messages(read: Read, scenario: str, client: str) -> None:
    expected = SCENARIOS[scenario]
    seen = read[f"{scenario}/ag-ui"][client]
    assert seen["error"] == expected.error
    assert seen["warnings"] == []
    question, *messages = seen["messages"]
    assert question == QUESTION
    assistant = [each for each in messages if each["role"] == "assistant"]
    assert "".join(each.get("content", "") for each in assistant) == expected.text
    thought = [each["content"] for each in messages if each["role"] == "reasoning"]
    assert "".join(thought) == expected.reasoning
    assert ag_ui_calls(messages) == expected_ag_ui_calls(expected)
    for message in messages:
        if message["role"] == "tool":
            assert ("error" in message) == ("metadata" in message)
            assert message.get("error", message["content"]) == message["content"]


@pytest.mark.parametrize("client", AG_UI)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_clients_that_only_watch_keep_their_messages(
    read: Read, scenario: str, client: str
) -> None:
    seen = read[f"{scenario}/watching"][client]
    assert seen["warnings"] == []
    question, *messages = seen["messages"]
    assert question == QUESTION
    expected = SCENARIOS[scenario]
    assert [each[2:] for each in ag_ui_calls(messages)] == [
        each[2:] for each in expected_ag_ui_calls(expected)
    ]


@pytest.mark.parametrize("client", AI_SDK)
def test_use_chat_receives_progress_scenes_and_selections_as_data(read: Read, client: str) -> None:
    progress = [part["data"]["progress"] for part in read["progress/5"][client]["data"]]
    assert progress == ["10 %", "50 %", "90 %"]
    parts = read["scenes/5"][client]["messages"][1]["parts"]
    scenes = [part["data"].get("scene") for part in parts if part["type"] == "data-scene"]
    assert scenes == [None, "Calculator", "Weather", None]
    parts = read["other events/5"][client]["messages"][1]["parts"]
    data = {part["type"]: part["data"] for part in parts if part["type"].startswith("data-")}
    assert data["data-selection"]["tool"] == "a"
    assert data["data-error"] == {"message": "A model has failed.", "code": "model_failed"}
    metadata = read["plain text/5"][client]["messages"][1]["metadata"]
    usage = {"inputTokens": 7, "outputTokens": 3, "cachedInputTokens": 0}
    assert metadata == {"stopReason": "completed", "usage": usage}
    assert read["cancelled/5"][client]["messages"][1]["metadata"] == {"stopReason": "cancelled"}


@pytest.mark.parametrize("client", AI_SDK)
def test_use_chat_receives_the_key_of_an_approval(read: Read, client: str) -> None:
    for version in range(5, int(client) + 1):
        parts = read[f"asking/{version}"][client]["messages"][1]["parts"]
        (state,) = [part["data"] for part in parts if part["type"] == "data-tool-state"]
        assert state["state"] == "awaiting_approval"
        assert state["key"] == "key-1"
        (call,) = [part for part in parts if part["type"] == "dynamic-tool"]
        assert state["toolCallId"] == call["toolCallId"]
        if version >= 6:
            assert call["state"] == "approval-requested"
            assert call["approval"]["id"] == "key-1"
        if version >= 7:
            parts = read[f"approved/{version}"][client]["messages"][1]["parts"]
            (call,) = [part for part in parts if part["type"] == "dynamic-tool"]
            assert call["approval"] == {"id": "key-1", "approved": True, "reason": "Because."}


@pytest.mark.parametrize("client", AG_UI)
def test_ag_ui_receives_the_rest_as_custom_events_and_steps(read: Read, client: str) -> None:
    progress = read["progress/ag-ui"][client]["custom"]
    assert [each["value"]["progress"] for each in progress] == ["10 %", "50 %", "90 %"]
    steps = read["scenes/ag-ui"][client]["steps"]
    assert steps == ["+scene:Calculator", "-scene:Calculator", "+scene:Weather", "-scene:Weather"]
    names = [each["name"] for each in read["other events/ag-ui"][client]["custom"]]
    assert names == ["selection", "error"]
    assert read["cancelled/ag-ui"][client]["result"] == {"stopReason": "cancelled"}


@pytest.mark.parametrize("client", AG_UI)
def test_ag_ui_ends_a_run_that_awaits_the_user_with_an_interrupt(read: Read, client: str) -> None:
    (interrupt,) = read["asking/ag-ui"][client]["interrupts"]
    assert interrupt == {
        "id": "key-1",
        "reason": "awaiting_approval",
        "toolCallId": "g.call_0",
        "message": "It costs money.",
    }
