"""Registry of tools by schema.org type and site, from NLWeb's `tools.xml` and from Python.

A `ToolRegistry` has the tools for queries about a recipe, or about a film at one site: those of
the type itself and those of its supertypes. It is loaded from a file, built from tools, or both.

    >>> registry = ToolRegistry.loads('''
    ...     <Tools>
    ...       <Thing><Tool name="search"><method>builtin</method></Tool></Thing>
    ...       <Recipe><Tool name="substitute"><method>builtin</method></Tool></Recipe>
    ...     </Tools>''')
    >>> @registry.handler("substitute", type="Recipe")
    ... async def substitute(ingredient: str) -> str:
    ...     return "apple sauce" if ingredient == "eggs" else "nothing"
    >>> [entry.name for entry in registry.tools_for("schema:Recipe")]
    ['search', 'substitute']
    >>> registry.handler_for(registry.tools_for("Recipe")[1]) is substitute
    True

`ToolRegistry.reload` reads the file again, and `ToolRegistry.watch` does so whenever it changes; a
broken file changes nothing. `ToolRegistry.lint`, and the command ``toolweave lint``, report errors
and warnings with their positions.
"""

from __future__ import annotations

from .._public import claim_exports
from ._registry import ToolRegistry
from ._toolset import MessageCollector
from ._watching import RegistryWatch, Reload

__all__ = ["MessageCollector", "RegistryWatch", "Reload", "ToolRegistry"]

claim_exports(globals())
