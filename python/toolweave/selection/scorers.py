"""Who is asked: a model, or any function that answers a prompt."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, cast, runtime_checkable

from .._core import TextMessage, UsageMessage, UsageUpdate
from ..exceptions import ModelError
from ..kinds import FinishReason
from ..models import as_model, complete
from ..protocols import ModelOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core import ToolEntry
    from ..protocols import ChatModel
    from .policy import Strategy

OPTIONS = ModelOptions(temperature=0.0, max_tokens=512)
"""What a model is asked with, unless told otherwise."""


class Request(NamedTuple):
    """One question to a scorer."""

    prompt: str
    """The whole of it."""
    schema: dict[str, Any]
    """The JSON Schema that the reply has to fit."""
    strategy: Strategy
    """What is asked for."""
    query: str
    """The query that it is about."""
    tools: Sequence[ToolEntry]
    """The tools that it is about."""


class Reply(NamedTuple):
    """What a scorer answered."""

    content: str | Mapping[str, Any]
    """The text, or what it says."""
    usage: UsageUpdate | None = None
    """The tokens it took, if that is known."""


@runtime_checkable
class Scorer(Protocol):
    """What is asked about tools. `as_scorer` makes one of a model or a function."""

    @property
    def name(self) -> str:
        """What it is called, in logs and as part of what selections are kept by."""
        ...

    async def ask(self, request: Request) -> Reply:
        """Answers one question.

        Raises:
            Exception: Of any kind; the tools of that question have no score then.
        """
        ...


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
    if isinstance(scorer, type):
        raise TypeError(
            f"a scorer must be an object, not the class {scorer.__name__}; call it first"
        )
    if callable(getattr(scorer, "ask", None)) and not callable(getattr(scorer, "stream", None)):
        return cast("Scorer", scorer)
    if callable(getattr(scorer, "stream", None)):
        return ModelScorer(cast("ChatModel", scorer), options=options)
    if callable(scorer):
        return FunctionScorer(scorer)
    raise TypeError(
        "a scorer must be a model, or an async function of a prompt and a JSON Schema; "
        f"this is of the type {type(scorer).__name__}"
    )


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

    async def ask(self, request: Request) -> Reply:
        """Asks the model.

        Raises:
            ModelError: It could not be asked, or its reply is not whole.
        """
        asked = replace(self._options, response_schema=request.schema)
        joined = await complete(self._model, request.prompt, options=asked)
        if joined.finish_reason is not FinishReason.STOP:
            raise ModelError(f"the reply was cut off ({joined.finish_reason.value})")
        texts: list[str] = []
        usage = None
        for message in joined.messages:
            if isinstance(message, TextMessage):
                texts.append(message.text)
            elif isinstance(message, UsageMessage):
                usage = UsageUpdate(
                    message.input_tokens, message.output_tokens, message.cached_input_tokens
                )
        return Reply("".join(texts), usage)


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

    async def ask(self, request: Request) -> Reply:
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
        return Reply(content)


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
