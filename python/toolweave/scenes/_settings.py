"""Settings of a manager: what its runs share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from .._checks import (
    check_callable,
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_text,
    check_type,
)
from ..costs._spending import budget_of, check_priced
from ..limits import RateLimiter
from ..protocols import ModelOptions
from ..summary import Summarizer
from ._hooks import Hooks
from ._request import SceneMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..conversations import ConversationStore
    from ..costs import Budget, PriceTable
    from ..natural._output import OutputSettings
    from ._actors import ActorFunction
    from ._request import SceneRequest
    from ._scene_set import SceneSet

GUARDRAILS = (
    "Answer only with the help of the scenes and tools that you are given. "
    "If none of them serves the request, say so, and make nothing up."
)
"""The text of the system message with ``guardrails=True``."""


@dataclass
class ManagerSettings:
    """The scenes, the hooks and the checked options of a manager, which its runs share."""

    scenes: SceneSet
    name: str
    mode: SceneMode
    max_iterations: int
    max_repeats: int | None
    max_scenes: int
    answer_at_limit: bool
    guardrails: str | None
    options: ModelOptions | None
    prices: PriceTable
    budget: Budget | None
    rate_limiter: RateLimiter | None
    rate_key: Callable[[SceneRequest[Any]], str]
    store: ConversationStore
    summarizer: Summarizer | None
    run_timeout: float | None
    verbose: bool
    streaming: bool
    output: OutputSettings
    actors: list[str | ActorFunction[Any]] = field(default_factory=list["str | ActorFunction[Any]"])
    """The main actors, which apply in and outside of scenes."""
    hooks: Hooks = field(default_factory=Hooks)
    """The hooks of the application."""

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            TypeError: An option has the wrong type.
            ValueError: An option is out of range.
            UnpricedModelError: There is a budget, and a model that can spend from it has no price.
        """
        check_text("name", self.name, empty=False)
        check_choice("mode", self.mode, get_args(SceneMode))
        check_count("max_iterations", self.max_iterations, 1)
        check_count("max_scenes", self.max_scenes, 1)
        check_count("max_repeats", self.max_repeats, 2, none=True)
        for name in ("answer_at_limit", "verbose", "streaming"):
            check_flag(name, getattr(self, name))
        check_type("options", self.options, ModelOptions, "a ModelOptions", none=True)
        check_number("run_timeout", self.run_timeout, above=0, none=True)
        check_callable("rate_key", self.rate_key, "a function of a request", "request", none=True)
        wanted = "a RateLimiter, a RateLimit"
        check_type("rate_limiter", self.rate_limiter, RateLimiter, wanted, none=True)
        wanted = "a Summarizer, which takes a model,"
        check_type("summarizer", self.summarizer, Summarizer, wanted, none=True)
        self._check_priced(self.budget)

    def budget_of(self, request: SceneRequest[Any]) -> Budget | None:
        """Return the budget of a request.

        Raises:
            ValueError: The budget is out of range.
            UnpricedModelError: The request has a budget, and a model has no price.
        """
        if request.budget is None:
            return self.budget
        budget = budget_of(request.budget)
        self._check_priced(budget)
        return budget

    def _check_priced(self, budget: Budget | None) -> None:
        models = [self.scenes.model]
        if self.summarizer is not None:
            models.append(self.summarizer.model)
        check_priced(models, budget, self.prices)


def guardrails_of(given: str | bool) -> str | None:
    """Return the guardrails for the system message.

    Raises:
        TypeError: The option is neither a string nor a bool.
    """
    check_type("guardrails", given, (str, bool), "a string, True or False")
    return GUARDRAILS if given is True else given or None


def user_of(request: SceneRequest[Any]) -> str:
    """Return the default rate limit key of a request; requests without a user share one."""
    return request.user or ""
