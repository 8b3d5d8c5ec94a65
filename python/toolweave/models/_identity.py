"""Identity of models: the optional attributes of `ChatModel`, with their defaults."""

from __future__ import annotations

from typing import NamedTuple


class ModelIdentity(NamedTuple):
    """Optional attributes of a model; see `ChatModel`."""

    name: str
    """Name of the model; by default, that of its class."""
    provider: str = "unknown"
    """Provider of the model."""
    native_tools: bool = False
    """True if the model makes native calls."""
    structured_output: bool = False
    """True if the provider can enforce `ModelOptions.response_schema`."""


def identify(model: object) -> ModelIdentity:
    """Return the identity of a model."""
    return ModelIdentity(
        str(getattr(model, "name", type(model).__name__)),
        str(getattr(model, "provider", "unknown")),
        bool(getattr(model, "native_tools", False)),
        bool(getattr(model, "structured_output", False)),
    )
