"""Scorer that asks a model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .._core import TextMessage, UsageMessage, UsageUpdate
from ..exceptions import ModelError
from ..kinds import FinishReason
from ..models import as_model, complete
from ..protocols import ModelOptions
from ._scorer import ScorerReply

if TYPE_CHECKING:
    from ..protocols import ChatModel
    from ._scorer import ScorerRequest

OPTIONS = ModelOptions(temperature=0.0, max_tokens=512)
"""Default options for models."""


class ModelScorer:
    """Scorer that asks a model.

    It requests structured output, which some providers enforce. A reply that was cut off is an
    error, since ``{"score": 9`` might have continued.

    Args:
        model: The model.
        options: Options of the requests; temperature 0 and at most 512 tokens by default.
    """

    def __init__(self, model: ChatModel, *, options: ModelOptions | None = None) -> None:
        self._model = as_model(model)
        self._options = OPTIONS if options is None else options

    def __repr__(self) -> str:
        return f"ModelScorer({self.name})"

    @property
    def name(self) -> str:
        """Name of the model."""
        return str(getattr(self._model, "name", type(self._model).__name__))

    def options_for(self, request: ScorerRequest) -> ModelOptions:
        """Return the options of a request."""
        return replace(self._options, response_schema=request.schema)

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        """Ask the model.

        Raises:
            ModelError: The request failed, or the reply was cut off.
        """
        joined = await complete(self._model, request.prompt, options=self.options_for(request))
        if joined.finish_reason is not FinishReason.STOP:
            raise cut_off_error(joined.finish_reason)
        texts: list[str] = []
        usage = None
        for message in joined.messages:
            if isinstance(message, TextMessage):
                texts.append(message.text)
            elif isinstance(message, UsageMessage):
                usage = UsageUpdate(
                    message.input_tokens, message.output_tokens, message.cached_input_tokens
                )
        return ScorerReply("".join(texts), usage)


def cut_off_error(reason: FinishReason) -> ModelError:
    """Return the error of a reply that was cut off."""
    return ModelError(f"the reply was cut off ({reason.value})")
