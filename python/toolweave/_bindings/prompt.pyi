"""Tools in system prompts."""

from typing import Literal

from .._options import Tools

def render_contracts(
    contracts: Tools, *, tag: Literal["name", "tool_call"] = "name", fenced: bool = True
) -> str:
    """Describe tools in Markdown: purpose, parameters, result and an example call of each.

    The arguments of the example are valid, and contain no optional ones unless these are necessary.
    If no valid example was found, the text says so. Descriptions are flattened to one line.

    Args:
        contracts: The tools.
        tag: The tag of the example: ``name`` (``<Name>``) or ``tool_call`` (``<tool_call
            name="Name">``).
        fenced: True to put its arguments in a Markdown fence.

    Raises:
        ContractError: The name of a tool cannot be used in a tag, or two tools share a name.
    """

def system_prompt(
    contracts: Tools,
    existing: str | None = None,
    *,
    tag: Literal["name", "tool_call"] = "name",
    fenced: bool = True,
) -> str:
    """Add a section on tools, and on how to call them, to a system prompt.

    An existing section is replaced in place, so you can call this for every request; without
    contracts it is removed. The text before and after it is kept.

    Args:
        contracts: The tools.
        existing: The system prompt.
        tag: As for `render_contracts`.
        fenced: As for `render_contracts`.

    Raises:
        ContractError: The name of a tool cannot be used in a tag, or two tools share a name.

    Example:
        >>> prompt = system_prompt(["GetWeather"], "You are a guide.")
        >>> system_prompt(["GetWeather"], prompt) == prompt
        True
        >>> system_prompt([], prompt)
        'You are a guide.'
    """
