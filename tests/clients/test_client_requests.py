"""Requests of the real clients are parsed as the actions that caused them."""

from __future__ import annotations

from typing import Any

import pytest

from encoded_runs import encode, framed
from toolweave.exceptions import MessageError
from toolweave.web.encoders import (
    AgUiEncoder,
    AiSdkEncoder,
    SubmittedAnswer,
    read_ag_ui_request,
    read_ai_sdk_request,
)
from web_clients import AG_UI, AI_SDK, node
from web_scenarios import SCENARIOS

Posted = dict[str, dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def posted() -> Posted:
    """Return the bodies that each client posts, by action."""
    events = SCENARIOS["asking"].log.events
    encoders = {
        "ai-sdk": AiSdkEncoder(),
        "ai-sdk/6": AiSdkEncoder(version=6),
        "ag-ui": AgUiEncoder(),
    }
    asked = {name: framed(encode(encoder, events)) for name, encoder in encoders.items()}
    bodies: Posted = node("bodies.mjs", {"ask": asked})
    return bodies


@pytest.mark.parametrize("version", AI_SDK)
def test_only_the_last_message_of_a_use_chat_request_is_read(posted: Posted, version: str) -> None:
    bodies = posted["ai-sdk"][version]
    for doing, text, count in (("first", "First.", 1), ("second", "Second.", 3)):
        assert len(bodies[doing]["messages"]) == count
        read = read_ai_sdk_request(bodies[doing])
        assert (read.chat_id, read.text) == ("chat", text)
        assert read.message_id == bodies[doing]["messages"][-1]["id"]


@pytest.mark.parametrize("version", AI_SDK)
@pytest.mark.parametrize(
    ("doing", "path"),
    [
        ("regenerate", "/trigger"),
        ("edit", "/messageId"),
        ("file", "/messages/2/parts/0/type"),
    ],
)
def test_invalid_use_chat_requests_are_rejected(
    posted: Posted, version: str, doing: str, path: str
) -> None:
    with pytest.raises(MessageError) as caught:
        read_ai_sdk_request(posted["ai-sdk"][version][doing])
    assert caught.value.path == path


@pytest.mark.parametrize("version", ["6", "7"])
def test_use_chat_answers_a_question(posted: Posted, version: str) -> None:
    read = read_ai_sdk_request(posted["ai-sdk"][version]["approval"])
    assert read.answers == (SubmittedAnswer("key-1", approved=False, reason="No."),)
    assert (read.text, read.message_id, read.known_calls) == (None, "run", ("g.call_0",))


@pytest.mark.parametrize("version", AG_UI)
def test_only_the_last_message_of_an_ag_ui_request_is_read(posted: Posted, version: str) -> None:
    read = read_ag_ui_request(posted["ag-ui"][version]["first"])
    assert (read.chat_id, read.text, read.message_id) == ("chat", "First.", "m1")
    assert read.run_id
    assert read.protocol_version == {"0.0.59": None, "1.0.0": "1.0"}[version]


@pytest.mark.parametrize("version", AG_UI)
def test_ag_ui_answers_a_question(posted: Posted, version: str) -> None:
    read = read_ag_ui_request(posted["ag-ui"][version]["resume"])
    payload = {"approved": False, "reason": "No."}
    assert read.answers == (SubmittedAnswer("key-1", approved=False, reason="No.", value=payload),)
    assert read.text is None
