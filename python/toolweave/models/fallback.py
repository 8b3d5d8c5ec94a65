"""Models behind each other: when one cannot answer, the next one is asked.

    from toolweave.models.fallback import FallbackModel
    from toolweave.models.openai import OpenAIModel

    model = FallbackModel(
        OpenAIModel("gpt-4o", max_retries=0),
        OpenAIModel("qwen3", base_url="http://127.0.0.1:8080/v1", max_retries=0),
    )

A failure that may pass (a full server, a broken connection) is met with another attempt after a
pause, any other with the next model. That holds until the first piece of a reply has come: what has
been read cannot be taken back, so what breaks after that is raised as it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from .._checks import check_callable, check_type
from .._core import FinishUpdate, UsageUpdate
from ..exceptions import ModelError
from ..executor.retry import delay
from ..kinds import FinishReason
from ..tools.options import RetryPolicy
from .direct import as_model
from .streaming import closing

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterable,
        AsyncIterator,
        Awaitable,
        Callable,
        Generator,
        Sequence,
    )
    from types import TracebackType

    from typing_extensions import Self

    from .. import FunctionContract, Message, Update
    from ..protocols import ChatModel, Model, ModelOptions

_log = logging.getLogger("toolweave.models")

RETRY = RetryPolicy(3, initial=1.0)
"""What is done where nothing else is said: three attempts, after pauses of 1 and 2 seconds."""


@dataclass
class CapturedModel:
    """Who has answered within a block of `capture_model`."""

    model: ChatModel | None = None
    """The model that answered last; None before one has."""
    by: dict[FallbackModel, ChatModel] = field(
        default_factory=dict["FallbackModel", "ChatModel"], repr=False
    )
    """The model that answered last, by the chain that it is in."""


_answer: contextvars.ContextVar[CapturedModel | None] = contextvars.ContextVar(
    "toolweave_answer", default=None
)


@contextlib.contextmanager
def capture_model() -> Generator[CapturedModel, None, None]:
    """Notes which model of a `FallbackModel` answers the requests within.

    Tasks that begin within the block belong to it. So it is known who answered which request, also
    where one object serves many at once.

    Example:
        >>> from toolweave.models import complete
        >>> from toolweave.models.fallback import FallbackModel, answering
        >>> from toolweave.testing import ScriptedModel
        >>> model = FallbackModel(
        ...     ScriptedModel(ModelError("no"), name="one"), ScriptedModel("Hi!", name="two")
        ... )
        >>> async def main():
        ...     with answering() as answer:
        ...         await complete(model, "Hello!")
        ...     return answer.model.name
        >>> asyncio.run(main())
        'two'
    """
    answer = CapturedModel()
    token = _answer.set(answer)
    try:
        yield answer
    finally:
        _answer.reset(token)


@dataclass(frozen=True)
class _Failure:
    model: ChatModel
    error: Exception
    attempts: int

    @property
    def sentence(self) -> str:
        tried = f" ({self.attempts} attempts)" if self.attempts > 1 else ""
        return f"{_name(self.model)}{tried}: {self.error}"


class FallbackModel:
    """A chain of models that answers as the first of them that can.

    As a context manager it closes the connections of all.

    Args:
        *models: The models in any form, the preferred one first.
        retry: How often each is asked again after a failure that may pass, and after which pauses;
            None for once each. A server that asks to wait is not asked before that; where it asks
            for more than `maximum` seconds, the next model is. Clients that try again by
            themselves do so within each of these attempts: give them ``max_retries=0``.
        random: Gives numbers from 0 up to 1, for the jitter of pauses.
        sleep: Waits for so many seconds.

    Raises:
        TypeError: Something is no model.
        ValueError: There are no models.

    Example:
        >>> from toolweave.models import complete
        >>> from toolweave.models.fallback import FallbackModel
        >>> from toolweave.testing import ScriptedModel
        >>> model = FallbackModel(
        ...     ScriptedModel(ModelError("no such key", "acme", 401), name="large"),
        ...     ScriptedModel("Hello!", name="small"),
        ... )
        >>> asyncio.run(complete(model, "Hi!")).messages[0].text, model.name
        ('Hello!', 'small')
    """

    def __init__(
        self,
        *models: Model,
        retry: RetryPolicy | None = RETRY,
        random: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if not models:
            raise ValueError("a chain of models needs at least one")
        check_type("retry", retry, RetryPolicy, "a RetryPolicy", none=True)
        check_callable("random", random, "a function without arguments")
        check_callable("sleep", sleep, "an async function of seconds", "seconds")
        self.models: tuple[ChatModel, ...] = tuple(as_model(each, "models") for each in models)
        """The models, the preferred one first."""
        self._retry = RetryPolicy(1) if retry is None else retry
        # A model raises a `ModelError`; one that somebody has written may raise what it got.
        self._failing = (ModelError, asyncio.TimeoutError, *self._retry.retry_on)
        self._random = random
        self._sleep = sleep
        self._last = self.models[0]

    def __repr__(self) -> str:
        return f"FallbackModel({', '.join(map(_name, self.models))})"

    @property
    def current(self) -> ChatModel:
        """The model that answered last; before any has, the preferred one.

        Within a block of `capture_model`, the one that answered last there.
        """
        answer = _answer.get()
        return self._last if answer is None else answer.by.get(self, self._last)

    @property
    def name(self) -> str:
        """What traces and costs call it: the name of `current`."""
        return _name(self.current)

    @property
    def provider(self) -> str:
        """Whose model it is: the provider of `current`."""
        return str(getattr(self.current, "provider", "unknown"))

    @property
    def native_tools(self) -> bool:
        """Whether all of them make native calls. What is written as text, each of them can read."""
        return all(_is_native(model) for model in self.models)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections of all models."""
        async with contextlib.AsyncExitStack() as stack:
            for model in self.models:
                if (close := getattr(model, "aclose", None)) is not None:
                    stack.push_async_callback(cast("Callable[[], Awaitable[None]]", close))

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Answers, piece by piece, as the first model that can.

        Models without native calls are passed over where there are tools. What failed attempts
        have used is not counted.

        Raises:
            MessageError: A message cannot be said to a model.
            ModelError: None of the models could be asked; it names each, and its reason. Or a
                reply broke off after its first piece, which is told as it was.
            ValueError: Tools were given, and no model makes native calls; or the options name a
                tool that is not there.
        """
        able = [model for model in self.models if not tools or _is_native(model)]
        if not able:
            raise ValueError(f"{self!r} makes no native calls, so it takes no tools")
        failures: list[_Failure] = []
        for model in able:
            attempt = 0
            while True:
                attempt += 1
                begun = False
                try:
                    asked = _begun(model.stream(messages, tools=tools, options=options))
                    async with closing(asked) as updates:
                        async for update in updates:
                            if not begun:
                                begun = True
                                self._answers(model, attempt, failures)
                            yield update
                except Exception as error:
                    if begun or not isinstance(error, self._failing):
                        raise
                    failure = _Failure(model, error, attempt)
                else:
                    return
                wait = self._wait(failure)
                if wait is None:
                    break
                _note("%s cannot answer now and is asked again", failure, logging.INFO, wait)
                await self._sleep(wait)
            failures.append(failure)
            _note("%s cannot answer and is given up", failure, logging.WARNING)
        raise _joined(failures) from failures[-1].error

    def _answers(self, model: ChatModel, attempt: int, failures: Sequence[_Failure]) -> None:
        # A chain within a chain knows better who it was.
        leaf = model.current if isinstance(model, FallbackModel) else model
        self._last = leaf
        answer = _answer.get()
        if answer is not None:
            answer.model = answer.by[self] = leaf
        if failures or attempt > 1:
            extra = {"model": _name(leaf), "attempt": attempt, "given_up": len(failures)}
            _log.info("%s answers", _name(leaf), extra=extra)

    def _wait(self, failure: _Failure) -> float | None:
        """The pause before the next attempt; None for no further one."""
        error, policy = failure.error, self._retry
        if failure.attempts >= policy.attempts:
            return None
        if isinstance(error, ModelError):
            transient = error.transient or isinstance(error.__cause__, policy.retry_on)
            if not transient or (error.retry_after or 0) > policy.maximum:
                return None
        return delay(policy, failure.attempts, self._random, error)


async def _begun(updates: AsyncIterable[Update]) -> AsyncIterator[Update]:
    """The updates, once there is something to read.

    Raises:
        ModelError: The reply ended before that, without a reason.
    """
    # Some providers count before they speak; that is no beginning yet.
    held: list[Update] | None = []
    async with closing(updates):
        async for update in updates:
            if held is not None:
                if isinstance(update, UsageUpdate):
                    held.append(update)
                    continue
                if isinstance(update, FinishUpdate) and update.reason is FinishReason.MISSING:
                    break
                for early in held:
                    yield early
                held = None
            yield update
    if held is not None:
        raise ModelError("the reply ended before it began", transient=True)


def _joined(failures: Sequence[_Failure]) -> ModelError:
    """What to say when no model could answer."""
    errors = [failure.error for failure in failures]
    last = errors[-1]
    waits = [error.retry_after for error in errors if isinstance(error, ModelError)]
    known = [wait for wait in waits if wait is not None]
    return ModelError(
        "no model could answer: " + "; ".join(failure.sentence for failure in failures),
        getattr(last, "provider", None),
        getattr(last, "status", None),
        min(known) if known else None,
        any(not isinstance(error, ModelError) or error.transient for error in errors),
    )


def _note(text: str, failure: _Failure, level: int, wait: float | None = None) -> None:
    error = failure.error
    name = _name(failure.model)
    extra = {
        "model": name,
        "attempt": failure.attempts,
        "error": type(error).__name__,
        "status": getattr(error, "status", None),
        "wait": wait,
    }
    _log.log(level, text, name, extra=extra)


def _name(model: ChatModel) -> str:
    return str(getattr(model, "name", type(model).__name__))


def _is_native(model: ChatModel) -> bool:
    return bool(getattr(model, "native_tools", False))
