"""Encoders, which write the events of a chat in the format of a protocol.

An encoder converts stream events to JSON payloads, one for each `data:` of a stream of server-sent
events. It does no I/O and uses no clock: the same events always give the same payloads. To resume a
stream, the server encodes the run again from its start, and omits what the client already has.

Example:
    >>> from toolweave.web._encoders.ai_sdk import AiSdkEncoder
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

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Encoder"]


class Encoder(Protocol):
    """Encoder of the events of one stream for one kind of client."""

    @property
    def media_type(self) -> str:
        """Content type of the stream."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Additional headers of the response."""
        ...

    def encode(self, event: Mapping[str, object]) -> Sequence[str]:
        """Return the payloads of an event: none, one or several."""
        ...

    def close(self) -> Sequence[str]:
        """Return the payloads that end the stream, after closing everything that is open."""
        ...
