"""Function calling in pydantic-ai for models without it. Needs the extra ``pydantic-ai``.

`NaturalToolUseModel` wraps the model. Tools and structured output of the agent work as usual, while
the model only reads and writes text.

.. code-block:: python

    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from toolweave.integrations.pydantic_ai import NaturalToolUseModel

    agent = Agent(NaturalToolUseModel(OpenAIChatModel("gemma-3-4b-it", provider=...)))

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        return a + b

    print(agent.run_sync("What is 15 + 27?").output)
"""

from __future__ import annotations

try:
    import pydantic_ai as _  # noqa: F401
except ImportError as err:
    raise ImportError(
        "toolweave.integrations.pydantic_ai needs pydantic-ai: pip install 'toolweave[pydantic-ai]'"
    ) from err

from ..._public import claim_exports
from ._model import NaturalToolUseModel

__all__ = ["NaturalToolUseModel"]

claim_exports(globals())
