"""How a chosen tool runs: by a handler in Python, or by a POST to an endpoint.

A registry says which tools there are, a selector which one a query needs; `run_handler` runs it.
A handler registered in Python comes first, then the dotted path that the registry names, which is
imported only if it lies under an allowed prefix, then `method="url"`. Parameters are validated
before anything starts. What cannot start is replaced by the fallback, and until something does
start nothing of the application's has been touched.

    >>> async def main(registry, selection, handler) -> None:
    ...     allowed = ["myapp.handlers"]
    ...     run = await run_handler(
    ...         registry, selection, handler=handler, allowed_handlers=allowed, timeout=30.0
    ...     )
    ...     print(run.tool.name, run.value, run.fell_back, run.error)

A handler is a class as NLWeb has them, built as ``Handler(params, handler)`` and run with
``do()``, a function, or a `Tool`.
"""

from __future__ import annotations

from .loading import load_handler
from .remote import MAX_RESPONSE_BYTES
from .run import HandlerOptions, HandlerRun, run_handler
from .target import find_handler

__all__ = [
    "MAX_RESPONSE_BYTES",
    "HandlerOptions",
    "HandlerRun",
    "find_handler",
    "load_handler",
    "run_handler",
]
