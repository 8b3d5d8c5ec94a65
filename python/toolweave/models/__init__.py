"""Models: adapters from providers, functions and recordings to `ChatModel`.

Every parameter that takes a model accepts a `ChatModel`, an async function of the messages, or an
async generator function. `complete` sends a request to any of them:

    >>> import asyncio
    >>> from toolweave.models import complete
    >>> async def model(messages):
    ...     for word in ("Hello ", "there", "."):
    ...         yield word
    >>> reply = asyncio.run(complete(model, "Hi!"))
    >>> reply.messages[0].text, reply.finish_reason.value
    ('Hello there.', 'stop')

`toolweave.models.http` sends requests to any OpenAI-compatible endpoint without a client library,
and needs no extra. Each adapter of a provider's client is a module that needs the extra of the same
name: `toolweave.models.openai` (any OpenAI-compatible endpoint, Azure), `.anthropic` and
`.litellm`. All of them report a truncated reply as such, and close the connection when the reader
stops. `toolweave.models.fallback` chains models, `toolweave.models.replay` replays recorded
replies, and `toolweave.testing` has scripted ones.
"""

from __future__ import annotations

from .._public import claim_exports
from ._conversation import as_messages
from ._direct import as_model, complete
from ._function import FunctionModel
from ._streaming import closing

__all__ = ["FunctionModel", "as_messages", "as_model", "closing", "complete"]

claim_exports(globals())
