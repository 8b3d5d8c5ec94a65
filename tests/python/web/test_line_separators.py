"""Line separators in text: every event of a stream is one line for any client."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chat_servers import all_events, new_chat, on_a_server, say, serve_agent, text_of
from effort import effort
from encoded_runs import EventLog, call
from toolweave import Agent
from toolweave.testing import ScriptedModel
from toolweave.web._sse import frame, to_json
from toolweave.web.encoders import AgUiEncoder, AiSdkEncoder, Encoder

# All separators of `str.splitlines`, which random text would rarely contain.
SEPARATORS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
texts = st.text(
    st.sampled_from(SEPARATORS + '"\\') | st.characters(codec="utf-8"), min_size=1, max_size=12
)


class NativeEncoder:
    """Encoder of the events themselves."""

    media_type = "text/event-stream"
    headers: Mapping[str, str] = {}

    def encode(self, event: Mapping[str, object]) -> list[str]:
        return [to_json(event)]

    def close(self) -> list[str]:
        return []


ENCODERS: dict[str, Callable[[], Encoder]] = {
    "native": NativeEncoder,
    "ai-sdk": AiSdkEncoder,
    "ag-ui": lambda: AgUiEncoder(history=[{"id": "before", "role": "user", "content": SEPARATORS}]),
}


def run_of(text: str) -> list[dict[str, Any]]:
    """Return a run with the text in every field that can have text."""
    log = EventLog().asked(text).started().text("g", 0, text).reasoning("g", 1, text)
    log.fragment("g", 0, call_id="call_0", name="add", arguments=text)
    log.calls("g", call("call_0", "add", {text: text}), call("call_1", text, invalid=text, index=1))
    log.state("g", "call_0", "awaiting_answer", key="key", question=text)
    log.result("g", "call_0", text, done=False).result("g", "call_0", text)
    log.scene("Running", message=text)
    return log.finished("error", error=text).events


def data_of(stream: bytes) -> list[str]:
    """Return the data of a stream, read by a client that splits lines like httpx."""
    response = httpx.Response(200, content=stream)
    return [line[6:] for line in response.iter_lines() if line.startswith("data: ")]


def parsed(payloads: list[str]) -> list[Any]:
    return [each if each == "[DONE]" else json.loads(each) for each in payloads]


@pytest.mark.parametrize("make", ENCODERS.values(), ids=list(ENCODERS))
@settings(max_examples=effort(60))
@example(text=SEPARATORS)
@given(text=texts)
def test_each_payload_is_one_line_and_the_same_json(make: Callable[[], Encoder], text: str) -> None:
    encoder = make()
    received = [payload for event in run_of(text) for payload in encoder.encode(event)]
    received += encoder.close()
    stream = frame(received, 7)
    for line in stream.decode().split("\n"):
        assert line.splitlines() in ([line], [])
    found = data_of(stream)
    assert parsed(found) == parsed(received)


@settings(max_examples=effort(60))
@example(text=SEPARATORS)
@given(text=texts)
def test_native_events_are_read_back_unchanged(text: str) -> None:
    log = run_of(text)
    stream = b"".join(frame([to_json(event)], event["sequenceNumber"]) for event in log)
    assert [json.loads(data) for data in data_of(stream)] == log


@pytest.mark.parametrize("format_", ["native", "ai-sdk", "ag-ui"])
@on_a_server
async def test_a_client_that_splits_at_every_separator_reads_all(
    tmp_path: Path, format_: str
) -> None:
    text = f"a{SEPARATORS}b"
    async with serve_agent(tmp_path, Agent(ScriptedModel(text))) as client:
        chat = await new_chat(client)
        await say(client, chat, f"q{SEPARATORS}")
        received = await all_events(client, chat)
        assert text_of(received) == text
        assert text_of(received, "user") == f"q{SEPARATORS}"
        answer = await client.get(f"{chat}/events?format={format_}")
        found = [line[6:] for line in answer.iter_lines() if line.startswith("data: ")]
        assert len(found) == answer.text.count("\ndata: ")
        deltas = "".join(str(each["delta"]) for each in parsed(found) if "delta" in each)
        assert text in deltas
        export = await client.get(f"{chat}/export")
        assert [json.loads(line) for line in export.iter_lines()] == [
            json.loads(line) for line in export.text.split("\n") if line
        ]
