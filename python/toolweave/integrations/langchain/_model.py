"""Adapter from LangChain's chat models to `ChatModel`."""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers import context as tracers
from pydantic import SecretStr

from ..._core import FinishUpdate, ReasoningDelta, TextDelta, ToolCallUpdate, UsageUpdate
from ...exceptions import ModelError
from ...kinds import FinishReason
from ...models._errors import is_transient_error, redacted, retry_after
from ...models._requests import option_fields
from ...models._streaming import closing, map_errors
from ...protocols import ModelOptions
from ._messages import to_langchain

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
    from contextvars import ContextVar

    from langchain_core.language_models import LanguageModelInput
    from langchain_core.runnables import Runnable

    from ..._core import FunctionContract
    from ..._messages import Message, Update

_logger = logging.getLogger("toolweave.models")

_FINISH_REASONS = {
    FinishReason.STOP: ("stop", "end_turn", "stop_sequence", "eos_token", "complete", "completed"),
    FinishReason.LENGTH: ("length", "max_tokens", "model_length", "max_output_tokens"),
    FinishReason.TOOL_CALLS: ("tool_calls", "tool_call", "tool_use", "function_call"),
    FinishReason.CONTENT_FILTER: (
        *("content_filter", "safety", "refusal", "recitation", "blocklist"),
        *("prohibited_content", "spii", "guardrail_intervened"),
    ),
}
_REASON_BY_NAME = {word: reason for reason, words in _FINISH_REASONS.items() for word in words}


class LangChainModel:
    """A chat model of LangChain, as a `ChatModel`.

    Example:
        .. code-block:: python

            from langchain_openai import ChatOpenAI

            model = LangChainModel(ChatOpenAI(model="gpt-4.1-mini"))
            agent = Agent(model, [add])

    The options of a request are passed to the model as keyword arguments: ``stop``,
    ``temperature``, ``top_p``, ``max_tokens``, ``seed``, ``response_format`` (in OpenAI's form) and
    the content of `ModelOptions.extra`. The finish reason is read from the response metadata; a
    reply without a known reason counts as truncated (``missing``), and its unclosed calls are not
    completed. Usage is what the model reports; some models report it only on request:
    ``ChatOpenAI(stream_usage=True)``.

    Args:
        chat_model: The model, or a runnable around it, such as ``model.with_retry()``.
        native_tools: True if the model makes native calls. By default, true if its class
            overrides `bind_tools`.

    Raises:
        TypeError: `chat_model` does not stream messages.
    """

    provider = "langchain"

    def __init__(
        self,
        chat_model: Runnable[LanguageModelInput, BaseMessage],
        *,
        native_tools: bool | None = None,
    ) -> None:
        given: object = chat_model
        if isinstance(given, type) or not callable(getattr(given, "astream", None)):
            raise TypeError(
                "chat_model must be a chat model of LangChain, such as ChatOpenAI(), "
                f"got {chat_model!r:.80}"
            )
        self._model = chat_model
        self.native_tools = _binds_tools(chat_model) if native_tools is None else native_tools
        """True if the model takes tools and makes native calls."""
        name = getattr(chat_model, "model_name", None) or getattr(chat_model, "model", None)
        self.name: str = name if isinstance(name, str) else type(chat_model).__name__
        """Name of the model, for traces and costs."""

    def __repr__(self) -> str:
        return f"LangChainModel({self.name})"

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Stream the reply; see `ChatModel.stream`.

        Raises:
            ModelError: The request failed, or the reply was interrupted. The exception of the
                chat model is the cause.
            ValueError: Tools were given to a model without native calls.
        """
        options = options or ModelOptions()
        arguments = {**option_fields(options, strict=True), **options.extra}
        model = self._bind(tools, options.tool_choice)
        stream = model.astream(to_langchain(messages), **arguments)
        reader = _LangChainReader()
        async with closing(map_errors(stream, self._to_model_error)) as chunks:
            async for chunk in chunks:
                for update in reader.read(chunk):
                    yield update
        yield FinishUpdate(reader.reason)

    def _bind(
        self, tools: Sequence[FunctionContract], choice: str | None
    ) -> Runnable[LanguageModelInput, BaseMessage]:
        if not tools:
            return self._model
        bind = getattr(self._model, "bind_tools", None)
        if bind is None or not self.native_tools:
            raise ValueError(
                f"the model {self.name} does not support native calls, so there must be no tools; "
                "describe them in its prompt, as NaturalToolUse does"
            )
        # LangChain's name for `required`, which every integration translates.
        chosen = (
            {} if choice is None else {"tool_choice": "any" if choice == "required" else choice}
        )
        bound = bind([tool.to_openai() for tool in tools], **chosen)
        return cast("Runnable[LanguageModelInput, BaseMessage]", bound)

    def _to_model_error(self, err: Exception) -> Exception:
        code: object = getattr(err, "status_code", None)
        status = code if isinstance(code, int) else None
        message = f"the LangChain model {self.name} failed: {type(err).__name__}: {err}"
        return ModelError(
            redacted(message, _keys(self._model)),
            self.provider,
            status,
            retry_after(err),
            is_transient_error(err, status, getattr(err, "body", None)),
        )


class WithoutCallbacks(LangChainModel):
    """A model whose runs do not reach inherited callbacks, since the outer run represents them.

    Callbacks are inherited through context variables. If they observed the wrapped model, it would
    stream the markup of its calls to the users of LangGraph, and its tokens would count twice.
    Callbacks of the wrapped model itself are called as usual.

    Args:
        chat_model: The wrapped model.
    """

    def __init__(self, chat_model: Runnable[LanguageModelInput, BaseMessage]) -> None:
        super().__init__(chat_model, native_tools=False)

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Stream the reply of the model; see `LangChainModel.stream`."""
        async with closing(super().stream(messages, tools=tools, options=options)) as updates:
            iterator = aiter(updates)
            while True:
                # Only while the model runs, since the caller shares the variables.
                with _without_callbacks():
                    try:
                        update = await anext(iterator)
                    except StopAsyncIteration:
                        return
                yield update


