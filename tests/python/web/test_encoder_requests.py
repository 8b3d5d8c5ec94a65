"""Requests of the AI SDK and AG-UI: new content is read, and invalid requests are rejected."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolweave.exceptions import MessageError
from toolweave.web.encoders import (
    SubmittedAnswer,
    read_ag_ui_request,
    read_ai_sdk_request,
    read_ai_sdk_version,
)


def message(role: str = "user", *parts: Any, id_: str = "m") -> dict[str, Any]:
    return {"id": id_, "role": role, "parts": list(parts) or [{"type": "text", "text": "Hi"}]}


def body(*messages: Any, **changes: Any) -> dict[str, Any]:
    whole = {"id": "c", "messages": list(messages) or [message()], "trigger": "submit-message"}
    return whole | changes


def approval(approved: Any = True, **fields: Any) -> dict[str, Any]:
    return {
        "type": "dynamic-tool",
        "state": "approval-responded",
        "approval": {"id": "key", "approved": approved, **fields},
    }


def test_the_last_message_of_use_chat_is_read() -> None:
    read = read_ai_sdk_request(body(message(id_="a"), message("assistant"), message(id_="b")))
    assert (read.chat_id, read.message_id, read.text, read.answers) == ("c", "b", "Hi", ())
    parts = [{"type": "text", "text": each} for each in ("One", " ", "Two")]
    read = read_ai_sdk_request(body(message("user", *parts, {"type": "data-x", "data": 1})))
    assert read.text == "One\n\nTwo"
    # Older clients send null for absent fields, and apps add fields of their own.
    assert read_ai_sdk_request(body(messageId=None, user="me", trigger="submit-message")).text


def test_approvals_of_use_chat_are_read() -> None:
    done = {"type": "dynamic-tool", "toolCallId": "g.c", "state": "output-available"}
    parts = [{"type": "step-start"}, done, approval(), approval(approved=False, reason="No.")]
    read = read_ai_sdk_request(body(message(), message("assistant", *parts), messageId="m"))
    assert read.text is None
    assert read.answers == (
        SubmittedAnswer("key", approved=True),
        SubmittedAnswer("key", approved=False, reason="No."),
    )


@pytest.mark.parametrize(
    ("wrong", "path", "says"),
    [
        ({"id": 3}, "/id", "expected a string, found a number"),
        ({"id": ""}, "/id", "expected 1 to 200 characters"),
        ({"id": "x" * 201}, "/id", "expected 1 to 200 characters"),
        ({"messages": None}, "/messages", "expected an array, found nothing"),
        ({"messages": []}, "/messages", "expected a message"),
        ({"messages": ["Hi"]}, "/messages/0", "expected an object, found a string"),
        ({"messages": [{}] * 20_001}, "/messages", "at most 20000 items"),
        ({"messages": [message("system")]}, "/messages/0/role", "expected 'user' or 'assistant'"),
        ({"messages": [message("assistant")]}, "/messages/0", "no new content"),
        ({"messages": [message("user", 3)]}, "/messages/0/parts/0", "expected an object"),
        ({"messages": [message("user", {})]}, "/messages/0/parts/0/type", "expected a string"),
        (
            {"messages": [message("user", {"type": "text", "text": " "})]},
            "/messages/0/parts",
            "none",
        ),
        (
            {"messages": [message("user", {"type": "file"})]},
            "/messages/0/parts/0/type",
            "only text",
        ),
        (
            {"messages": [message("assistant", approval("yes"))]},
            "/messages/0/parts/0/approval/approved",
            "expected true or false",
        ),
        ({"trigger": "regenerate-message"}, "/trigger", "cannot be regenerated"),
        ({"trigger": "dance"}, "/trigger", "expected 'submit-message'"),
        ({"messageId": "m"}, "/messageId", "cannot be edited"),
    ],
)
def test_invalid_requests_of_use_chat_are_rejected_with_the_path(
    wrong: dict[str, Any], path: str, says: str
) -> None:
    with pytest.raises(MessageError, match=says) as caught:
        read_ai_sdk_request(body(**wrong))
    assert caught.value.path == path
    assert repr(path) in str(caught.value)


def test_the_version_header_is_read() -> None:
    assert [read_ai_sdk_version(each) for each in ("5", "6", "7", None)] == [5, 6, 7, 5]
    for header in ("4", "", "7.0", "７", "x" * 9):
        with pytest.raises(MessageError, match="x-ai-sdk-version must be 5, 6 or 7"):
            read_ai_sdk_version(header)


def run(*messages: Any, **changes: Any) -> dict[str, Any]:
    last = {"id": "m", "role": "user", "content": "Hi"}
    known = {"tools": [{"name": "x"}], "context": [], "state": {}, "forwardedProps": {}}
    return {"threadId": "t", "runId": "r", "messages": list(messages) or [last], **known} | changes


def test_the_last_message_of_ag_ui_is_read() -> None:
    first = {"id": "a", "role": "assistant", "content": None, "toolCalls": []}
    parts = [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}]
    read = read_ag_ui_request(run(first, {"id": "b", "role": "user", "content": parts}))
    assert (read.chat_id, read.run_id, read.message_id) == ("t", "r", "b")
    assert read.text == "One\n\nTwo"
    assert read.protocol_version is None
    # Messages that are sent back to the client have no null, which it would reject.
    assert read.messages[0] == {"id": "a", "role": "assistant", "toolCalls": []}
    assert read_ag_ui_request(run(protocolVersion="1.0")).protocol_version == "1.0"


def test_answers_to_interrupts_of_ag_ui_are_read() -> None:
    def entry(status: str, payload: Any = None) -> dict[str, Any]:
        return {"interruptId": "key", "status": status, "payload": payload}

    payloads = [True, {"approved": False, "reason": "No."}, {"city": "Rome"}, "Rome"]
    resume = [entry("cancelled"), *[entry("resolved", each) for each in payloads]]
    last = {"id": "a", "role": "assistant", "content": "Well?"}
    read = read_ag_ui_request(run(last, resume=resume))
    assert read.text is None
    assert read.answers == (
        SubmittedAnswer("key", approved=False),
        SubmittedAnswer("key", approved=True, value=True),
        SubmittedAnswer("key", approved=False, reason="No.", value=payloads[1]),
        SubmittedAnswer("key", value={"city": "Rome"}),
        SubmittedAnswer("key", value="Rome"),
    )


@pytest.mark.parametrize(
    ("wrong", "path", "says"),
    [
        ({"threadId": None}, "/threadId", "expected a string, found nothing"),
        ({"runId": []}, "/runId", "expected a string, found an array"),
        ({"messages": {}}, "/messages", "expected an array, found an object"),
        ({"messages": []}, "/messages", "no new content"),
        ({"messages": [{"id": "m", "role": "tool"}]}, "/messages", "no new content"),
        ({"messages": [{"role": "user"}]}, "/messages/0/id", "expected a string"),
        ({"messages": [{"id": "m", "role": "user"}]}, "/messages/0/content", "found nothing"),
        (
            {"messages": [{"id": "m", "role": "user", "content": " "}]},
            "/messages/0/content",
            "some text",
        ),
        (
            {"messages": [{"id": "m", "role": "user", "content": [{"type": "image"}]}]},
            "/messages/0/content/0/type",
            "only text parts are supported",
        ),
        ({"resume": [{}]}, "/resume/0/interruptId", "expected a string"),
        (
            {"resume": [{"interruptId": "k", "status": "maybe"}]},
            "/resume/0/status",
            "expected 'resolved' or 'cancelled'",
        ),
    ],
)
def test_invalid_requests_of_ag_ui_are_rejected_with_the_path(
    wrong: dict[str, Any], path: str, says: str
) -> None:
    with pytest.raises(MessageError, match=says) as caught:
        read_ag_ui_request(run(**wrong))
    assert caught.value.path == path


jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
names = "id messages trigger messageId threadId runId role content parts type text resume approval"
odd = st.recursive(
    jsons | st.sampled_from(["user", "assistant", "text", "approval-responded"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*names.split(), "state", "approved", "status"]), inner)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(names.split()), odd))
def test_every_body_is_read_or_rejected(fields: dict[str, Any]) -> None:
    for read in (read_ai_sdk_request, read_ag_ui_request):
        for given_ in (fields, body() | fields, run() | fields):
            with contextlib.suppress(MessageError):
                read(given_)
