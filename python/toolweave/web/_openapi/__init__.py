"""The operations of the server, and the OpenAPI document that describes them.

`OPERATIONS` is the only list of what the server serves: the routes are made from it
(`operation_routes`), and so are the document (`OpenApiDocument`) and the methods and headers that
pages of other origins may use.
"""

from __future__ import annotations

from ._document import OpenApiDocument
from ._operations import EVENT_STREAM, OPERATIONS, PAGE_OPERATIONS, Operation
from ._routing import Handler, operation_routes

__all__ = [
    "EVENT_STREAM",
    "OPERATIONS",
    "PAGE_OPERATIONS",
    "Handler",
    "OpenApiDocument",
    "Operation",
    "operation_routes",
]
