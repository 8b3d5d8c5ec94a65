"""LangChain's chat models as ours, and ours as LangChain's. Needs the extra ``langchain``.

`LangChainModel` lets any chat model of LangChain's answer wherever a model is taken:

.. code-block:: python

    agent = Agent(LangChainModel(ChatAnthropic(model="...")), [add])

`NaturalChatModel` gives tools to a model that has no function calling, in LangChain's own terms,
so that its agents can use it:

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
        "toolweave.models.langchain needs LangChain: pip install 'toolweave[langchain]'"
    ) from err

from .messages import from_langchain, to_langchain
from .model import LangChainModel
from .natural import NaturalChatModel

if TYPE_CHECKING:
    from .middleware import AnswerInvalidCalls

__all__ = [
    "AnswerInvalidCalls",
    "LangChainModel",
    "NaturalChatModel",
    "from_langchain",
    "to_langchain",
]


def __getattr__(name: str) -> object:
    # It needs LangChain's agents; the rest does with `langchain-core`.
    if name == "AnswerInvalidCalls":
        try:
            from .middleware import AnswerInvalidCalls
        except ImportError as err:
            raise ImportError(
                "AnswerInvalidCalls needs LangChain's agents: pip install langchain"
            ) from err
        return AnswerInvalidCalls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
