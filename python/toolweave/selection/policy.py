"""What a selection may cost, and what makes a tool the winner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from .._checks import check_iterable, check_type

Strategy: TypeAlias = Literal["choose", "each", "batch"]
"""How a model is asked; see docs/selection.md."""

RequestKind: TypeAlias = Literal["choose", "each", "batch", "type"]
"""What one question to a model asks for: one of the strategies, or the type of the query."""

_COUNTS = ("top", "max_concurrency", "attempts")
_OPTIONAL = frozenset({"prefilter", "prompt_chars", "early_stop", "timeout"})


@dataclass(frozen=True)
class SelectionPolicy:
    """How a tool is chosen. It never changes; ``dataclasses.replace`` makes another.

    Raises:
        TypeError: A value is of the wrong type.
        ValueError: A value is out of range.
    """

    strategy: Strategy = "choose"
    """``choose``: one call names the best tool. ``each``: one call scores one tool, as NLWeb does.
    ``batch``: one call scores all."""
    prefilter: int | None = 8
    """How many tools a model is asked about: where there are more, the words of the query decide
    which, if they say enough. None asks about all."""
    max_candidates: int = 32
    """The most tools that one question is about where words do not say enough."""
    max_rounds: int = 8
    """The most questions that are asked where there are more tools; the winners of all are then
    compared in one more. The tools that are left are not asked about."""
    single_shortcut: bool = False
    """True if the only tool of a type is taken without asking a model for its parameters. One
    without parameters always is."""
    threshold: float = 70.0
    """The score that a tool needs to win, from 0 to 100."""
    early_stop: float | None = 90.0
    """The score that ends ``each`` before all tools are scored. None waits for all."""
    top: int = 3
    """How many tools `Selection.top` holds."""
    fallback: str | None = "search"
    """The tool that is taken where no other reaches the threshold."""
    timeout: float | None = 8.0
    """Seconds that one call may take, the wait for a place of the limiter included. None waits for
    ever."""
    max_concurrency: int = 8
    """How many calls of one selection may run at once."""
    attempts: int = 2
    """How often ``choose`` and ``batch`` ask where the reply cannot be used, and all strategies
    where the parameters of a good score do not fit, as where a required one is missing. Calls that
    fail or take too long are not repeated: clients of models have retries of their own."""
    examples: int = 3
    """How many of a tool's examples ``choose`` and ``batch`` tell the model."""
    prompt_chars: int | None = None
    """How much of what a tool's prompt says of it ``choose`` and ``batch`` tell the model, in
    characters; it ends with a line. None tells all."""
    allowed_handlers: tuple[str, ...] = ()
    """The dotted prefixes that `Selection.run` may import handlers from, such as ``shop.tools``."""

    def __post_init__(self) -> None:
        if self.strategy not in get_args(Strategy):
            known = ", ".join(repr(name) for name in get_args(Strategy))
            raise ValueError(f"strategy must be one of {known}, not {self.strategy!r}")
        for name in ("threshold", "early_stop", "timeout"):
            self._check_number(name)
        for name in ("prefilter", "max_candidates", "max_rounds", *_COUNTS):
            self._check_count(name, least=1)
        for name in ("examples", "prompt_chars"):
            self._check_count(name, least=0)
        check_type("single_shortcut", self.single_shortcut, bool, "a bool")
        fallback = cast("object", self.fallback)
        if fallback is not None and not isinstance(fallback, str):
            raise TypeError(f"fallback must be the name of a tool, not {fallback!r}")
        given = cast("object", self.allowed_handlers)
        if isinstance(given, str):
            raise TypeError(
                f"allowed_handlers must be a tuple of prefixes; for one, write ({given!r},)"
            )
        check_iterable("allowed_handlers", given, "a tuple of prefixes")
        prefixes = tuple(cast("tuple[object, ...]", given))
        for prefix in prefixes:
            if not isinstance(prefix, str) or not prefix:
                raise TypeError(f"allowed_handlers must hold dotted prefixes, not {prefix!r}")
        object.__setattr__(self, "allowed_handlers", prefixes)

    def _check_number(self, name: str) -> None:
        value: object = getattr(self, name)
        if value is None and name in _OPTIONAL:
            return
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{name} must be a number, not {value!r}")
        if name == "timeout":
            if not 0 < value < math.inf:
                raise ValueError(f"timeout must be seconds above 0, or None, not {value!r}")
        elif not 0 <= value <= 100:
            raise ValueError(f"{name} must be from 0 to 100, not {value!r}")

    def _check_count(self, name: str, *, least: int) -> None:
        value: object = getattr(self, name)
        if value is None and name in _OPTIONAL:
            return
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be a whole number, not {value!r}")
        if value < least:
            raise ValueError(f"{name} must be at least {least}, not {value}")
