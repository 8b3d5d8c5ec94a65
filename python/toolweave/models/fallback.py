"""Chains of models: if one fails, the next one gets the request.

    from toolweave.models.fallback import FallbackModel
    from toolweave.models.openai import OpenAIModel

    model = FallbackModel(
        OpenAIModel("gpt-4o", max_retries=0),
        OpenAIModel("qwen3", base_url="http://127.0.0.1:8080/v1", max_retries=0),
    )

A transient failure (an overloaded server, a lost connection) is retried after a delay; any other
failure moves on to the next model. This ends with the first update of a reply: updates that have
been read cannot be taken back, so later errors are raised unchanged.
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
from ..executor._retry import delay
from ..kinds import FinishReason
from ..tools._options import RetryPolicy
from ._direct import as_model
from ._identity import identify
from ._streaming import ClosedAtExit, closing

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterable,
        AsyncIterator,
        Awaitable,
        Callable,
        Generator,
        Sequence,
    )

    from .._core import FunctionContract
    from .._messages import Message, Update
    from ..protocols import ChatModel, Model, ModelOptions

_log = logging.getLogger("toolweave.models")

RETRY = RetryPolicy(3, initial=1.0)
"""Default policy: three attempts, with delays of 1 and 2 seconds."""

__all__ = ["CapturedModel", "FallbackModel", "capture_model"]


@dataclass
class CapturedModel:
    """Model that has answered within a block of `capture_model`."""

    model: ChatModel | None = None
    """Model that answered last; None before the first answer."""
    by_chain: dict[FallbackModel, ChatModel] = field(
        default_factory=dict["FallbackModel", "ChatModel"], repr=False
    )
    """Models that answered last, by their chains."""


_captured: contextvars.ContextVar[CapturedModel | None] = contextvars.ContextVar(
    "toolweave_answer", default=None
)


@contextlib.contextmanager
def capture_model() -> Generator[CapturedModel, None, None]:
    """Record which model of a `FallbackModel` answers the requests within a block.

    Tasks that start within the block belong to it, so each request can be attributed even if one
    chain serves many of them at once.

    Example:
        >>> from toolweave.models import complete
        >>> from toolweave.models.fallback import FallbackModel, capture_model
        >>> from toolweave.testing import ScriptedModel
        >>> model = FallbackModel(
        ...     ScriptedModel(ModelError("no"), name="one"), ScriptedModel("Hi!", name="two")
        ... )
        >>> async def main():
        ...     with capture_model() as captured:
        ...         await complete(model, "Hello!")
        ...     return captured.model.name
        >>> asyncio.run(main())
        'two'
    """
    captured = CapturedModel()
    token = _captured.set(captured)
    try:
        yield captured
    finally:
        _captured.reset(token)


@dataclass(frozen=True)
class _Failure:
    model: ChatModel
    error: Exception
    attempts: int

    def __str__(self) -> str:
        tried = f" ({self.attempts} attempts)" if self.attempts > 1 else ""
        return f"{identify(self.model).name}{tried}: {self.error}"


class FallbackModel(ClosedAtExit):
    """A chain of models: the first one that succeeds answers.

    As a context manager it closes the connections of all models.

    Args:
        *models: Models in any form, the preferred one first.
        retry: Policy for transient failures of each model; None for one attempt each. The delay
            that a server asks for is observed; if it is longer than `maximum` seconds, the next
            model is used. Retries of clients happen within each of these attempts: create the
            clients with ``max_retries=0``.
        random: Function that returns numbers from 0 to 1, for the jitter of delays.
        sleep: Async function that waits for a number of seconds.

    Raises:
        TypeError: An argument is not a model.
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
            raise ValueError("models must not be empty")
        check_type("retry", retry, RetryPolicy, "a RetryPolicy", none=True)
        check_callable("random", random, "a function without arguments")
        check_callable("sleep", sleep, "an async function of seconds", "seconds")
        self.models: tuple[ChatModel, ...] = tuple(as_model(each, "models") for each in models)
        """Models of the chain, the preferred one first."""
        self._retry = RetryPolicy(1) if retry is None else retry
        # Models raise a `ModelError`; custom ones may raise the exceptions of their client.
        self._caught = (ModelError, asyncio.TimeoutError, *self._retry.retry_on)
        self._random = random
        self._sleep = sleep
        self._last = self.models[0]

    def __repr__(self) -> str:
        return f"FallbackModel({', '.join(identify(model).name for model in self.models)})"

    @property
    def current(self) -> ChatModel:
        """Model that answered last; the preferred one before the first answer.

        Within a block of `capture_model`, the model that answered last in that block.
        """
        captured = _captured.get()
        return self._last if captured is None else captured.by_chain.get(self, self._last)

    @property
    def name(self) -> str:
        """Name of `current`, for traces and costs."""
        return identify(self.current).name

    @property
    def provider(self) -> str:
        """Provider of `current`."""
        return identify(self.current).provider

    @property
    def native_tools(self) -> bool:
        """True if all models make native calls. Otherwise calls go in the text, which suits all."""
        return all(identify(model).native_tools for model in self.models)

    @property
    def structured_output(self) -> bool:
        """True if all models enforce the schema of a reply."""
        return all(identify(model).structured_output for model in self.models)

    async def aclose(self) -> None:
        """Close the connections of all models."""
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
        """Stream the reply of the first model that succeeds.

        If there are tools, models without native calls are skipped. The usage of failed attempts
        is not counted.

        Raises:
            MessageError: A message cannot be expressed in the API of a model.
            ModelError: All models failed; the message names each of them with its error. Or a
                reply was interrupted after its first update; that error is raised unchanged.
            ValueError: Tools were given, and no model makes native calls; or the options name an
                unknown tool.
        """
        capable = [model for model in self.models if not tools or identify(model).native_tools]
        if not capable:
            raise ValueError(f"{self!r} does not support native calls, so there must be no tools")
        failures: list[_Failure] = []
        for model in capable:
            attempt = 0
            while True:
                attempt += 1
                started = False
                try:
                    reply = _from_first_content(
                        model.stream(messages, tools=tools, options=options)
                    )
                    async with closing(reply) as updates:
                        async for update in updates:
                            if not started:
                                started = True
                                self._record_answer(model, attempt, failures)
                            yield update
                except Exception as error:
                    if started or not isinstance(error, self._caught):
                        raise
                    failure = _Failure(model, error, attempt)
                else:
                    return
                wait = self._delay(failure)
                if wait is None:
                    break
                _log_failure("%s cannot answer now and is asked again", failure, logging.INFO, wait)
                await self._sleep(wait)
            failures.append(failure)
            _log_failure("%s cannot answer and is given up", failure, logging.WARNING)
        raise _combined_error(failures) from failures[-1].error

    def _record_answer(self, model: ChatModel, attempt: int, failures: Sequence[_Failure]) -> None:
        # A nested chain knows which of its models answered.
        leaf = model.current if isinstance(model, FallbackModel) else model
        self._last = leaf
        captured = _captured.get()
        if captured is not None:
            captured.model = captured.by_chain[self] = leaf
        if failures or attempt > 1:
            extra = {"model": identify(leaf).name, "attempt": attempt, "given_up": len(failures)}
            _log.info("%s answers", identify(leaf).name, extra=extra)

    def _delay(self, failure: _Failure) -> float | None:
        """Return the seconds before the next attempt; None for no further attempt."""
        error, policy = failure.error, self._retry
        if failure.attempts >= policy.attempts:
            return None
        if isinstance(error, ModelError):
            transient = error.transient or isinstance(error.__cause__, policy.retry_on)
            if not transient or (error.retry_after or 0) > policy.maximum:
                return None
        return delay(policy, failure.attempts, self._random, error)


async def _from_first_content(updates: AsyncIterable[Update]) -> AsyncIterator[Update]:
    """Yield the updates, beginning with the first content.

    Raises:
        ModelError: The reply ended without content and without a reason.
    """
    # Some providers send usage first, which does not count as the start of a reply.
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
        raise ModelError("the reply ended without content", transient=True)


def _combined_error(failures: Sequence[_Failure]) -> ModelError:
    """Return the error for a chain whose models have all failed."""
    errors = [failure.error for failure in failures]
    last = errors[-1]
    waits = [error.retry_after for error in errors if isinstance(error, ModelError)]
    known = [wait for wait in waits if wait is not None]
    return ModelError(
        "no model could answer: " + "; ".join(map(str, failures)),
        getattr(last, "provider", None),
        getattr(last, "status", None),
        min(known) if known else None,
        any(not isinstance(error, ModelError) or error.transient for error in errors),
    )


def _log_failure(text: str, failure: _Failure, level: int, wait: float | None = None) -> None:
    error = failure.error
    name = identify(failure.model).name
    extra = {
        "model": name,
        "attempt": failure.attempts,
        "error": type(error).__name__,
        "status": getattr(error, "status", None),
        "wait": wait,
    }
    _log.log(level, text, name, extra=extra)
