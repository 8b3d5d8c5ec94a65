"""Execution of a selected tool by a Python handler, or by a POST request to an endpoint.

A registry defines the tools, a selector picks one for a query, and `run_handler` runs it. It looks
for a handler registered in Python first, then for the registry's dotted path, which is imported
only if it is under an allowed prefix, then for `method="url"`. Parameters are validated before the
handler starts. If a handler cannot start, the fallback runs instead; until then, no code of the
application has run.

    >>> async def main(registry, selection, handler) -> None:
    ...     allowed = ["myapp.handlers"]
    ...     run = await run_handler(
    ...         registry, selection, handler=handler, allowed_handlers=allowed, timeout=30.0
    ...     )
    ...     print(run.tool.name, run.value, run.fell_back, run.error)

A handler is a class in the style of NLWeb, constructed as ``Handler(params, handler)`` and run
with ``do()``, or a function, or a `Tool`.
"""

from __future__ import annotations

from .._public import claim_exports
from ._loading import load_handler
from ._remote import MAX_RESPONSE_BYTES
from ._run import HandlerOptions, HandlerRun, run_handler
from ._target import find_handler

__all__ = [
    "MAX_RESPONSE_BYTES",
    "HandlerOptions",
    "HandlerRun",
    "find_handler",
    "load_handler",
    "run_handler",
]

claim_exports(globals())
