"""The tools of a request, made ready once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from .._core import FunctionContract, Parser, system_prompt

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options import HasContract, ParserOptions, Tools

Tag: TypeAlias = Literal["name", "tool_call"]
"""How calls are written: ``<Name>`` or ``<tool_call name="Name">``."""

_MOST_PROMPTS = 16
_MOST_OFFERS = 8


class Offer:
    """Tools, as requests to a model need them.

    Args:
        contracts: The tools.
        **options: As for `Parser`.
    """

    def __init__(
        self, contracts: tuple[FunctionContract, ...], **options: Unpack[ParserOptions]
    ) -> None:
        self.contracts = contracts
        """The tools, in order."""
        self.parser = Parser(contracts, **options)
        """Judges native calls. It is never fed: each reply has a fresh one."""
        self._prompts: dict[tuple[str | None, Tag, bool], str] = {}

    @cached_property
    def by_name(self) -> Mapping[str, FunctionContract]:
        """The tools by name."""
        return {contract.name: contract for contract in self.contracts}

    def prompt(self, existing: str | None, tag: Tag, *, fenced: bool) -> str:
        """The system prompt with these tools in it; see `system_prompt`."""
        key = (existing, tag, fenced)
        prompt = self._prompts.get(key)
        if prompt is None:
            prompt = system_prompt(self.contracts, existing, tag=tag, fenced=fenced)
            # An application has few system prompts, but each of them goes out many times.
            if len(self._prompts) >= _MOST_PROMPTS:
                self._prompts.clear()
            self._prompts[key] = prompt
        return prompt


class Offers:
    """The offers of one application: the tools may change between requests, but seldom do."""

    def __init__(self, **options: Unpack[ParserOptions]) -> None:
        self._options = options
        self._offers: list[Offer] = []

    def of(self, tools: Tools) -> Offer:
        """The offer of these tools.

        Raises:
            ContractError: A tool cannot be called by its name, or two share one.
            SchemaError: The parameters of a tool are not a JSON Schema.
            TypeError: Something in `tools` is no tool.
        """
        contracts = contracts_of(tools)
        # As a rule the contracts are the very same objects as last time, which compare at once.
        for offer in self._offers:
            if offer.contracts == contracts:
                return offer
        offer = Offer(contracts, **self._options)
        self._offers = [offer, *self._offers[: _MOST_OFFERS - 1]]
        return offer


def kept(tools: Tools) -> Tools:
    """The tools in a form that can be read again for every request."""
    # What is no iterable at all is found out when it is read.
    once = hasattr(tools, "__next__")
    return tuple(cast("Iterable[HasContract]", tools)) if once else tools


def contracts_of(tools: Tools) -> tuple[FunctionContract, ...]:
    """The contracts of tools in any form.

    Raises:
        ContractError: A definition is wrong.
        TypeError: Something in `tools` is no tool.
    """
    given = cast("object", tools)
    if isinstance(given, Mapping):
        items = cast("Mapping[str, object]", given).items()
        return tuple(_named(name, tool) for name, tool in items)
    if isinstance(given, Iterable) and not isinstance(given, str):
        return tuple(map(_contract, cast("Iterable[object]", given)))
    raise TypeError(f"tools are given as a list or a mapping, not as {type(given).__name__}")


def _contract(tool: object) -> FunctionContract:
    if isinstance(tool, FunctionContract):
        return tool
    if isinstance(tool, str):
        return FunctionContract(tool)
    if isinstance(tool, Mapping):
        return FunctionContract.from_openai(cast("Mapping[str, Any]", tool))
    contract = getattr(cast("HasContract", tool), "contract", None)
    if isinstance(contract, FunctionContract):
        return contract
    raise TypeError(
        "a tool is a FunctionContract, an object with a contract, a dict with a name, or a name; "
        f"not {tool!r}"
    )


# What makes a dict a definition; otherwise it is a schema of the arguments.
_DEFINITION = ("function", "name", "parameters", "input_schema", "inputSchema")


def _named(name: str, tool: object) -> FunctionContract:
    if tool is None:
        return FunctionContract(name)
    if isinstance(tool, Mapping):
        fields = cast("Mapping[str, Any]", tool)
        if not any(key in fields for key in _DEFINITION):
            return FunctionContract(name, parameters=fields)
        if "function" not in fields and "name" not in fields:
            fields = {**fields, "name": name}
        return FunctionContract.from_openai(fields)
    return _contract(tool)
