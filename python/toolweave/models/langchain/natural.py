"""A model that writes text as a chat model of LangChain's with tools."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Literal, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from ..._core import FunctionContract, TextMessage
from ...kinds import Role
from ...natural import NaturalToolUseParser
from ...protocols import ModelOptions
from ..streaming import closing
from .background import iterate, run
from .callbacks import WithoutCallbacks
from .chunks import ReplyBuilder
from .messages import from_langchain
from .model import LangChainModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from langchain_core.callbacks import (
        AsyncCallbackManagerForLLMRun,
        CallbackManagerForLLMRun,
    )
    from langchain_core.language_models import LanguageModelInput
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.tools import BaseTool
    from pydantic import BaseModel

    from ... import Message
    from ...natural import ReplyEvent
    from ...options import HasContract
    from ...protocols import ChatModel, Model

    LangChainRunnable = Runnable[LanguageModelInput, BaseMessage]
    LangChainTool = Mapping[str, Any] | type[BaseModel] | Callable[..., Any] | BaseTool
    Tool = LangChainTool | FunctionContract | HasContract

_MUST_CALL = "Answer with a call of one of the tools described here. Text alone is no answer."


class NaturalChatModel(BaseChatModel):
    """A model without function calling, with tools for all that LangChain does with them.

    The tools given to `bind_tools` are described in the system prompt; the calls that the model
    writes in its text become `AIMessage.tool_calls`, and in streams `tool_call_chunks` with the
    arguments as they are written. Calls and results of the history are text again in the next
    request. Agents, structured output and ``model | parser`` work as with any other chat model.

    A call that is broken, incomplete or does not fit its schema is in `invalid_tool_calls`, never
    in `tool_calls`, and ``response_metadata["invalid_tool_calls"]`` says by id what is wrong with
    it. The model reads that in the next request. An agent of LangChain's ends at a reply that has
    no other calls; with `AnswerInvalidCalls` among its middleware it goes on. In a stream, a call
    that had to be mended is there twice, under one id: as written, which is an invalid call, and
    mended.

    What is not async runs on an event loop in a thread of this module, one for all calls. A client
    that keeps connections open should not be used both ways, since those belong to one loop.

    Example:
        .. code-block:: python

            from langchain.agents import create_agent
            from langchain_ollama import ChatOllama

            model = NaturalChatModel(ChatOllama(model="gemma3"))
            agent = create_agent(model, [add], middleware=[AnswerInvalidCalls()])

    Args:
        wrapped: A model of LangChain's, or one of ours in any form.
        fallback: A model that is asked once about each call that cannot be run; see
            `NaturalToolUseParser`.
        tag: How calls are to be written: ``name`` (``<Name>``) or ``tool_call``.
        fenced: Whether arguments are to stand in a Markdown fence.
        stop_at_results: Whether the model is asked to stop where it would make up a result.
        repair: How far arguments are mended; see `Parser`.
        in_code: What a call inside Markdown code is: ``text`` or ``call``.
        **kwargs: As for every chat model of LangChain's, such as ``callbacks``.
    """

    # Not `model`: LangChain takes that for a name wherever it finds it.
    wrapped: Any
    """The model that is asked."""
    fallback: Any = None
    tag: Literal["name", "tool_call"] = "name"
    fenced: bool = True
    stop_at_results: bool = True
    repair: Literal["none", "syntax", "schema"] = "schema"
    in_code: Literal["text", "call"] = "text"

    _parser: NaturalToolUseParser = PrivateAttr()

    def __init__(
        self,
        wrapped: Model | LangChainRunnable,
        *,
        fallback: Model | LangChainRunnable | None = None,
        tag: Literal["name", "tool_call"] = "name",
        fenced: bool = True,
        stop_at_results: bool = True,
        repair: Literal["none", "syntax", "schema"] = "schema",
        in_code: Literal["text", "call"] = "text",
        **kwargs: Any,
    ) -> None:
        kwargs |= {"wrapped": wrapped, "fallback": fallback, "tag": tag, "fenced": fenced}
        kwargs |= {"stop_at_results": stop_at_results, "repair": repair, "in_code": in_code}
        super().__init__(**kwargs)
        self._parser = NaturalToolUseParser(
            _ours(wrapped),
            fallback=None if fallback is None else _ours(fallback),
            tag=tag,
            fenced=fenced,
            stop=stop_at_results,
            repair=repair,
            in_code=in_code,
        )

    @property
    def _llm_type(self) -> str:
        return "toolweave"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        options = ("tag", "fenced", "stop_at_results", "repair", "in_code")
        return {"model_name": self._parser.name} | {name: getattr(self, name) for name in options}

    def bind_tools(
        self,
        tools: Sequence[Tool],
        *,
        tool_choice: str | bool | Mapping[str, Any] | None = None,
        strict: bool | None = None,  # noqa: ARG002 - every call has to fit its schema
        parallel_tool_calls: bool | None = None,  # noqa: ARG002 - any model may make several
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with tools.

        Args:
            tools: Tools in any form that LangChain knows, or of ours.
            tool_choice: ``auto``, ``none``, ``any`` (or True, ``required``), or the name of a
                tool. A model that writes text can be asked to call one, not made to.
            strict: Taken, since others do. Arguments always fit their schema.
            parallel_tool_calls: Taken, since others do.
            **kwargs: Further arguments for `bind`.

        Raises:
            ValueError: There is no tool of that name.
        """
        definitions = [_definition(tool) for tool in tools]
        if tool_choice is not None:
            kwargs["tool_choice"] = _chosen(tool_choice, definitions)
        return self.bind(tools=definitions, **kwargs)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002 - told by `astream`
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        reply = ReplyBuilder(self._parser.name)
        async with closing(self._events(messages, stop, kwargs)) as events:
            async for event in events:
                for chunk in reply.push(event):
                    yield ChatGenerationChunk(message=chunk)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        reply = ReplyBuilder(self._parser.name)
        async with closing(self._events(messages, stop, kwargs)) as events:
            async for event in events:
                for _ in reply.push(event):
                    pass
        return ChatResult(generations=[ChatGeneration(message=reply.message())])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        return iterate(self._astream(messages, stop, **kwargs))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        return run(self._agenerate(messages, stop, **kwargs))

    def _events(
        self, messages: list[BaseMessage], stop: list[str] | None, arguments: dict[str, Any]
    ) -> AsyncIterator[ReplyEvent]:
        tools: list[dict[str, Any]] = arguments.pop("tools", [])
        choice = arguments.pop("tool_choice", None)
        conversation = from_langchain(messages)
        if choice == "none":
            tools = []
        elif choice not in (None, "auto"):
            tools = [tool for tool in tools if choice in ("any", tool["function"]["name"])]
            conversation = _told(conversation, _MUST_CALL)
        return self._parser.stream(
            conversation,
            tools=tools,
            options=_options(stop, arguments),
            call_ids=lambda _: f"call_{uuid.uuid4().hex}",
        )


