"""Types of encoders and requests: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

from typing_extensions import assert_type

from toolweave.web.encoders import (
    AgUiEncoder,
    AgUiRequest,
    AiSdkEncoder,
    AiSdkRequest,
    AiSdkVersion,
    Encoder,
    read_ag_ui_request,
    read_ai_sdk_request,
    read_ai_sdk_version,
)


class Event(TypedDict, total=False):
    """An event of a custom kind."""

    kind: str
    delta: str


def encodes(body: Mapping[str, object], event: Event) -> list[str]:
    """Encode events for both protocols."""
    makers: list[Callable[[], Encoder]] = [AiSdkEncoder, AgUiEncoder]
    payloads = [payload for make in makers for payload in make().encode(event)]
    version = assert_type(read_ai_sdk_version("7"), AiSdkVersion)
    asked = assert_type(read_ai_sdk_request(body), AiSdkRequest)
    ui = AiSdkEncoder(version=version, message_id=asked.message_id, known_calls=asked.known_calls)
    thread = assert_type(read_ag_ui_request(body), AgUiRequest)
    ag_ui = AgUiEncoder(history=thread.messages, thread_id=thread.chat_id)
    assert_type(ui.close(), Sequence[str])
    return [*payloads, *ui.close(), *ag_ui.close()]


AiSdkEncoder(version=8)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
AiSdkEncoder(5)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
