"""Encoding of each event for the AI SDK and for AG-UI."""

from __future__ import annotations

from typing import Any

import pytest

from encoded_runs import EventLog, call, chunks, encode, types
from toolweave.web.encoders import AgUiEncoder, AiSdkEncoder, Encoder

STARTED = EventLog().started().events
FINISHED = EventLog().finished().events


def ui(log: EventLog, **options: Any) -> list[dict[str, Any]]:
    """Return the chunks of an active run, without its start."""
    encoder = AiSdkEncoder(**options)
    encoder.encode(STARTED[0])
    return chunks(payload for event in log.events for payload in encoder.encode(event))


def ag(log: EventLog, **options: Any) -> list[dict[str, Any]]:
    """Return the AG-UI events of an active run, without its start."""
    encoder = AgUiEncoder(**options)
    encoder.encode(STARTED[0])
    return chunks(payload for event in log.events for payload in encoder.encode(event))


def test_a_run_is_one_message_of_the_ai_sdk_and_each_reply_a_step_of_it() -> None:
    log = EventLog().started().text("g", 0, "Hi").calls("g", call("c", "add", {"a": 1}))
    log.result("g", "c", "2").text("h", 0, "2").finished()
    assert types(encode(AiSdkEncoder(), log.events)) == [
        "start",
        "start-step",
        *["text-start", "text-delta", "text-end"],
        *["tool-input-start", "tool-input-available", "tool-output-available"],
        *["finish-step", "start-step"],
        *["text-start", "text-delta", "text-end"],
        "finish-step",
        "finish",
        "[DONE]",
    ]


def test_headers_for_clients_and_proxies() -> None:
    assert AiSdkEncoder().headers == {
        "cache-control": "no-cache",
        "x-vercel-ai-ui-message-stream": "v1",
        "x-accel-buffering": "no",
    }
    assert AgUiEncoder().headers == {"cache-control": "no-cache", "x-accel-buffering": "no"}
    for encoder in (AiSdkEncoder(), AgUiEncoder()):
        assert encoder.media_type == "text/event-stream"


def test_an_empty_stream_ends_without_events() -> None:
    assert encode(AiSdkEncoder(), []) == ["[DONE]"]
    assert encode(AgUiEncoder(), []) == []


@pytest.mark.parametrize(
    ("stop_reason", "chunk"),
    [
        ("completed", {"type": "finish", "finishReason": "stop"}),
        ("length", {"type": "finish", "finishReason": "length"}),
        ("content_filter", {"type": "finish", "finishReason": "content-filter"}),
        ("deferred", {"type": "finish", "finishReason": "tool-calls"}),
        ("max_iterations", {"type": "finish", "finishReason": "other"}),
        ("something new", {"type": "finish", "finishReason": "other"}),
        ("cancelled", {"type": "abort", "reason": "cancelled"}),
        ("interrupted", {"type": "error", "errorText": "The run was interrupted."}),
        ("error", {"type": "error", "errorText": "The run failed."}),
    ],
)
def test_the_end_of_a_run_in_the_ai_sdk(stop_reason: str, chunk: dict[str, Any]) -> None:
    *_, end = ui(EventLog().finished(stop_reason))
    assert {"metadata": {"stopReason": stop_reason}} | end == {
        "metadata": {"stopReason": stop_reason},
        **chunk,
        **({"messageMetadata": {"stopReason": stop_reason}} if "finishReason" in chunk else {}),
    }


@pytest.mark.parametrize(
    ("stop_reason", "type_"),
    [
        ("completed", "RUN_FINISHED"),
        ("deferred", "RUN_FINISHED"),
        ("cancelled", "RUN_FINISHED"),
        ("max_iterations", "RUN_FINISHED"),
        ("interrupted", "RUN_ERROR"),
        ("error", "RUN_ERROR"),
    ],
)
def test_the_end_of_a_run_in_ag_ui(stop_reason: str, type_: str) -> None:
    (end,) = ag(EventLog().finished(stop_reason))
    assert end["type"] == type_
    assert stop_reason in (end.get("code"), end.get("result", {}).get("stopReason"))
    assert "outcome" not in end


def test_a_failed_run_has_the_last_error_message() -> None:
    log = EventLog().emit("error", message="The model is gone.").finished("error")
    assert ui(log)[-1]["errorText"] == ag(log)[-1]["message"] == "The model is gone."
    log = EventLog().emit("error", message="A tool failed.").finished("error", "Out of money.")
    assert ui(log)[-1]["errorText"] == ag(log)[-1]["message"] == "Out of money."


