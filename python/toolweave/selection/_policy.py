"""Policy of a selector: how it asks, what it may cost, and which score wins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from .._checks import check_iterable, check_type

Strategy: TypeAlias = Literal["choose", "each", "batch"]
"""Way to ask a model; see docs/explanation/selection.md."""

RequestKind: TypeAlias = Literal["choose", "each", "batch", "type"]
"""Purpose of a request: scores by one of the strategies, or the type of the query."""

_COUNTS = ("top", "max_concurrency", "attempts")
_OPTIONAL = frozenset({"prefilter", "prompt_chars", "early_stop", "timeout"})


@dataclass(frozen=True)
class SelectionPolicy:
    """Immutable policy of a selector; copy it with ``dataclasses.replace``.

    Raises:
        TypeError: A value is of the wrong type.
        ValueError: A value is out of range.
    """

    strategy: Strategy = "choose"
    """``choose``: one call names the best tool. ``each``: one call scores one tool, as in NLWeb.
    ``batch``: one call scores all tools."""
    prefilter: int | None = 8
    """Number of tools to ask a model about. If a type has more, a word search selects the best,
    provided that their words cover enough of the query. None asks about all tools."""
    max_candidates: int = 32
    """Maximum number of tools in one request if the words do not cover enough of the query."""
    max_rounds: int = 8
    """Maximum number of requests if there are more tools than that. The winners are compared in
    one more request; remaining tools are not asked about."""
    single_shortcut: bool = False
    """True to select the only tool of a type without asking a model for its parameters. A tool
    without parameters never needs a model."""
    threshold: float = 70.0
    """Lowest score that wins, from 0 to 100."""
    early_stop: float | None = 90.0
    """Score that ends ``each`` before all tools are scored. None waits for all."""
    top: int = 3
    """Maximum number of tools in `Selection.top`."""
    fallback: str | None = "search"
    """Tool to select if no other reaches the threshold."""
    timeout: float | None = 8.0
    """Timeout of one call in seconds, including the wait for a slot of the limiter. None for no
    timeout."""
    max_concurrency: int = 8
    """Maximum number of concurrent calls of one selection."""
    attempts: int = 2
    """Number of times that ``choose`` and ``batch`` ask if the reply is invalid, and all strategies
    if the parameters of a winning score are invalid or incomplete. Calls that fail or time out
    are not repeated, since clients of models have their own retries."""
    examples: int = 3
    """Maximum number of examples per tool in prompts of ``choose`` and ``batch``."""
    prompt_chars: int | None = None
    """Maximum length of a tool's description in prompts of ``choose`` and ``batch``, in
    characters. It is cut at the end of a line. None for no limit."""
    allowed_handlers: tuple[str, ...] = ()
    """Dotted prefixes from which `Selection.run` may import handlers, such as ``shop.tools``."""

    def __post_init__(self) -> None:
        if self.strategy not in get_args(Strategy):
            known = ", ".join(repr(name) for name in get_args(Strategy))
            raise ValueError(f"strategy must be one of {known}, got {self.strategy!r}")
        for name in ("threshold", "early_stop", "timeout"):
            self._check_number(name)
        for name in ("prefilter", "max_candidates", "max_rounds", *_COUNTS):
            self._check_count(name, least=1)
        for name in ("examples", "prompt_chars"):
            self._check_count(name, least=0)
        check_type("single_shortcut", self.single_shortcut, bool, "a bool")
        fallback = cast("object", self.fallback)
        if fallback is not None and not isinstance(fallback, str):
            raise TypeError(f"fallback must be the name of a tool or None, got {fallback!r}")
        given = cast("object", self.allowed_handlers)
        if isinstance(given, str):
            raise TypeError(
                f"allowed_handlers must be a tuple of prefixes, as in ({given!r},), got one string"
            )
        check_iterable("allowed_handlers", given, "a tuple of prefixes")
        prefixes = tuple(cast("tuple[object, ...]", given))
        for prefix in prefixes:
            if not isinstance(prefix, str) or not prefix:
                raise TypeError(f"allowed_handlers must contain dotted prefixes, got {prefix!r}")
        object.__setattr__(self, "allowed_handlers", prefixes)

    def _check_number(self, name: str) -> None:
        value: object = getattr(self, name)
        if value is None and name in _OPTIONAL:
            return
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{name} must be a number, got {value!r}")
        if name == "timeout":
            if not 0 < value < math.inf:
                raise ValueError(
                    f"timeout must be a number of seconds above 0, or None, got {value!r}"
                )
        elif not 0 <= value <= 100:
            raise ValueError(f"{name} must be from 0 to 100, got {value!r}")

    def _check_count(self, name: str, *, least: int) -> None:
        value: object = getattr(self, name)
        if value is None and name in _OPTIONAL:
            return
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be an integer, got {value!r}")
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")
