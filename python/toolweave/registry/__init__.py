"""Tools by schema.org type and site: NLWeb's `tools.xml`, and what Python adds to it.

A `ToolRegistry` knows which tools a query about a recipe, or about a film at one site, may need:
those of the type itself and those of all it is a kind of. It is read from a file, made of tools,
or both.

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

`ToolRegistry.reload` reads the file again, `ToolRegistry.watch` does so whenever it changes, and
a file that is broken changes nothing. `ToolRegistry.lint`, and the command ``toolweave lint``, say
what is wrong with a file and where.
"""

from __future__ import annotations

from .registry import ToolRegistry
from .toolset import MessageCollector
from .watching import RegistryWatch, Reload

__all__ = ["MessageCollector", "RegistryWatch", "Reload", "ToolRegistry"]
