"""OpenAI's chat completions: what is asked, and how the chunks of an answer are read.

For every client that speaks them; the chunks may be objects or dicts. What servers get wrong is put
right here, as far as it can be known: ids or indexes that are missing or repeat, names that come
with every fragment, reasoning under either name.
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
from .clients import checked_extra, checked_tool_choice
from .streaming import count, field, finish, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .. import FinishUpdate, FunctionContract, Message, Update
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


def request(
    messages: Sequence[Message],
    tools: Sequence[FunctionContract],
    options: ModelOptions | None,
    *,
    strict: bool = False,
    reasoning: bool = False,
) -> dict[str, Any]:
    """The arguments of ``chat.completions.create`` for a streamed reply, all but the model.

    Args:
        messages: The conversation.
        tools: What the model may call.
        options: What the request asks for beyond that.
        strict: Whether the provider is to enforce the schemas.
        reasoning: Whether to send reasoning back.

    Raises:
        MessageError: A message cannot be said to such a model.
        ValueError: The options name a tool that is not there, or set what is not theirs to set.
    """
    asked: dict[str, Any] = {
        "messages": to_openai(messages, reasoning=reasoning),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if tools:
        asked["tools"] = [_definition(contract, strict=strict) for contract in tools]
    if options is None:
        return asked
    for name in ("temperature", "top_p", "max_tokens", "seed"):
        value = getattr(options, name)
        if value is not None:
            asked[name] = value
    if options.stop:
        asked["stop"] = list(options.stop)
    if options.response_schema is not None:
        schema = {"name": "reply", "schema": dict(options.response_schema), "strict": strict}
        asked["response_format"] = {"type": "json_schema", "json_schema": schema}
    choice = checked_tool_choice(options, tools)
    if choice in ("auto", "none", "required"):
        asked["tool_choice"] = choice
    elif choice is not None:
        asked["tool_choice"] = {"type": "function", "function": {"name": choice}}
    asked.update(checked_extra(options.extra))
    return asked


def _definition(contract: FunctionContract, *, strict: bool) -> dict[str, Any]:
    definition = contract.to_openai()
    if strict:
        definition["function"]["strict"] = True
    return definition


class ChunkReader:
    """Turns the chunks of one reply into updates.

    Only the first of several choices is read. After the last chunk comes `finish`.

    Args:
        model: Whose reply it is, for the log.
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
        """Whether the server has said why the reply ended."""
        return self._reason is not None

    def push(self, chunk: object) -> Iterator[Update]:
        """What one chunk says: nothing at all if it only keeps the connection alive."""
        choices = field(chunk, "choices")
        if isinstance(choices, Sequence):
            for choice in cast("Sequence[object]", choices):
                if not field(choice, "index"):  # some leave it out where there is one choice
                    yield from self._choice(choice)
        usage = _usage(field(chunk, "usage"))
        if usage is not None and usage != self._usage:
            self._usage = usage
            yield usage

    def finish(self) -> FinishUpdate:
        """Why the reply ended: ``missing`` if the server did not say, or nothing we know."""
        # Some say `stop` even after calls.
        said = "tool_calls" if self._reason == "stop" and self._calls else self._reason
        return finish(said, _FINISH, self._model)

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
        if isinstance(arguments, Mapping):  # an object where its text should be
            arguments = json.dumps(arguments, ensure_ascii=False)
        arguments = text(arguments)
        if identity is None and index is None and name is None and arguments is None:
            return None
        call = self._find(identity, index, name)
        if call is None:
            call = self._begin(identity, index)
        elif call.id is None and identity is not None:
            call.id = identity
            call.told = False
            self._by_id[identity] = call
        if name == call.name:  # some repeat it with each fragment
            name = None
        if name is None and arguments is None and call.told:
            return None
        call.name += name or ""
        call.written = call.written or arguments is not None
        call.told = True
        return ToolCallUpdate(call.id, call.number, name, arguments)

    def _find(self, identity: str | None, index: int | None, name: str | None) -> _Call | None:
        """The call that a fragment belongs to, or nothing if it begins one."""
        by_index = None if index is None else self._by_index.get(index)
        if identity is not None and identity in self._by_id:
            known = self._by_id[identity]
            # Ids may repeat, but not at one index.
            begins = name is not None and index is not None and index != known.index
            return by_index if begins else known
        if by_index is not None:
            # An index that is used again, for a call of its own: with an id of its own and a
            # name, or, without ids, with another name after arguments have begun.
            other_id = identity is not None and by_index.id is not None
            other_name = name is not None and name != by_index.name and by_index.written
            begins = (name is not None) if other_id else other_name
            return None if begins else by_index
        if index is None and name is None and self._calls:
            return self._calls[-1]
        return None

    def _begin(self, identity: str | None, index: int | None) -> _Call:
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
        # Whether what is known of it, and whether any of its arguments, has been handed on.
        self.told = False
        self.written = False


def _content(content: object) -> Iterator[Update]:
    """Text, or the texts and thoughts of a list of parts, which some servers send."""
    if isinstance(content, str):
        if content:
            yield TextDelta(content)
    elif isinstance(content, Sequence):
        for part in cast("Sequence[object]", content):
            if (said := text(field(part, "text"))) is not None:
                yield TextDelta(said)
            thoughts = field(part, "thinking")
            if isinstance(thoughts, Sequence):
                for thought in cast("Sequence[object]", thoughts):
                    if (said := text(field(thought, "text"))) is not None:
                        yield ReasoningDelta(said)


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
