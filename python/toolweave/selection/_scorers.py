"""Conversion of models and functions to scorers."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .._checks import check_type
from ..models.http import HttpModel
from ..protocols import ModelOptions
from ._model import ModelScorer, NativeScorer
from ._scorer import Scorer, ScorerReply

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..protocols import ChatModel, ModelOptions
    from ._scorer import ScorerRequest

ScorerFunction: TypeAlias = "Callable[[str, dict[str, Any]], Awaitable[str | Mapping[str, Any]]]"
"""Function of the prompt and a JSON Schema that returns the reply as a text or a mapping."""

AnyScorer: TypeAlias = "Scorer | ChatModel | ScorerFunction"
"""Type of all values that are accepted as a scorer."""


def as_scorer(scorer: AnyScorer, *, options: ModelOptions | None = None) -> Scorer:
    """Convert a model or a function to a scorer.

    Example:
        >>> async def always(prompt, schema):
        ...     return {"score": 80}
        >>> as_scorer(always).name
        'always'

    Args:
        scorer: A `Scorer`, which is returned unchanged; a `ChatModel`; or an async function of the
            prompt and the JSON Schema of the reply that returns a text or a dict.
        options: The options of requests to a model; temperature 0 and at most 512 tokens by
            default. The schema is added.

    Raises:
        TypeError: `scorer` is none of these.
    """
    check_type("options", options, ModelOptions, "a ModelOptions", none=True)
    if isinstance(scorer, type):
        raise TypeError(f"scorer must be an instance, got the class {scorer.__name__}")
    if callable(getattr(scorer, "ask", None)) and not callable(getattr(scorer, "stream", None)):
        return cast("Scorer", scorer)
    if callable(getattr(scorer, "stream", None)):
        model = cast("ChatModel", scorer)
        # Not a subclass that overrides `stream`.
        if isinstance(model, HttpModel) and type(model).stream is HttpModel.stream:
            return NativeScorer(model, options=options)
        return ModelScorer(model, options=options)
    if callable(scorer):
        return FunctionScorer(scorer)
    raise TypeError(
        "scorer must be a model, or an async function of a prompt and a JSON Schema, "
        f"got {type(scorer).__name__}"
    )


class FunctionScorer:
    """Scorer that calls a function.

    Args:
        function: An async function of the prompt and the JSON Schema of the reply that returns a
            text or a dict.

    Raises:
        TypeError: The function does not accept these two arguments.
    """

    def __init__(self, function: ScorerFunction) -> None:
        self.name: str = getattr(function, "__name__", type(function).__name__)
        """Name of the function."""
        _check(function, self.name)
        self._function = function

    def __repr__(self) -> str:
        return f"FunctionScorer({self.name})"

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        """Call the function.

        Raises:
            TypeError: It is not async, or its result is neither a text nor a dict.
        """
        answer = self._function(request.prompt, request.schema)
        if not hasattr(answer, "__await__"):
            raise TypeError(f"the scorer {self.name} is not async: {_EXPECTED}")
        content = await answer
        if not isinstance(content, _CONTENTS):
            raise TypeError(
                f"the scorer {self.name} returned {type(content).__name__}: {_EXPECTED}"
            )
        return ScorerReply(content)


# Dicts are mappings, but checked faster.
_CONTENTS: tuple[type, ...] = (str, dict, Mapping)
_EXPECTED = (
    "a scorer is an async function of a prompt and a JSON Schema that returns a str or a dict"
)


def _check(function: ScorerFunction, name: str) -> None:
    """Raise `TypeError` if the signature cannot be that of a scorer."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # functions in C may have no signature
        return
    try:
        signature.bind("", {})
    except TypeError as err:
        raise TypeError(
            f"the scorer {name}{signature} must take two arguments: {_EXPECTED}; a model that is a "
            "function of messages becomes one with toolweave.models.as_model"
        ) from err
