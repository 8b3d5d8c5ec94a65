"""OpenAI's chat completions: building requests and reading the chunks of replies.

The chunks may be the objects of any client, or dicts. The reader tolerates common deviations of
servers: missing or repeated ids and indexes, names in every fragment, and reasoning under
different field names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from .._core import (
    ReasoningDelta,
    TextDelta,
    ToolCallUpdate,
    UsageUpdate,
    to_openai,
)
from ._clients import checked_extra, checked_tool_choice
from ._streaming import count, field, finish_update, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._core import FinishUpdate, FunctionContract
    from .._messages import Message, Update
    from ..protocols import ModelOptions

_FINISH = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "safety": "content_filter",
}


def build_request(
    messages: Sequence[Message],
    tools: Sequence[FunctionContract],
    options: ModelOptions | None,
    *,
    strict: bool = False,
    reasoning: bool = False,
) -> dict[str, Any]:
    """Return the arguments of ``chat.completions.create`` for a streamed reply, except the model.

    Args:
        messages: The conversation.
        tools: Tools that the model may call.
        options: Options of the request.
        strict: If true, the provider enforces the schemas.
        reasoning: If true, send reasoning back.

    Raises:
        MessageError: A message cannot be expressed in this API.
        ValueError: The options name an unknown tool, or `extra` sets a reserved field.
    """
    request: dict[str, Any] = {
        "messages": to_openai(messages, reasoning=reasoning),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if tools:
        request["tools"] = [_definition(contract, strict=strict) for contract in tools]
    if options is None:
        return request
    for name in ("temperature", "top_p", "max_tokens", "seed"):
        value = getattr(options, name)
        if value is not None:
            request[name] = value
    if options.stop:
        request["stop"] = list(options.stop)
    if options.response_schema is not None:
        schema = {"name": "reply", "schema": dict(options.response_schema), "strict": strict}
        request["response_format"] = {"type": "json_schema", "json_schema": schema}
    choice = checked_tool_choice(options, tools)
    if choice in ("auto", "none", "required"):
        request["tool_choice"] = choice
    elif choice is not None:
        request["tool_choice"] = {"type": "function", "function": {"name": choice}}
    request.update(checked_extra(options.extra))
    return request


def _definition(contract: FunctionContract, *, strict: bool) -> dict[str, Any]:
    definition = contract.to_openai()
    if strict:
        definition["function"]["strict"] = True
    return definition


class ChunkReader:
    """Converter from the chunks of one reply to updates.

    Only the first of several choices is read. Call `finish` after the last chunk.

    Args:
        model: Name of the model, for the log.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._usage: UsageUpdate | None = None
        self._reason: str | None = None

    @property
    def finished(self) -> bool:
        """True if the server has sent a finish reason."""
        return self._reason is not None

    def push(self, chunk: object) -> Iterator[Update]:
        """Yield the updates of one chunk; none if it only keeps the connection alive."""
        choices = field(chunk, "choices")
        if isinstance(choices, Sequence):
            for choice in cast("Sequence[object]", choices):
                if not field(choice, "index"):  # optional on some servers if there is one choice
                    yield from self._choice(choice)
        usage = _usage(field(chunk, "usage"))
        if usage is not None and usage != self._usage:
            self._usage = usage
            yield usage

    def finish(self) -> FinishUpdate:
        """Return the end of the reply: ``missing`` if its reason is absent or unknown."""
        # Some servers send `stop` even after calls.
        reason = "tool_calls" if self._reason == "stop" and self._calls else self._reason
        return finish_update(reason, _FINISH, self._model)

    def _choice(self, choice: object) -> Iterator[Update]:
        delta = field(choice, "delta")
        # Servers that send both of these send the same in both.
        for name in ("reasoning_content", "reasoning"):
            if (thought := text(field(delta, name))) is not None:
                yield ReasoningDelta(thought)
                break
        for name in ("content", "refusal"):
            yield from _content(field(delta, name))
        fragments = field(delta, "tool_calls")
        if isinstance(fragments, Sequence):
            for fragment in cast("Sequence[object]", fragments):
                update = self._fragment(fragment)
                if update is not None:
                    yield update
        self._reason = text(field(choice, "finish_reason")) or self._reason

    def _fragment(self, fragment: object) -> ToolCallUpdate | None:
        function = field(fragment, "function")
        identity = text(field(fragment, "id"))
        name = text(field(function, "name"))
        index = field(fragment, "index")
        index = index if isinstance(index, int) else None
        arguments = field(function, "arguments")
        if isinstance(arguments, Mapping):  # an object instead of JSON text
            arguments = json.dumps(arguments, ensure_ascii=False)
        arguments = text(arguments)
        if identity is None and index is None and name is None and arguments is None:
            return None
        call = self._find(identity, index, name)
        if call is None:
            call = self._start_call(identity, index)
        elif call.id is None and identity is not None:
            call.id = identity
            call.reported = False
            self._by_id[identity] = call
        if name == call.name:  # some servers repeat the name in each fragment
            name = None
        if name is None and arguments is None and call.reported:
            return None
        call.name += name or ""
        call.has_arguments = call.has_arguments or arguments is not None
        call.reported = True
        return ToolCallUpdate(call.id, call.number, name, arguments)

    def _find(self, identity: str | None, index: int | None, name: str | None) -> _Call | None:
        """Return the call that a fragment belongs to, or None if it starts a call."""
        by_index = None if index is None else self._by_index.get(index)
        if identity is not None and identity in self._by_id:
            known = self._by_id[identity]
            # Ids may repeat, but not at the same index.
            starts_call = name is not None and index is not None and index != known.index
            return by_index if starts_call else known
        if by_index is not None:
            # An index can be reused for another call: with a different id and a name, or,
            # without ids, with a different name after arguments have started.
            other_id = identity is not None and by_index.id is not None
            other_name = name is not None and name != by_index.name and by_index.has_arguments
            starts_call = (name is not None) if other_id else other_name
            return None if starts_call else by_index
        if index is None and name is None and self._calls:
            return self._calls[-1]
        return None

    def _start_call(self, identity: str | None, index: int | None) -> _Call:
        number = len(self._calls)
        if identity is not None and identity in self._by_id:
            identity = f"{identity}#{number + 1}"
        call = _Call(number, identity, index)
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        if identity is not None:
            self._by_id[identity] = call
        return call


