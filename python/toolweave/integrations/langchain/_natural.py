"""Chat model of LangChain that adds tools to a model that writes text."""

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
from ...models._streaming import closing
from ...natural import NaturalToolUseParser
from ...protocols import ModelOptions
from ._background import iterate, run
from ._chunks import ReplyBuilder
from ._messages import from_langchain
from ._model import WithoutCallbacks

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

    from ..._messages import Message
    from ..._options import HasContract
    from ...natural import ReplyEvent
    from ...protocols import ChatModel, Model

    LangChainRunnable = Runnable[LanguageModelInput, BaseMessage]
    LangChainTool = Mapping[str, Any] | type[BaseModel] | Callable[..., Any] | BaseTool
    Tool = LangChainTool | FunctionContract | HasContract

_MUST_CALL = "Answer with a call of one of the tools described here. Text alone is no answer."


class NaturalChatModel(BaseChatModel):
    """A chat model of LangChain with tools, for a model without function calling.

    The tools given to `bind_tools` are described in the system prompt. The calls in the text of the
    model become `AIMessage.tool_calls`; in streams, they become `tool_call_chunks` with the
    arguments as they are written. Calls and results of the history become text in the next request.
    Agents, structured output and ``model | parser`` work as with any other chat model.

    A malformed or incomplete call, or one that violates its schema, is in `invalid_tool_calls`,
    never in `tool_calls`, and its error is in ``response_metadata["invalid_tool_calls"]``, by id.
    The model reads the error in the next request. A LangChain agent ends at a reply that has only
    invalid calls; with the middleware `AnswerInvalidCalls` it continues. In a stream, a repaired
    call appears twice under one id: as written, as an invalid call, and repaired.

    The synchronous methods use a background event loop, which all calls share. Do not use a client
    that keeps connections open both synchronously and asynchronously, since connections belong to
    one loop.

    Example:
        .. code-block:: python

            from langchain.agents import create_agent
            from langchain_ollama import ChatOllama

            model = NaturalChatModel(ChatOllama(model="gemma3"))
            agent = create_agent(model, [add], middleware=[AnswerInvalidCalls()])

    Args:
        wrapped: A model of LangChain, or a toolweave model in any form.
        fallback: Model that repairs invalid calls, with one request each; see
            `NaturalToolUseParser`.
        dialect: Name of the dialect in which tools are described and histories are written;
            ``auto`` for that of the model. See `NaturalToolUseParser`.
        tag: Form of calls in the dialect ``natural``: ``name`` (``<Name>``) or ``tool_call``.
        fenced: If true, arguments in that dialect are in a Markdown fence.
        stop_at_results: If true, a stop sequence prevents fabricated results.
        repair: Extent of argument repair; see `Parser`.
        in_code: Meaning of a call inside Markdown code: ``text`` or ``call``.
        **kwargs: Options of every LangChain chat model, such as ``callbacks``.
    """

    # Not `model`, which LangChain takes for the name of a model.
    wrapped: Any
    """Model that receives the requests."""
    fallback: Any = None
    dialect: str = "auto"
    tag: Literal["name", "tool_call"] = "name"
    fenced: bool = False
    stop_at_results: bool = True
    repair: Literal["none", "syntax", "schema"] = "schema"
    in_code: Literal["text", "call"] = "text"

    _parser: NaturalToolUseParser = PrivateAttr()

    def __init__(
        self,
        wrapped: Model | LangChainRunnable,
        *,
        fallback: Model | LangChainRunnable | None = None,
        dialect: str = "auto",
        tag: Literal["name", "tool_call"] = "name",
        fenced: bool = False,
        stop_at_results: bool = True,
        repair: Literal["none", "syntax", "schema"] = "schema",
        in_code: Literal["text", "call"] = "text",
        **kwargs: Any,
    ) -> None:
        kwargs |= {"wrapped": wrapped, "fallback": fallback, "tag": tag, "fenced": fenced}
        kwargs |= {"stop_at_results": stop_at_results, "repair": repair, "in_code": in_code}
        kwargs |= {"dialect": dialect}
        super().__init__(**kwargs)
        self._parser = NaturalToolUseParser(
            _chat_model(wrapped),
            fallback=None if fallback is None else _chat_model(fallback),
            dialect=dialect,
            profile=None,
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
        options = ("dialect", "tag", "fenced", "stop_at_results", "repair", "in_code")
        return {"model_name": self._parser.name} | {name: getattr(self, name) for name in options}

    def bind_tools(
        self,
        tools: Sequence[Tool],
        *,
        tool_choice: str | bool | Mapping[str, Any] | None = None,
        strict: bool | None = None,  # noqa: ARG002 - calls are always validated
        parallel_tool_calls: bool | None = None,  # noqa: ARG002 - always allowed
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with tools.

        Args:
            tools: Tools in any form of LangChain or toolweave.
            tool_choice: ``auto``, ``none``, ``any`` (or True, ``required``), or the name of a
                tool. A model that writes text can be asked for a call, but not forced.
            strict: Accepted for compatibility. Arguments are always validated.
            parallel_tool_calls: Accepted for compatibility.
            **kwargs: Further arguments of `bind`.

        Raises:
            ValueError: `tool_choice` names an unknown tool.
        """
        definitions = [_definition(tool) for tool in tools]
        if tool_choice is not None:
            kwargs["tool_choice"] = _chosen(tool_choice, definitions)
        return self.bind(tools=definitions, **kwargs)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002 - `astream` notifies it
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
            conversation = _with_instruction(conversation, _MUST_CALL)
        return self._parser.stream(
            conversation,
            tools=tools,
            options=_options(stop, arguments),
            call_ids=lambda _: f"call_{uuid.uuid4().hex}",
        )


def _chat_model(model: Model | LangChainRunnable) -> ChatModel | Any:
    # The `stream` of LangChain's models is a different method.
    given: Any = model
    return WithoutCallbacks(given) if isinstance(model, Runnable) else model


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
        f"tool_choice must be 'auto', 'none', 'any' or the name of a tool ({', '.join(names)}), "
        f"got {choice!r}"
    )


def _with_instruction(messages: list[Message], instruction: str) -> list[Message]:
    """Add a sentence to the system prompt."""
    for index, message in enumerate(messages):
        if isinstance(message, TextMessage) and message.role is Role.SYSTEM:
            changed = message.__replace__(text=f"{message.text}\n\n{instruction}")
            return [*messages[:index], changed, *messages[index + 1 :]]
    return [TextMessage(instruction, role=Role.SYSTEM), *messages]


def _options(stop: list[str] | None, arguments: dict[str, Any]) -> ModelOptions:
    known = ("temperature", "top_p", "max_tokens", "seed")
    named = {name: arguments.pop(name) for name in known if name in arguments}
    return ModelOptions(**named, stop=tuple(stop or ()), extra=arguments)
