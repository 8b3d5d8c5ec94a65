"""What clients read: the events of a chat, in the words of a protocol.

An encoder turns stream events into JSON payloads, one for each `data:` of a server-sent-event
stream. It does no I/O and knows no clock: the same events give the same payloads, so that a reader
who comes back is served by encoding a run again from its start and leaving out what they had.

Example:
    >>> from toolweave.web.encoders.ai_sdk import AiSdkEncoder
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
    """Writes the events of one stream for one kind of client."""

    @property
    def media_type(self) -> str:
        """The content type of the stream."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """What the client wants to see in the response besides the content type."""
        ...

    def encode(self, event: Mapping[str, object]) -> Sequence[str]:
        """The payloads that an event comes to: none, one or several."""
        ...

    def close(self) -> Sequence[str]:
        """What ends the stream: everything that is open is closed first."""
        ...
