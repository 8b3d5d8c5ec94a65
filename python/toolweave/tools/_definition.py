"""Definitions of tools: the contract of a function, and how its arguments are converted.

Both come from the types and the docstring (`FromHints`), or the contract is given
(`FromContract`). Errors in the signature are raised at once. Everything else is computed on first
use, since it may import pydantic and griffe, and refer to types that are defined later.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from .._core import FunctionContract, Validator
from ..exceptions import ContractError, SchemaError, ToolDefinitionError
from ._binding import Binder
from ._context import ToolContext
from ._docstrings import Documentation, read_docstring
from ._plain import copy_json, number_converter
from ._schema import Arguments, arguments_of, returns_of
from ._signature import Hints, Signature, UnresolvedError, docstring_of


class Definition(ABC):
    """Contract and argument conversion of a tool, independent of its options."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        description: str | None = None,
        contract: FunctionContract | None = None,
        context: type[Any] = ToolContext,
    ) -> None:
        self.name = name
        self.given_description = description
        """Description in place of the docstring, if one was given."""
        self.given_contract = contract
        """Contract in place of the types, if one was given."""
        self.signature = Signature(function, name, context)
        self.known_hints: Hints | None = None
        """Types of the parameters, once they have been resolved."""

    @property
    def hints(self) -> Hints:
        """Types of the parameters, resolved now at the latest."""
        if self.known_hints is None:
            try:
                self.known_hints = self.signature.resolve()
            except UnresolvedError as error:
                raise ToolDefinitionError(str(error), self.name) from error
        return self.known_hints

    @property
    def context(self) -> str | None:
        """Name of the parameter that gets the `ToolContext`, if any."""
        return self.hints.context

    @cached_property
    @abstractmethod
    def contract(self) -> FunctionContract:
        """Contract, as shown to the model."""

    @cached_property
    @abstractmethod
    def bind(self) -> Binder:
        """Converter of JSON arguments to keyword arguments."""

    @cached_property
    def validator(self) -> Validator | None:
        """Validator of the arguments; None for a tool without a schema."""
        schema = self.contract.parameters
        if schema is None:
            return None
        try:
            return Validator(schema)
        except SchemaError as error:
            raise ToolDefinitionError(
                f"tool {self.name!r}: the schema of its arguments is invalid: {error}",
                self.name,
            ) from error

    def check_argument(self, name: str, option: str) -> None:
        """Check that the tool has an argument that an option names.

        Raises:
            ToolDefinitionError: There is no such argument.
        """
        parameters = self.signature.parameters
        if name not in parameters and not self.signature.takes_any_name:
            known = ", ".join(map(repr, parameters)) or "no arguments"
            raise ToolDefinitionError(
                f"tool {self.name!r}: {option} names {name!r}, which it does not take; "
                f"it takes {known}",
                self.name,
            )


class FromHints(Definition):
    """Definition from the types and the docstring of the function.

    Args:
        function: The function.
        name: Name of the tool.
        description: Description of the tool, in place of the docstring.
        local: Local names in scope where the function is defined.
        context: Class of the context that a parameter of the function gets.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        description: str | None,
        local: Mapping[str, Any],
        context: type[Any] = ToolContext,
    ) -> None:
        super().__init__(function, name, description, context=context)
        self.signature.check_annotated()
        self._function = function
        try:
            FunctionContract(name)
        except ContractError as error:
            raise ToolDefinitionError(f"{error}; give it another: name=...", name) from error
        # An unresolved type may be defined later.
        with contextlib.suppress(UnresolvedError):
            self.known_hints = self.signature.resolve(local)

    @cached_property
    def bind(self) -> Binder:
        """Converter of JSON arguments to keyword arguments."""
        return self._arguments.bind

    @cached_property
    def contract(self) -> FunctionContract:
        """Contract, as shown to the model."""
        docs, description = self._docs, self.given_description
        if description is None:
            description = docs.description
        try:
            return FunctionContract(
                self.name, description, self._arguments.schema, returns_of(self.hints, docs)
            )
        except ContractError as error:
            raise ToolDefinitionError(str(error), self.name) from error

    @cached_property
    def _arguments(self) -> Arguments:
        return arguments_of(self.signature, self.hints, self._docs)

    @cached_property
    def _docs(self) -> Documentation:
        return read_docstring(docstring_of(self._function))


class FromContract(Definition):
    """Definition with a given contract, regardless of the types of the function.

    The function gets JSON values without conversion, except that numbers are converted to int or
    float as the parameters are annotated.
    """

    def __init__(self, function: Callable[..., Any], contract: FunctionContract) -> None:
        super().__init__(function, contract.name, contract=contract)
        self._contract = contract
        self.known_hints = self.signature.resolve(lenient=True)
        if contract.parameters is not None:
            self._check(contract.parameters, self.known_hints)
        # Validate a given schema now, while the traceback shows where it was passed.
        _ = self.validator

    @cached_property
    def contract(self) -> FunctionContract:
        """Contract, as shown to the model."""
        return self._contract

    @cached_property
    def bind(self) -> Binder:
        """Converter of JSON arguments to keyword arguments."""
        parameters = self.hints.parameters
        return Binder(
            {parameter.name: number_converter(parameter.hint) for parameter in parameters},
            extra=copy_json if self.signature.takes_any_name else None,
            required=frozenset(p.name for p in parameters if p.required),
        )

    def _check(self, schema: Mapping[str, Any], hints: Hints) -> None:
        """Check that the function accepts the arguments that match the schema."""
        properties: Mapping[str, Any] = schema.get("properties", {})
        if hints.context in properties:
            raise self.signature.parameter_error(
                str(hints.context),
                "it is a ToolContext, and the schema has an argument of its name",
            )
        if not properties:
            return
        if not self.signature.takes_any_name:
            taken = {parameter.name for parameter in hints.parameters}
            for name in properties:
                if name not in taken:
                    raise ToolDefinitionError(
                        f"tool {self.name!r}: the schema has an argument {name!r} that the "
                        f"function does not take; give it a parameter {name!r}, or **kwargs",
                        self.name,
                    )
        for parameter in hints.parameters:
            if parameter.required and parameter.name not in properties:
                raise self.signature.parameter_error(
                    parameter.name, "it needs an argument, but the schema has none of its name"
                )
