"""NLWeb's tool selection, by this package: change one import.

    from toolweave.nlweb import ToolSelector    # instead of: from core.router import ToolSelector

The class is made and used as NLWeb's own: ``await ToolSelector(handler).do()`` waits for the
decontextualized query, sets ``handler.tool_routing_results``, aborts the fast track and sends the
message `tool_selection`. Without more it takes the ``tools.xml``, the model and the switches of the
NLWeb that it runs in. `configure` and `make_selector` give it others, such as a registry with
handlers in Python.

    >>> from toolweave.selection import SelectionPolicy
    >>> configure(policy=SelectionPolicy(strategy="choose"))    # one call instead of one a tool
    >>> configure()                                             # NLWeb's way again

Differences, and why: docs/nlweb.md.
"""

from __future__ import annotations

from .handler import NLWebHandler
from .routing import RoutedTool, RoutingOptions
from .runner import ToolRunner
from .selector import ToolSelector, configure, make_selector

__all__ = [
    "NLWebHandler",
    "RoutedTool",
    "RoutingOptions",
    "ToolRunner",
    "ToolSelector",
    "configure",
    "make_selector",
]