def test_newer_clients_of_ag_ui_get_the_version_and_the_outcome_of_cancelled_runs() -> None:
    log = EventLog().started().finished("cancelled")
    for version in (None, "0.0.59", "x", ""):
        start, end = chunks(encode(AgUiEncoder(protocol_version=version), log.events))
        assert "protocolVersion" not in start
        assert "outcome" not in end
    for version in ("1.0", "1.7", "12.0"):
        start, end = chunks(encode(AgUiEncoder(protocol_version=version), log.events))
        assert start["protocolVersion"] == "1.0"
        assert end["outcome"] == {"type": "cancelled"}


def test_calls_with_the_same_id_in_two_replies_have_different_ids() -> None:
    log = EventLog().calls("g", call("call_0", "add")).result("g", "call_0", "1")
    log.calls("h", call("call_0", "add")).result("h", "call_0", "2")
    received = [c for c in ui(log) if c["type"] == "tool-output-available"]
    assert [(c["toolCallId"], c["output"]) for c in received] == [
        ("g.call_0", "1"),
        ("h.call_0", "2"),
    ]
    received = [e for e in ag(log) if e["type"] == "TOOL_CALL_RESULT"]
    assert [(e["toolCallId"], e["content"]) for e in received] == [
        ("g.call_0", "1"),
        ("h.call_0", "2"),
    ]


def test_a_result_without_a_reply_id_finds_its_call_by_its_message() -> None:
    log = EventLog().calls("g", call("call_0", "add")).calls("h", call("call_0", "add"))
    log.result("g", "call_0", "1")
    del log.events[-1]["generationId"]
    assert ui(log)[-1]["toolCallId"] == "g.call_0"


def test_results_of_known_calls_of_earlier_runs_are_sent_without_a_call() -> None:
    log = EventLog().started().result("f", "c", "paid", error="denied").text("g", 0, "So.")
    received = types(encode(AiSdkEncoder(known_calls=["f.c"], message_id="r"), log.events))
    assert received[:3] == ["start", "tool-output-error", "start-step"]
    known = [{"id": "f.calls", "role": "assistant", "toolCalls": [{"id": "f.c"}]}]
    payloads = encode(AgUiEncoder(history=known), log.finished().events)
    assert types(payloads)[:3] == ["RUN_STARTED", "TOOL_CALL_RESULT", "TEXT_MESSAGE_START"]
    (snapshot,) = [each for each in chunks(payloads) if each["type"] == "MESSAGES_SNAPSHOT"]
    assert [each["role"] for each in snapshot["messages"]] == ["assistant", "tool", "assistant"]


def test_results_of_unknown_calls_are_sent_with_a_call() -> None:
    log = EventLog().result("f", "c", "paid").text("g", 0, "So.")
    log.events[0]["name"] = "pay"
    starts = ["start-step", "tool-input-start", "tool-input-available", "tool-output-available"]
    assert [chunk["type"] for chunk in ui(log)] == [
        *starts,
        *["finish-step", "start-step", "text-start", "text-delta", "text-end"],
    ]
    assert ui(log)[1]["toolName"] == "pay"
    assert [event["type"] for event in ag(log)][:4] == [
        *["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"]
    ]


def test_fragments_are_assembled_wherever_their_id_and_name_come() -> None:
    log = EventLog().fragment("g", 0, arguments='{"a"').fragment("g", 1, name="sub")
    log.fragment("g", 0, name="add", arguments=": ").fragment("g", 1, call_id="y")
    log.fragment("g", 0, call_id="x", arguments="1").fragment("g", None, arguments="}")
    log.fragment("g", None, call_id="y", arguments="{}")
    received = ui(log)
    written = {
        id_: "".join(
            c["inputTextDelta"]
            for c in received
            if c.get("toolCallId") == id_ and "inputTextDelta" in c
        )
        for id_ in ("g.x", "g.y")
    }
    assert written == {"g.x": '{"a": 1}', "g.y": "{}"}
    starts = {c["toolCallId"]: c["toolName"] for c in received if c["type"] == "tool-input-start"}
    assert starts == {"g.x": "add", "g.y": "sub"}


