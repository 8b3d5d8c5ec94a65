"""Encoders, which write the events of a chat in the format of a protocol.

An encoder converts stream events to JSON payloads, one for each `data:` of a stream of server-sent
events. It does no I/O and uses no clock: the same events always give the same payloads. To resume a
stream, the server encodes the run again from its start, and omits what the client already has.

Example:
    >>> from toolweave.web.encoders import AiSdkEncoder
    >>> encoder = AiSdkEncoder()
    >>> text = {"kind": "text", "messageId": "g.0", "runId": "r", "delta": "Hi", "done": True}
    >>> for payload in [*encoder.encode(text), *encoder.close()]:
    ...     print(payload)
    {"type":"start","messageId":"r"}
    {"type":"start-step"}
    {"type":"text-start","id":"g.0"}
    {"type":"text-delta","id":"g.0","delta":"Hi"}
    {"type":"text-end","id":"g.0"}
    {"type":"finish-step"}
    {"type":"error","errorText":"The stream ended before the run did."}
    [DONE]
"""

from __future__ import annotations

from ..._public import claim_exports
from ._ag_ui import AgUiEncoder
from ._ai_sdk import AiSdkEncoder, AiSdkVersion
from ._encoder import Encoder
from ._requests import (
    AgUiRequest,
    AiSdkRequest,
    SubmittedAnswer,
    read_ag_ui_request,
    read_ai_sdk_request,
    read_ai_sdk_version,
)

__all__ = [
    "AgUiEncoder",
    "AgUiRequest",
    "AiSdkEncoder",
    "AiSdkRequest",
    "AiSdkVersion",
    "Encoder",
    "SubmittedAnswer",
    "read_ag_ui_request",
    "read_ai_sdk_request",
    "read_ai_sdk_version",
]

claim_exports(globals())
