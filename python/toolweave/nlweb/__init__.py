"""Drop-in replacement for NLWeb's tool selection: change one import.

    import toolweave.nlweb as router    # instead of: import core.router as router

``router.ToolSelector`` has the interface of NLWeb's own: ``await ToolSelector(handler).do()`` waits
for the decontextualized query, sets ``handler.tool_routing_results``, aborts the fast track and
sends the message `tool_selection`. By default it uses the ``tools.xml``, the model and the settings
of the NLWeb installation it runs in. `configure` and `make_selector` change these, for example to a
registry with handlers in Python.

    >>> from toolweave.selection import SelectionPolicy
    >>> configure(policy=SelectionPolicy(strategy="choose"))    # one call instead of one per tool
    >>> configure()                                             # NLWeb's defaults again

docs/explanation/nlweb.md lists the differences from NLWeb.
"""

from __future__ import annotations

from .._logs import show_warnings
from .._public import claim_exports
from ._handler import NLWebHandler
from ._routing import RoutedTool, RoutingOptions
from ._runner import ToolRunner
from ._selector import ToolSelector, configure, init, make_selector

__all__ = [
    "NLWebHandler",
    "RoutedTool",
    "RoutingOptions",
    "ToolRunner",
    "ToolSelector",
    "configure",
    "init",
    "make_selector",
]

claim_exports(globals())

show_warnings()
