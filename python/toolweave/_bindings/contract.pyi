"""Contracts of tools."""

from collections.abc import Mapping
from typing import Any, final

@final
class FunctionContract:
    r"""The contract of a tool, as shown to the model; its calls are validated against it.

    Args:
        name: The name for the model: at most 256 bytes, without white space and without any of ``<
            > " ' = ` & \``.
        description: The description for the model.
        parameters: The JSON Schema of the arguments, an object schema nested at most 100 levels
            deep. Without one, nothing is validated.
        returns: The result: a JSON Schema, or a description in words.

    Raises:
        ContractError: The name cannot be used in a tag, or a schema is invalid; the error names the
            place.

    Attributes:
        name: The name for the model.
        description: The description for the model.
        parameters: The JSON Schema of the arguments: a new dict each time.
        returns: The result.
    """

    __match_args__ = ("name", "description", "parameters", "returns")

    def __new__(
        cls,
        name: str,
        description: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        returns: Mapping[str, Any] | str | None = None,
    ) -> FunctionContract: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str | None: ...
    @property
    def parameters(self) -> dict[str, Any] | None: ...
    @property
    def returns(self) -> dict[str, Any] | str | bool | None: ...
    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict, without those that are None."""
    @staticmethod
    def from_dict(definition: Mapping[str, Any]) -> FunctionContract:
        """Create a contract from the result of `to_dict`.

        Raises:
            ContractError: A key is unknown, or a field is invalid.
        """
    def to_openai(self) -> dict[str, Any]:
        """Return the definition for OpenAI's client: ``{"type": "function", "function": {...}}``.

        `returns` is omitted, since that format has no field for the result of a tool.
        """
    @staticmethod
    def from_openai(definition: Mapping[str, Any]) -> FunctionContract:
        """Create a contract from a tool definition of a provider client.

        Accepted are OpenAI's form, the same without the wrapper (``name``, ``description``,
        ``parameters``), Anthropic's with ``input_schema`` and MCP's with ``inputSchema``. Other
        keys are ignored.

        Raises:
            ContractError: The dict is not a definition of a function; the error names the defect.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> FunctionContract: ...
