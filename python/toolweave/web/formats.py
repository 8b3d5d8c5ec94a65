"""What streams can be written in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from .encoders import Encoder
from .encoders.ag_ui import AgUiEncoder
from .encoders.ai_sdk import AiSdkEncoder
from .errors import HttpError

Encoders: TypeAlias = "Mapping[str, Callable[[], Encoder]]"
"""What makes the encoder of a stream, by the name that clients ask for."""

NATIVE = "native"
"""The events as they are."""

ENCODERS: Encoders = {"ag-ui": AgUiEncoder, "ai-sdk": AiSdkEncoder}
"""What this package has beside the events as they are."""


class Formats:
    """What streams can be written in.

    Args:
        encoders: What there is beside the events as they are.
    """

    def __init__(self, encoders: Encoders) -> None:
        self._encoders = encoders

    def encoder(self, name: str) -> Encoder | None:
        """A fresh encoder; None for the events as they are.

        Raises:
            Refused: There is no such format.
        """
        if name == NATIVE:
            return None
        make = self._encoders.get(name)
        if make is None:
            known = ", ".join([NATIVE, *self._encoders])
            raise HttpError(400, "unknown_format", f"`format` has to be one of {known}.")
        return make()