class _Call:
    def __init__(self, number: int, identity: str | None, index: int | None) -> None:
        self.number = number
        self.id = identity
        self.index = index
        self.name = ""
        # True if all that is known of the call, or any of its arguments, has been yielded.
        self.reported = False
        self.has_arguments = False


def _content(content: object) -> Iterator[Update]:
    """Yield the text, or the texts and reasoning of the list of parts that some servers send."""
    if isinstance(content, str):
        if content:
            yield TextDelta(content)
    elif isinstance(content, Sequence):
        for part in cast("Sequence[object]", content):
            if (content_text := text(field(part, "text"))) is not None:
                yield TextDelta(content_text)
            thoughts = field(part, "thinking")
            if isinstance(thoughts, Sequence):
                for thought in cast("Sequence[object]", thoughts):
                    if (reasoning := text(field(thought, "text"))) is not None:
                        yield ReasoningDelta(reasoning)


def _usage(usage: object) -> UsageUpdate | None:
    if usage is None:
        return None
    details = field(usage, "prompt_tokens_details")
    cached = count(field(details, "cached_tokens")) or count(
        field(usage, "prompt_cache_hit_tokens")
    )
    counts = (
        count(field(usage, "prompt_tokens")),
        count(field(usage, "completion_tokens")),
        cached,
    )
    return UsageUpdate(*counts) if any(counts) else None
