"""The events as they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class NativeEncoder:
    """Writes each event as the JSON that it is.

    Example:
        >>> NativeEncoder().encode({"kind": "text", "messageId": "m", "delta": "Hi"})
        ['{"kind":"text","messageId":"m","delta":"Hi"}']
    """

    media_type = "text/event-stream"
    """The content type of the stream."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Nothing beyond what all streams have."""
        return {}

    def encode(self, event: Mapping[str, object]) -> Sequence[str]:
        """The event as JSON, in one line."""
        return [to_json(event)]

    def close(self) -> Sequence[str]:
        """Nothing: the last event is the end."""
        return []


def to_json(event: Mapping[str, object]) -> str:
    """An event as JSON, in one line."""
    return json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
