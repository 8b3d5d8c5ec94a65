"""NLWeb's tool selection, by this package: change one import.

    import toolweave.nlweb as router    # instead of: import core.router as router

``router.ToolSelector`` is made and used as NLWeb's own: ``await ToolSelector(handler).do()`` waits
for the decontextualized query, sets ``handler.tool_routing_results``, aborts the fast track and
sends the message `tool_selection`. Without more it takes the ``tools.xml``, the model and the
switches of the NLWeb that it runs in. `configure` and `make_selector` give it others, such as a
registry with handlers in Python.

    >>> from toolweave.selection import SelectionPolicy
    >>> configure(policy=SelectionPolicy(strategy="choose"))    # one call instead of one a tool
    >>> configure()                                             # NLWeb's way again

Differences, and why: docs/nlweb.md.
"""

from __future__ import annotations

from .handler import NLWebHandler
from .logs import show_warnings
from .routing import RoutedTool, RoutingOptions
from .runner import ToolRunner
from .selector import ToolSelector, configure, init, make_selector

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

show_warnings()