def _ours(model: Model | LangChainRunnable) -> ChatModel | Any:
    # LangChain's models have a `stream` of their own, which is another one.
    given: Any = model
    return WithoutCallbacks(LangChainModel(given)) if isinstance(model, Runnable) else model


def _definition(tool: Tool) -> dict[str, Any]:
    contract: object = getattr(tool, "contract", tool)
    if isinstance(contract, FunctionContract):
        return contract.to_openai()
    return convert_to_openai_tool(cast("LangChainTool", tool))


def _chosen(choice: str | bool | Mapping[str, Any], definitions: Sequence[dict[str, Any]]) -> str:
    if isinstance(choice, bool):
        return "any" if choice else "auto"
    name = choice if isinstance(choice, str) else (choice.get("function") or choice).get("name")
    if name in ("any", "required"):
        return "any"
    names = [definition["function"]["name"] for definition in definitions]
    if name in ("auto", "none") or name in names:
        return str(name)
    raise ValueError(
        f"tool_choice is 'auto', 'none', 'any' or the name of a tool ({', '.join(names)}); "
        f"not {choice!r}"
    )


def _told(messages: list[Message], what: str) -> list[Message]:
    """The messages with one more sentence in the system prompt."""
    for index, message in enumerate(messages):
        if isinstance(message, TextMessage) and message.role is Role.SYSTEM:
            told = message.__replace__(text=f"{message.text}\n\n{what}")
            return [*messages[:index], told, *messages[index + 1 :]]
    return [TextMessage(what, role=Role.SYSTEM), *messages]


def _options(stop: list[str] | None, arguments: dict[str, Any]) -> ModelOptions:
    known = ("temperature", "top_p", "max_tokens", "seed")
    named = {name: arguments.pop(name) for name in known if name in arguments}
    return ModelOptions(**named, stop=tuple(stop or ()), extra=arguments)
