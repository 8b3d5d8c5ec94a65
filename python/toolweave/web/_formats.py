"""Formats of streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ._encoders import Encoder
from ._encoders.ag_ui import AgUiEncoder
from ._encoders.ai_sdk import AiSdkEncoder
from ._errors import HttpError

Encoders: TypeAlias = "Mapping[str, Callable[[], Encoder]]"
"""Factories of encoders, by the name of the format."""

NATIVE = "native"
"""Name of the native format: toolweave's own stream events."""

ENCODERS: Encoders = {"ag-ui": AgUiEncoder, "ai-sdk": AiSdkEncoder}
"""Encoders of this package, in addition to the native format."""


class Formats:
    """The formats in which a server can write streams.

    Args:
        encoders: Factories of encoders, in addition to the native format.
    """

    def __init__(self, encoders: Encoders) -> None:
        self._encoders = encoders

    def encoder(self, name: str) -> Encoder | None:
        """Create an encoder; return None for the native format.

        Raises:
            HttpError: The format is unknown.
        """
        if name == NATIVE:
            return None
        make = self._encoders.get(name)
        if make is None:
            known = ", ".join([NATIVE, *self._encoders])
            raise HttpError(400, "unknown_format", f"`format` must be one of {known}.")
        return make()
