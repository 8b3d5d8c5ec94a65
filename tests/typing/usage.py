"""The package as a type checker sees it: read by mypy and pyright, never run.

One function an area. What must be accepted stands plain; what must be refused
carries an `ignore` for each checker, and an `ignore` that is not needed is an
error of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Any

from langchain_core.language_models import BaseChatModel
from typing_extensions import assert_type

import toolweave
from toolweave import ContractError, Message, Repair, Update
from toolweave.models.langchain import LangChainModel, from_langchain, to_langchain
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
    LangChainModel(chat, native_tools=True)
    model: ChatModel = LangChainModel(chat)
    assert_type(model.stream([]), AsyncIterable[Update])
    LangChainModel(chat.with_retry(), native_tools=False)
    assert_type(from_langchain(to_langchain("Hi")), list[Message])

    LangChainModel("gpt")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
