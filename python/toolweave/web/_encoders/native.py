"""Encoder for the native format: the stream events themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class NativeEncoder:
    """Encoder that writes each stream event as JSON.

    Example:
        >>> NativeEncoder().encode({"kind": "text", "messageId": "m", "delta": "Hi"})
        ['{"kind":"text","messageId":"m","delta":"Hi"}']
    """

    media_type = "text/event-stream"
    """Content type of the stream."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Additional headers of the response: none."""
        return {}

    def encode(self, event: Mapping[str, object]) -> Sequence[str]:
        """Return the event as JSON, on one line."""
        return [to_json(event)]

    def close(self) -> Sequence[str]:
        """Return no payloads, since the last event ends the stream."""
        return []


def to_json(event: Mapping[str, object]) -> str:
    """Return an event as JSON, on one line."""
    return json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
