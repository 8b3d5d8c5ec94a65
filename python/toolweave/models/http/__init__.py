"""Any endpoint that speaks as OpenAI's does, asked without a client in between.

    from toolweave import NaturalToolUse
    from toolweave.models.http import HttpModel

    model = HttpModel("http://127.0.0.1:8080/v1", "qwen3")
    run = await NaturalToolUse(model, [get_weather]).run("How is the weather in Oslo?")

Needs no extra. Connections are kept, and replies read, on a thread of Rust's that never waits for
Python: where calls are looked for, they reach the event loop found, validated and mended. The loop
wakes once for many replies, and a reply that nobody reads stops its server from sending more.

An `HttpModel` works in any event loop, and in many at once; after a fork parent and child each
have their own connections. Whoever stops reading a reply closes its connection.
"""

from __future__ import annotations

from .limits import HttpLimits
from .model import HttpModel

__all__ = ["HttpLimits", "HttpModel"]
