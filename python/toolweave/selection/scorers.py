"""Who is asked: a model, or any function that answers a prompt."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .._checks import check_type
from ..models.http import HttpModel
from ..protocols import ModelOptions
from .model import ModelScorer
from .native import NativeScorer
from .scorer import Scorer, ScorerReply

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..protocols import ChatModel, ModelOptions
    from .scorer import ScorerRequest

ScorerFunction: TypeAlias = "Callable[[str, dict[str, Any]], Awaitable[str | Mapping[str, Any]]]"
"""A scorer as a function: of the prompt and a JSON Schema, to the reply or what it says."""

AnyScorer: TypeAlias = "Scorer | ChatModel | ScorerFunction"
"""What is accepted wherever a scorer is."""


def as_scorer(scorer: AnyScorer, *, options: ModelOptions | None = None) -> Scorer:
    """Anything that is accepted as a scorer, as one.

    Example:
        >>> async def always(prompt, schema):
        ...     return {"score": 80}
        >>> as_scorer(always).name
        'always'

    Args:
        scorer: A `Scorer`, which comes back as it is; a `ChatModel`; or an async function of the
            prompt and the JSON Schema of the reply, which returns a text or a dict.
        options: What a model is asked with; temperature 0 and at most 512 tokens if not given. The
            schema is added.

    Raises:
        TypeError: It is none of these; says what would be.
    """
    check_type("options", options, ModelOptions, "a ModelOptions", none=True)
    if isinstance(scorer, type):
        raise TypeError(f"scorer must be an object, not the class {scorer.__name__}; call it first")
    if callable(getattr(scorer, "ask", None)) and not callable(getattr(scorer, "stream", None)):
        return cast("Scorer", scorer)
    if callable(getattr(scorer, "stream", None)):
        model = cast("ChatModel", scorer)
        # Not one that answers in a way of its own.
        if isinstance(model, HttpModel) and type(model).stream is HttpModel.stream:
            return NativeScorer(model, options=options)
        return ModelScorer(model, options=options)
    if callable(scorer):
        return FunctionScorer(scorer)
    raise TypeError(
        "scorer must be a model, or an async function of a prompt and a JSON Schema; "
        f"this is of the type {type(scorer).__name__}"
    )


class FunctionScorer:
    """A function as a scorer.

    Args:
        function: An async function of the prompt and the JSON Schema of the reply, which returns a
            text or a dict.

    Raises:
        TypeError: It cannot take these two.
    """

    def __init__(self, function: ScorerFunction) -> None:
        self.name: str = getattr(function, "__name__", type(function).__name__)
        """What the function is called."""
        _check(function, self.name)
        self._function = function

    def __repr__(self) -> str:
        return f"FunctionScorer({self.name})"

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        """Calls the function.

        Raises:
            TypeError: It is not async, or returned something else than a text or a dict.
        """
        answer = self._function(request.prompt, request.schema)
        if not hasattr(answer, "__await__"):
            raise TypeError(f"the scorer {self.name} is not async: {_RIGHT}")
        content = await answer
        if not isinstance(content, _CONTENTS):
            raise TypeError(f"the scorer {self.name} returned {type(content).__name__}: {_RIGHT}")
        return ScorerReply(content)


# Dicts are mappings, but seen to be so at once.
_CONTENTS: tuple[type, ...] = (str, dict, Mapping)
_RIGHT = "a scorer is an async function of a prompt and a JSON Schema that returns a str or a dict"


def _check(function: ScorerFunction, name: str) -> None:
    """Refuses what can be seen not to be a scorer before it is called."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # functions of C may not tell
        return
    try:
        signature.bind("", {})
    except TypeError as err:
        raise TypeError(
            f"the scorer {name}{signature} must take two arguments: {_RIGHT}; a model that is a "
            "function of messages becomes one with toolweave.models.as_model"
        ) from err