@contextmanager
def _without_callbacks() -> Generator[None]:
    variables: list[ContextVar[Any]] = [var_child_runnable_config]
    # Callbacks of `with` statements, for which LangChain has no public API.
    variables += [hook[0] for hook in getattr(tracers, "_configure_hooks", ())]
    tokens = [(variable, variable.set(None)) for variable in variables]
    try:
        yield
    finally:
        for variable, token in reversed(tokens):
            variable.reset(token)


def _keys(model: object) -> Iterator[object]:
    """Yield the API keys of a chat model, or of the model inside runnables."""
    while model is not None:
        for value in cast("dict[str, object]", getattr(model, "__dict__", {})).values():
            if isinstance(value, SecretStr):
                yield value.get_secret_value()
        model = getattr(model, "bound", None)


def _binds_tools(model: object) -> bool:
    if isinstance(model, BaseChatModel):
        return type(model).bind_tools is not BaseChatModel.bind_tools
    return callable(getattr(model, "bind_tools", None))


class _LangChainReader:
    """Converter from the chunks of one reply to updates."""

    def __init__(self) -> None:
        self.reason = FinishReason.MISSING
        self._usage: tuple[int, ...] = (0, 0, 0)
        # Some integrations give calls an index, some an id, and some neither.
        self._indices: dict[int | str, int] = {}

    def read(self, chunk: BaseMessage) -> Iterator[Update]:
        if not isinstance(chunk, AIMessage):
            raise ModelError(
                f"the LangChain model must yield an AIMessage, got {type(chunk).__name__}",
                "langchain",
            )
        for block in chunk.content_blocks:
            if block["type"] == "text" and block["text"]:
                yield TextDelta(block["text"])
            elif block["type"] == "reasoning" and (thought := block.get("reasoning")):
                yield ReasoningDelta(thought)
        if isinstance(chunk, AIMessageChunk):
            yield from self._fragments(chunk)
        else:
            yield from self._calls(chunk)
        yield from self._usage_updates(chunk)
        self._read_finish_reason(chunk.response_metadata)

    def _fragments(self, chunk: AIMessageChunk) -> Iterator[Update]:
        for call in chunk.tool_call_chunks:
            # Without an index, a fragment with an id is a separate call.
            key: int | str | None = call.get("index")
            if key is None:
                key = call.get("id") or f"unnamed {len(self._indices)}"
            index = self._indices.setdefault(key, len(self._indices))
            yield ToolCallUpdate(call.get("id"), index, call.get("name"), call.get("args"))

    def _calls(self, reply: AIMessage) -> Iterator[Update]:
        """Yield the calls of a model that does not stream."""
        valid = [(call, json.dumps(call["args"])) for call in reply.tool_calls]
        invalid = [(call, call["args"]) for call in reply.invalid_tool_calls]
        for call, arguments in (*valid, *invalid):
            index = self._indices.setdefault(len(self._indices), len(self._indices))
            yield ToolCallUpdate(call["id"], index, call["name"], arguments)

    def _usage_updates(self, chunk: AIMessage) -> Iterator[Update]:
        """Yield the total usage; LangChain's chunks have increments."""
        if chunk.usage_metadata:
            details = chunk.usage_metadata.get("input_token_details") or {}
            more = (
                chunk.usage_metadata["input_tokens"],
                chunk.usage_metadata["output_tokens"],
                details.get("cache_read") or 0,
            )
            self._usage = tuple(map(sum, zip(self._usage, more, strict=True)))
            yield UsageUpdate(*self._usage)

    def _read_finish_reason(self, metadata: Mapping[str, Any]) -> None:
        reason = next(
            (
                value
                for key in ("finish_reason", "stop_reason", "done_reason", "stopReason")
                if isinstance(value := metadata.get(key), str) and value
            ),
            None,
        )
        # OpenAI's Responses API.
        if reason is None and metadata.get("status") in ("completed", "incomplete"):
            details = cast("Mapping[str, Any]", metadata.get("incomplete_details") or {})
            reason = details.get("reason") or metadata["status"]
        if reason is None:
            return
        known = _REASON_BY_NAME.get(str(reason).lower())
        if known is None:
            _logger.warning("finish reason not known", extra={"finish_reason": reason})
        self.reason = known or FinishReason.MISSING
