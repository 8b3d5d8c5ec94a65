"""Types of the package: read by mypy and pyright, never run.

There is one function per area. Valid code has no comments; code that must be rejected has an
`ignore` for each checker, and an unused `ignore` is an error.
"""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from pydantic_ai import Agent
from pydantic_ai.models import Model as PydanticModel
from typing_extensions import assert_type

import toolweave
from toolweave import ContractError, FunctionContract, Limits, Message, Repair
from toolweave.integrations.langchain import (
    LangChainModel,
    NaturalChatModel,
    from_langchain,
    to_langchain,
)
from toolweave.integrations.pydantic_ai import NaturalToolUseModel
from toolweave.models import as_model
from toolweave.protocols import ChatModel


def package() -> None:
    assert_type(toolweave.__version__, str)


def repairs(repair: Repair) -> None:
    match repair:
        case Repair(path, kind, before, after):
            assert_type(path, str)
            assert_type(kind, str)
            assert_type(before, Any)
            assert_type(after, Any)

    assert_type(repair == repair, bool)
    assert_type({repair}, set[Repair])
    Repair("/city", "type", "4", 4)
    Repair(path="/city", kind="type", before="4", after=4)

    Repair("/city")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    repair.path = ""  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def exceptions(error: ContractError) -> None:
    assert_type(error.tool, str)
    caught: ValueError = error
    assert_type(caught.args, tuple[Any, ...])


def langchain_models(chat: BaseChatModel) -> None:
    asked: ChatModel = LangChainModel(chat)
    assert_type(as_model(asked), ChatModel)
    LangChainModel(chat.with_retry(), native_tools=False)
    natural = NaturalChatModel(asked, fallback=chat, tag="tool_call")
    assert_type(natural.bind_tools([FunctionContract("Add")]).invoke("Hi"), AIMessage)
    NaturalChatModel(natural, repair="syntax")
    assert_type(from_langchain(to_langchain("Hi")), list[Message])

    LangChainModel("gpt")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    NaturalChatModel(chat, tag="x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def pydantic_ai_models(wrapped: PydanticModel) -> None:
    natural = NaturalToolUseModel(wrapped, tag="name", repair="none")
    assert_type(Agent(natural, output_type=int).run_sync("Hi").output, int)
    NaturalToolUseModel("ollama:gemma3", limits=Limits(max_calls=3))

    NaturalToolUseModel(wrapped, mend=True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