def test_events_of_a_call_are_held_until_its_arguments_were_sent() -> None:
    log = EventLog().fragment("g", 0, call_id="c", name="add", arguments="{")
    log.result("g", "c", "50 %", done=False).result("g", "c", "99 %", done=False)
    log.result("g", "c", "done").result("g", "c", "late", done=False)
    log.calls("g", call("c", "add"))
    assert [chunk["type"] for chunk in ui(log)] == [
        *["start-step", "tool-input-start", "tool-input-delta", "tool-input-available"],
        *["tool-output-available", "data-tool-progress", "tool-output-available"],
    ]
    assert ui(log)[-1]["output"] == "done"
    assert "preliminary" not in ui(log)[-1]
    assert [event["type"] for event in ag(log)] == [
        *["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_ARGS", "TOOL_CALL_END"],
        *["CUSTOM", "TOOL_CALL_RESULT"],
    ]


def test_only_the_first_result_is_sent() -> None:
    log = EventLog().calls("g", call("c", "add")).result("g", "c", "1").result("g", "c", "2")
    log.result("g", "c", "3", done=False)
    assert [c["output"] for c in ui(log) if "output" in c] == ["1"]
    assert [e["content"] for e in ag(log) if "content" in e] == ["1"]


def test_results_that_only_the_aggregate_has_are_sent() -> None:
    log = EventLog().calls("g", call("c", "add")).result("g", "c", "1")
    log.emit(
        "tools_aggregate",
        messageId="g.calls",
        generationId="g",
        toolCalls=[call("c", "add"), call("d", "sub", index=1)],
        toolResults=[
            {"toolCallId": "c", "result": "1"},
            {"toolCallId": "d", "result": "no", "isError": True, "errorCode": "timeout"},
        ],
        done=True,
    )
    assert [
        c.get("output", c.get("errorText")) for c in ui(log) if c["type"].startswith("tool-output")
    ] == ["1", "no"]
    results = [e for e in ag(log) if e["type"] == "TOOL_CALL_RESULT"]
    assert [(e["messageId"], e["content"]) for e in results] == [
        ("g.calls_result_c", "1"),
        ("g.calls_result_d", "no"),
    ]


def test_an_invalid_call_is_an_error_with_its_arguments() -> None:
    log = EventLog().fragment("g", 0, call_id="c", name="add", arguments='{"a":')
    log.calls("g", call("c", "add", invalid="This is not JSON."))
    assert ui(log)[-1] == {
        "type": "tool-input-error",
        "toolCallId": "g.c",
        "toolName": "add",
        "input": '{"a":',
        "errorText": "This is not JSON.",
        "dynamic": True,
    }
    assert ag(log)[-1]["metadata"] == {"invalid": "This is not JSON."}


def test_an_invalid_call_without_streamed_arguments_has_its_raw_text() -> None:
    log = EventLog().calls("g", call("c", "add", invalid="What?") | {"raw": "<add>?</add>"})
    assert ui(log)[-1]["input"] == "<add>?</add>"


def test_states_are_data_parts_except_running_alone() -> None:
    log = EventLog().calls("g", call("c", "add"), call("d", "sub", index=1))
    log.state("g", "c", "running").state("g", "d", "awaiting_approval")
    log.state("g", "d", "awaiting_approval", key="k").state("g", "d", "running")
    received = [chunk for chunk in ui(log) if chunk["type"] == "data-tool-state"]
    assert [(chunk["id"], chunk["data"]["state"]) for chunk in received] == [
        ("g.d", "awaiting_approval"),
        ("g.d", "awaiting_approval"),
        ("g.d", "running"),
    ]
    # A state without a key is no approval request.
    asked = [chunk for chunk in ui(log, version=6) if chunk["type"] == "tool-approval-request"]
    assert asked == [{"type": "tool-approval-request", "approvalId": "k", "toolCallId": "g.d"}]


