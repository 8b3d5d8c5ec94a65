"""LangChain's chat models as ours. Needs the extra ``langchain``.

`LangChainModel` lets any chat model of LangChain's answer wherever a model is taken:

.. code-block:: python

    agent = Agent(LangChainModel(ChatAnthropic(model="...")), [add])
"""

from __future__ import annotations

try:
    import langchain_core as _  # noqa: F401
except ImportError as err:
    raise ImportError(
        "toolweave.models.langchain needs LangChain: pip install 'toolweave[langchain]'"
    ) from err

from .messages import from_langchain, to_langchain
from .theirs import LangChainModel

__all__ = ["LangChainModel", "from_langchain", "to_langchain"]
