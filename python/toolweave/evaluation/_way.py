"""Ways of asking a model: a mode, a dialect and a style."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from .._checks import check_choice, check_flag, check_mapping, check_text
from .._core import Dialect
from ..natural import NaturalToolUseParser
from ..natural._dialects import AUTO, NATURAL, can_teach
from ..profiles import Profile
from ._json_prompt import json_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .._core import FunctionContract
    from ..natural._request import Request
    from ..protocols import ChatModel, ModelOptions
    from ._case import Case

VARIANTS: dict[str, tuple[str, object]] = {
    "-full": ("style", "full"),
    "-tool_call": ("tag", "tool_call"),
    "-fenced": ("fenced", True),
    "-unstopped": ("stop", False),
    "+reminder": ("reminder", True),
}
"""Suffixes of names, with the option that each sets."""

_OF_NATURAL = frozenset({"-full", "-tool_call", "-fenced"})
"""Suffixes that only change prompts in the dialect ``natural``."""

_NAME = re.compile(r"(?P<base>[a-z0-9_]+)(?P<variants>([+-][a-z_]+)*)")

NATIVE = "native"
RECOVERED = "recovered"
JSON = "json"


@dataclass(frozen=True)
class Way:
    """A way of asking a model; `Way.named` returns one.

    Raises:
        TypeError: A field is of the wrong type.
        ValueError: The name is empty, or the mode is unknown.
    """

    name: str
    """Name, such as ``natural+reminder``."""
    tool_mode: Literal["natural", "native"] = "natural"
    """Mode: tools in the prompt, or in the provider's protocol."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Options of `NaturalToolUseParser` for requests, as far as they are not its defaults."""
    dialect: str | None = None
    """Dialect that is named to the parser of replies; None for that of the model."""
    asked_as: str = ""
    """Name of the way whose replies are read. ``recovered`` reads those of ``native``."""
    selectable: bool = True
    """True if an application can choose it, in a profile."""

    def __post_init__(self) -> None:
        check_text("name", self.name, empty=False)
        check_choice("tool_mode", self.tool_mode, ("natural", "native"))
        check_mapping("options", self.options)
        check_text("dialect", self.dialect, none=True)
        check_text("asked_as", self.asked_as)
        check_flag("selectable", self.selectable)

    @classmethod
    def named(cls, name: str) -> Way:
        """Return the way of a name.

        The name is that of a dialect, with any of the suffixes ``-full`` (the long prompt),
        ``-tool_call`` (calls as ``<tool_call name="Name">``), ``-fenced`` (arguments in a fence),
        ``-unstopped`` (no stop sequence) and ``+reminder`` (a line after the user's text), as far
        as they change the requests of the dialect. Or it is ``native``, which counts the calls that
        the server recognized; or ``recovered``, which also counts the calls in the text of the same
        replies; or ``json``, a prompt of its own that asks for calls as JSON in code blocks.

        Raises:
            ValueError: There is no such way; the error lists the parts of names.
        """
        if name in (NATIVE, RECOVERED):
            # Every application with native calls reads those in the text as well.
            return cls(name, "native", asked_as=NATIVE, selectable=name == RECOVERED)
        if name == JSON:
            return cls(name, dialect=JSON, asked_as=name, selectable=False)
        found = _NAME.fullmatch(name)
        variants = re.findall(r"[+-][a-z_]+", found["variants"]) if found else []
        if not found or found["base"] not in Dialect.names() or not {*variants} <= {*VARIANTS}:
            raise ValueError(
                f"a way must be {NATIVE}, {RECOVERED}, {JSON} or a dialect "
                f"({', '.join(Dialect.names())}), with any of {', '.join(VARIANTS)}; got {name!r}"
            )
        options = dict(VARIANTS[variant] for variant in variants)
        if len(options) < len(variants):
            raise ValueError(f"a way must set each option once, got {name!r}")
        dialect = Dialect.named(found["base"])
        for variant in variants:
            if not _is_effective(variant, dialect):
                raise ValueError(
                    f"the suffixes of a way must change its requests, got {name!r}, where "
                    f"{variant} changes nothing"
                )
        return cls(name, options=options, dialect=dialect.name, asked_as=name)

    @classmethod
    def of_unknown(cls, name: str) -> Way:
        """Return the way in which replies to a prompt of another program are read."""
        return cls(name, dialect=NATURAL.name, asked_as=name, selectable=False)

    def reader(self, model: ChatModel, tools: Iterable[FunctionContract]) -> NaturalToolUseParser:
        """Return the parser of replies to requests of this way."""
        if self.dialect is None:
            return NaturalToolUseParser(model, tools, tool_mode=self.tool_mode, profile=None)
        # Replies can be in a dialect that cannot be taught, or cannot present these tools.
        return NaturalToolUseParser(
            model, tools, dialect=NATURAL, dialects=(AUTO, self.dialect), tool_mode=self.tool_mode
        )

    def request(self, model: ChatModel, case: Case, options: ModelOptions) -> Request:
        """Return the request for a case, as an application with these options sends it.

        Raises:
            ConsolidationError: The conversation cannot be written as text.
            ContractError: The dialect cannot present a tool.
            MessageError: The conversation is invalid.
            ValueError: Replies in the dialect are read, but no prompt teaches it.
        """
        if self.name == JSON:
            return json_request(case, options)
        self.check_asked()
        parser = NaturalToolUseParser(
            model,
            case.tools,
            dialect=self.dialect or AUTO,
            tool_mode=self.tool_mode,
            profile=None,
            **self.options,
        )
        return parser.request(case.messages, options=options)

    def check_asked(self) -> None:
        """Raise unless requests can be sent in this way.

        Raises:
            ValueError: Replies in the dialect are read, but no prompt teaches it.
        """
        if self.dialect not in (None, JSON) and not can_teach(Dialect.named(self.dialect or "")):
            taught = [name for name in Dialect.names() if can_teach(Dialect.named(name))]
            raise ValueError(
                f"the dialect of a way to ask in must be one of {', '.join(taught)}, "
                f"got {self.dialect!r}, which is only read"
            )

    def profile(self, model: str, **measured: Any) -> Profile | None:
        """Return this way as a profile; None if an application cannot choose it.

        Args:
            model: Name of the model.
            **measured: Fields of the profile about the measurement.
        """
        if not self.selectable:
            return None
        dialect = self.dialect or Dialect.for_model(model).name
        options = {"dialect": dialect, "tool_mode": self.tool_mode, **self.options}
        return Profile(model, **options, **measured)


def _is_effective(variant: str, dialect: Dialect) -> bool:
    """Return True if a suffix changes the requests of a dialect."""
    if variant == "-unstopped":
        return dialect.stop_sequence is not None
    return variant not in _OF_NATURAL or dialect == NATURAL


def default_ways(model: str) -> list[str]:
    """Return the names of the ways to compare for a model: natural, its own dialect, native."""
    own = Dialect.for_model(model)
    dialects = dict.fromkeys([NATURAL.name, own.name] if can_teach(own) else [NATURAL.name])
    return [*dialects, NATIVE, RECOVERED]