def test_repaired_arguments_are_corrected_at_the_end() -> None:
    log = EventLog().started().fragment("g", 0, call_id="c", name="add", arguments='{"a": "1"}')
    log.calls("g", call("c", "add", {"a": True})).finished()
    events = chunks(encode(AgUiEncoder(history=[]), log.events))
    (end,) = [event for event in events if event["type"] == "TOOL_CALL_END"]
    assert end["metadata"] == {"arguments": '{"a":true}'}
    (snapshot,) = [event for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
    (message,) = snapshot["messages"]
    assert message["toolCalls"][0]["function"]["arguments"] == '{"a":true}'


@pytest.mark.parametrize("written", ['{"a": 1}', '{"a":1}', '{"a"', ""])
def test_arguments_that_were_streamed_correctly_need_no_correction(written: str) -> None:
    log = EventLog().fragment("g", 0, call_id="c", name="add", arguments=written)
    received = ag(log.calls("g", call("c", "add", {"a": 1})))
    assert "metadata" not in received[-1]
    deltas = "".join(event["delta"] for event in received if event["type"] == "TOOL_CALL_ARGS")
    assert deltas.replace(" ", "") == '{"a":1}'


def test_a_snapshot_has_the_messages_of_the_client_and_is_sent_only_if_needed() -> None:
    history = [
        {"id": "u", "role": "user", "content": "Hi"},
        {"id": "t", "role": "reasoning", "content": "Hm."},
        {"id": "v", "role": "activity", "activityType": "x", "content": {}},
    ]
    log = EventLog().started().text("g", 0, "So").calls("g", call("c", "add"))
    good = EventLog().result("g", "c", "1").finished()
    bad = EventLog().result("g", "c", "It broke.", error="tool_error").finished()
    assert "MESSAGES_SNAPSHOT" not in types(
        encode(AgUiEncoder(history=history), log.events + good.events)
    )
    # A client would drop messages that a snapshot does not have.
    assert "MESSAGES_SNAPSHOT" not in types(encode(AgUiEncoder(), log.events + bad.events))
    payloads = encode(AgUiEncoder(history=history), log.events + bad.events)
    assert types(payloads)[-2:] == ["MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert chunks(payloads)[-2]["messages"] == [
        {"id": "u", "role": "user", "content": "Hi"},
        {"id": "g.0", "role": "assistant", "content": "So"},
        {
            "id": "g.calls",
            "role": "assistant",
            "toolCalls": [
                {"id": "g.c", "type": "function", "function": {"name": "add", "arguments": "{}"}}
            ],
        },
        {
            "id": "g.calls_result_c",
            "role": "tool",
            "toolCallId": "g.c",
            "content": "It broke.",
            "error": "It broke.",
            "metadata": {"error": "tool_error"},
        },
    ]


def test_messages_of_users_are_sent_only_to_clients_that_watch() -> None:
    log = EventLog().asked("Hi").started().finished()
    assert types(encode(AiSdkEncoder(), log.events)) == ["start", "finish", "[DONE]"]
    assert types(encode(AgUiEncoder(), log.events)) == ["RUN_STARTED", "RUN_FINISHED"]
    received = chunks(encode(AgUiEncoder(echo=True), log.events))
    assert received[1] == {"type": "TEXT_MESSAGE_START", "messageId": "question", "role": "user"}
    assert received[2]["delta"] == "Hi"


def test_a_stream_has_one_run() -> None:
    first = EventLog(run_id="r1").started().text("g", 0, "One").events
    second = EventLog(run_id="r2").started().text("h", 0, "Two").finished().events
    ended = EventLog(run_id="r1").finished().text("g", 0, "More").events
    for encoder in (AiSdkEncoder(), AgUiEncoder()):
        received = chunks(encode(encoder, first + second + ended + second))
        assert [each["delta"] for each in received if "delta" in each] == ["One"]
        assert [each.get("runId", "r1") for each in received] == ["r1"] * len(received)


def test_ids_that_the_client_has_chosen_are_kept() -> None:
    start = chunks(AgUiEncoder(thread_id="t", run_id="theirs").encode(STARTED[0]))[0]
    assert (start["threadId"], start["runId"]) == ("t", "theirs")
    assert chunks(AiSdkEncoder(message_id="m").encode(STARTED[0]))[0]["messageId"] == "m"


@pytest.mark.parametrize("version", [4, 8, None, "5"])
def test_a_version_that_does_not_exist_is_rejected(version: Any) -> None:
    with pytest.raises(ValueError, match="version must be 5, 6 or 7"):
        AiSdkEncoder(version=version)


@pytest.mark.parametrize("encoder", [AiSdkEncoder(), AgUiEncoder()])
def test_nothing_is_sent_after_the_end(encoder: Encoder) -> None:
    encode(encoder, STARTED + FINISHED)
    assert encoder.encode(EventLog().text("g", 0, "Hi").events[0]) == []
