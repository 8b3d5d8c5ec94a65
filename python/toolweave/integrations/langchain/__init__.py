"""Adapters for LangChain's chat models, in both directions. Needs the extra ``langchain``.

`LangChainModel` adapts any chat model of LangChain to toolweave:

.. code-block:: python

    agent = Agent(LangChainModel(ChatAnthropic(model="...")), [add])

`NaturalChatModel` gives tools to a model without function calling. It is a chat model of LangChain,
for use by its agents:

.. code-block:: python

    model = NaturalChatModel(ChatOllama(model="gemma3"))
    agent = create_agent(model, [add], middleware=[AnswerInvalidCalls()])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    import langchain_core as _  # noqa: F401
except ImportError as err:
    raise ImportError(
        "toolweave.integrations.langchain needs LangChain: pip install 'toolweave[langchain]'"
    ) from err

from ..._public import claim_exports
from ._messages import from_langchain, to_langchain
from ._model import LangChainModel
from ._natural import NaturalChatModel

if TYPE_CHECKING:
    from ._middleware import AnswerInvalidCalls

__all__ = [
    "AnswerInvalidCalls",
    "LangChainModel",
    "NaturalChatModel",
    "from_langchain",
    "to_langchain",
]

claim_exports(globals())


def __getattr__(name: str) -> object:
    # It needs the package `langchain`; everything else needs only `langchain-core`.
    if name == "AnswerInvalidCalls":
        try:
            from ._middleware import AnswerInvalidCalls
        except ImportError as err:
            raise ImportError(
                "AnswerInvalidCalls needs LangChain's agents: pip install langchain"
            ) from err
        AnswerInvalidCalls.__module__ = __name__
        return AnswerInvalidCalls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
