"""A chat model of LangChain's as our `ChatModel`."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from pydantic import SecretStr

from ..._core import FinishUpdate, ReasoningDelta, TextDelta, ToolCallUpdate, UsageUpdate
from ...exceptions import ModelError
from ...kinds import FinishReason
from ...protocols import ModelOptions
from ..clients import redacted
from ..streaming import closing, map_errors
from ..transient import is_transient_error, retry_after
from .messages import to_langchain

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from langchain_core.language_models import LanguageModelInput
    from langchain_core.runnables import Runnable

    from ... import FunctionContract, Message, Update

_logger = logging.getLogger("toolweave.models")

_WORDS = {
    FinishReason.STOP: ("stop", "end_turn", "stop_sequence", "eos_token", "complete", "completed"),
    FinishReason.LENGTH: ("length", "max_tokens", "model_length", "max_output_tokens"),
    FinishReason.TOOL_CALLS: ("tool_calls", "tool_call", "tool_use", "function_call"),
    FinishReason.CONTENT_FILTER: (
        *("content_filter", "safety", "refusal", "recitation", "blocklist"),
        *("prohibited_content", "spii", "guardrail_intervened"),
    ),
}
_REASONS = {word: reason for reason, words in _WORDS.items() for word in words}


class LangChainModel:
    """A chat model of LangChain's, asked as ours are.

    Example:
        .. code-block:: python

            from langchain_openai import ChatOpenAI

            model = LangChainModel(ChatOpenAI(model="gpt-4.1-mini"))
            agent = Agent(model, [add])

    The options of a request are given to the model as keyword arguments: ``stop``,
    ``temperature``, ``top_p``, ``max_tokens``, ``seed``, ``response_format`` (OpenAI's form) and
    whatever is in `ModelOptions.extra`. Why a reply ended is read from its response metadata; a
    reply that does not say so in words known here counts as cut off (``missing``), which leaves
    calls that are not closed open. Usage is what the model reports, which some do only on demand:
    ``ChatOpenAI(stream_usage=True)``.

    Args:
        chat_model: The model, or a runnable around one, such as ``model.with_retry()``.
        native_tools: Whether it makes native calls; by default, whether its class has a
            `bind_tools` of its own.

    Raises:
        TypeError: It is nothing that streams messages.
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
                "chat_model must be a chat model of LangChain's, such as ChatOpenAI(), "
                f"not {chat_model!r:.80}"
            )
        self._model = chat_model
        self.native_tools = _binds_tools(chat_model) if native_tools is None else native_tools
        """Whether it takes tools and makes native calls."""
        name = getattr(chat_model, "model_name", None) or getattr(chat_model, "model", None)
        self.name: str = name if isinstance(name, str) else type(chat_model).__name__
        """The model, for traces and costs."""

    def __repr__(self) -> str:
        return f"LangChainModel({self.name})"

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Answers, piece by piece; see `ChatModel.stream`.

        Raises:
            ModelError: The model could not be asked, or broke off; its own exception is the cause.
            ValueError: Tools were given to a model that does not take any.
        """
        options = options or ModelOptions()
        asked = self._with(tools, options.tool_choice).astream(
            to_langchain(messages), **_arguments(options)
        )
        reader = _Reader()
        async with closing(map_errors(asked, self._failed)) as chunks:
            async for chunk in chunks:
                for update in reader.read(chunk):
                    yield update
        yield FinishUpdate(reader.reason)

    def _with(
        self, tools: Sequence[FunctionContract], choice: str | None
    ) -> Runnable[LanguageModelInput, BaseMessage]:
        if not tools:
            return self._model
        bind = getattr(self._model, "bind_tools", None)
        if bind is None or not self.native_tools:
            raise ValueError(
                f"the model {self.name} makes no native calls, so it takes no tools; "
                "describe them in its prompt, as NaturalToolUse does"
            )
        # LangChain's own name for `required`, which every integration translates.
        chosen = (
            {} if choice is None else {"tool_choice": "any" if choice == "required" else choice}
        )
        bound = bind([tool.to_openai() for tool in tools], **chosen)
        return cast("Runnable[LanguageModelInput, BaseMessage]", bound)

    def _failed(self, err: Exception) -> Exception:
        said: object = getattr(err, "status_code", None)
        status = said if isinstance(said, int) else None
        said = f"the LangChain model {self.name} failed: {type(err).__name__}: {err}"
        return ModelError(
            redacted(said, _keys(self._model)),
            self.provider,
            status,
            retry_after(err),
            is_transient_error(err, status, getattr(err, "body", None)),
        )


def _keys(model: object) -> Iterator[object]:
    """The keys of a chat model, or of the one that runnables stand around."""
    while model is not None:
        for value in cast("dict[str, object]", getattr(model, "__dict__", {})).values():
            if isinstance(value, SecretStr):
                yield value.get_secret_value()
        model = getattr(model, "bound", None)


def _binds_tools(model: object) -> bool:
    if isinstance(model, BaseChatModel):
        return type(model).bind_tools is not BaseChatModel.bind_tools
    return callable(getattr(model, "bind_tools", None))


def _arguments(options: ModelOptions) -> dict[str, Any]:
    given: dict[str, Any] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_tokens": options.max_tokens,
        "seed": options.seed,
        "stop": list(options.stop) or None,
    }
    if options.response_schema is not None:
        schema = {"name": "reply", "schema": dict(options.response_schema), "strict": True}
        given["response_format"] = {"type": "json_schema", "json_schema": schema}
    return {name: value for name, value in given.items() if value is not None} | dict(options.extra)


class _Reader:
    """Reads the chunks of one reply."""

    def __init__(self) -> None:
        self.reason = FinishReason.MISSING
        self._usage: tuple[int, int, int] = (0, 0, 0)
        # Some integrations number their calls, some name them, and some do neither.
        self._indices: dict[int | str, int] = {}

    def read(self, chunk: BaseMessage) -> Iterator[Update]:
        if not isinstance(chunk, AIMessage):
            raise ModelError(
                f"the LangChain model answered with a {type(chunk).__name__}, not an AIMessage",
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
        yield from self._used(chunk)
        self._finished(chunk.response_metadata)

    def _fragments(self, chunk: AIMessageChunk) -> Iterator[Update]:
        for call in chunk.tool_call_chunks:
            # Without an index, a fragment with an id is a call of its own.
            key: int | str | None = call.get("index")
            if key is None:
                key = call.get("id") or f"unnamed {len(self._indices)}"
            index = self._indices.setdefault(key, len(self._indices))
            yield ToolCallUpdate(call.get("id"), index, call.get("name"), call.get("args"))

    def _calls(self, reply: AIMessage) -> Iterator[Update]:
        """The calls of a model that does not stream."""
        for call in reply.tool_calls:
            index = len(self._indices)
            self._indices[index] = index
            yield ToolCallUpdate(call["id"], index, call["name"], json.dumps(call["args"]))
        for broken in reply.invalid_tool_calls:
            index = len(self._indices)
            self._indices[index] = index
            yield ToolCallUpdate(broken["id"], index, broken["name"], broken["args"])

    def _used(self, chunk: AIMessage) -> Iterator[Update]:
        """LangChain's chunks hold what is new, our updates the sum."""
        if chunk.usage_metadata:
            details = chunk.usage_metadata.get("input_token_details") or {}
            more = (
                chunk.usage_metadata["input_tokens"],
                chunk.usage_metadata["output_tokens"],
                details.get("cache_read") or 0,
            )
            self._usage = (
                self._usage[0] + more[0],
                self._usage[1] + more[1],
                self._usage[2] + more[2],
            )
            yield UsageUpdate(*self._usage)

    def _finished(self, metadata: Mapping[str, Any]) -> None:
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
        known = _REASONS.get(str(reason).lower())
        if known is None:
            _logger.warning("finish reason not known", extra={"finish_reason": reason})
        self.reason = known or FinishReason.MISSING
