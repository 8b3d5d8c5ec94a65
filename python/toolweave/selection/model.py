"""A model as a scorer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .._core import TextMessage, UsageMessage, UsageUpdate
from ..exceptions import ModelError
from ..kinds import FinishReason
from ..models import as_model, complete
from ..protocols import ModelOptions
from .scorer import ScorerReply

if TYPE_CHECKING:
    from ..protocols import ChatModel
    from .scorer import ScorerRequest

OPTIONS = ModelOptions(temperature=0.0, max_tokens=512)
"""What a model is asked with, unless told otherwise."""


class ModelScorer:
    """A model as a scorer.

    It is asked for structured output, which providers that can enforce. A reply that was cut off is
    an error: of ``{"score": 9`` nobody knows how it was to go on.

    Args:
        model: The model.
        options: What it is asked with; temperature 0 and at most 512 tokens if not given.
    """

    def __init__(self, model: ChatModel, *, options: ModelOptions | None = None) -> None:
        self._model = as_model(model)
        self._options = OPTIONS if options is None else options

    def __repr__(self) -> str:
        return f"ModelScorer({self.name})"

    @property
    def name(self) -> str:
        """What the model is called."""
        return str(getattr(self._model, "name", type(self._model).__name__))

    def asked(self, request: ScorerRequest) -> ModelOptions:
        """What the model is asked with."""
        return replace(self._options, response_schema=request.schema)

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        """Asks the model.

        Raises:
            ModelError: It could not be asked, or its reply is not whole.
        """
        joined = await complete(self._model, request.prompt, options=self.asked(request))
        if joined.finish_reason is not FinishReason.STOP:
            raise cut_off(joined.finish_reason)
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


def cut_off(reason: FinishReason) -> ModelError:
    """The error of a reply that is not whole."""
    return ModelError(f"the reply was cut off ({reason.value})")
