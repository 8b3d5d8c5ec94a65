"""Models: anything that answers a conversation, in one form.

Wherever a model is taken, a `ChatModel` is accepted, and so is an async function of the messages or
an async generator function. `complete` asks any of them:

    >>> import asyncio
    >>> from toolweave.models import complete
    >>> async def model(messages):
    ...     for word in ("Hello ", "there", "."):
    ...         yield word
    >>> reply = asyncio.run(complete(model, "Hi!"))
    >>> reply.messages[0].text, reply.finish_reason.value
    ('Hello there.', 'stop')

`toolweave.models.http` asks any OpenAI-compatible endpoint with nothing in between, and needs no
extra. The clients of providers are in modules of their own, which need the extra of that name:
`toolweave.models.openai` (any OpenAI-compatible endpoint, Azure), `.anthropic` and `.litellm`. None
of them takes a reply that was cut off for a whole one, and each lets go of its connection when
nobody reads any more. `toolweave.models.fallback` puts models behind each other,
`toolweave.models.replay` plays recorded replies, `toolweave.testing` scripted ones.
"""

from __future__ import annotations

from .conversation import as_messages
from .direct import as_model, complete
from .function import FunctionModel
from .streaming import closing

__all__ = ["FunctionModel", "as_messages", "as_model", "closing", "complete"]
