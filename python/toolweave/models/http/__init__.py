"""Models of any OpenAI-compatible endpoint, without a client library.

    from toolweave import NaturalToolUse
    from toolweave.models.http import HttpModel

    model = HttpModel("http://127.0.0.1:8080/v1", "qwen3")
    run = await NaturalToolUse(model, [get_weather]).run("How is the weather in Oslo?")

Needs no extra. A Rust thread, which never waits for Python, holds the connections and reads the
replies; it also parses, validates and repairs calls before they reach the event loop. One wakeup of
the loop serves many replies, and an unread reply applies backpressure to its server.

An `HttpModel` works in any event loop, and in many at once; after a fork, parent and child each
have their own connections. Closing or abandoning the iterator of a reply closes its connection.
"""

from __future__ import annotations

from ..._public import claim_exports
from ._model import HttpLimits, HttpModel

__all__ = ["HttpLimits", "HttpModel"]

claim_exports(globals())
