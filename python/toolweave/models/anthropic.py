"""Models of Anthropic's API.

    from toolweave.models import complete
    from toolweave.models.anthropic import AnthropicModel

    model = AnthropicModel("claude-sonnet-4-5")
    reply = await complete(model, "Hello!")

Needs the extra `anthropic`. Requests go through the client of that name, which also reads the
environment (``ANTHROPIC_API_KEY``, ``ANTHROPIC_BASE_URL``) and retries until the first byte.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from .._checks import check_count, check_methods
from .._core import (
    FinishUpdate,
    ReasoningDelta,
    TextDelta,
    ToolCallUpdate,
    UsageUpdate,
    to_anthropic,
)
from .._extras import require
from ._clients import ClientModel, ClientOptions, Stream, checked_key, client_settings, items
from ._errors import failure
from ._requests import checked_extra, checked_tool_choice
from ._streaming import field, read_reply, text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from anthropic import AsyncAnthropic
    from typing_extensions import Unpack

    from .._core import FunctionContract
    from .._messages import Message, Update
    from ..exceptions import ModelError
    from ..protocols import ModelOptions

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}

_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""HTTP statuses of error types, for errors within a stream whose response was 200."""

__all__ = ["AnthropicModel"]


class AnthropicModel(ClientModel["AsyncAnthropic"]):
    """A model of Anthropic, or of a server with a compatible API.

    Signatures of thinking blocks are not kept, so thinking cannot be sent back. With thinking
    enabled (by `extra`), the API may require those blocks in a history with native calls; inline
    calls need none. The API has no `seed`, so that option is omitted.

    Args:
        model: Name of the model.
        client: Client to use, such as one for Bedrock or Vertex. It is not closed with this
            object.
        base_url: URL of the API, without ``/v1``.
        api_key: The API key. If not given, the client reads the environment; with `base_url`, no
            key is required.
        max_tokens: Maximum length of a reply, in tokens, unless the options of a request set one.
            The API requires a limit.
        timeout: Maximum seconds between two reads.
        max_retries: Maximum number of retries by the client before the reply begins.
        name: Name of the model in traces; defaults to `model`.
        provider: Provider of the model.
        native_tools: True if the model makes native calls.
        strict: If true, the API enforces the schemas of tools; it then supports only a subset of
            JSON Schema.
        extra: Further arguments of ``messages.create``, for every request.

    Raises:
        ImportError: The extra is not installed.
        ValueError: Options contradict each other, or the API key is invalid.
    """

    def __init__(
        self,
        model: str,
        *,
        client: AsyncAnthropic | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        max_tokens: int = 4096,
        provider: str = "anthropic",
        **options: Unpack[ClientOptions],
    ) -> None:
        super().__init__(model, base_url=base_url, provider=provider, **options)
        check_count("max_tokens", max_tokens, 1)
        check_methods("client", client, "an AsyncAnthropic", "copy", none=True)
        api_key = checked_key(api_key)
        anthropic = require("anthropic", "anthropic")
        settings = client_settings(client, base_url=base_url, api_key=api_key, **self._limits)

        def make() -> AsyncAnthropic:
            created = cast("AsyncAnthropic", anthropic.AsyncAnthropic(**settings))
            # Self-hosted servers need no key, but the client requires one.
            if base_url is not None and created.api_key is None and created.auth_token is None:
                created.api_key = "none"
            return created

        self._use_client(make, client)
        self._max_tokens = max_tokens

    def _reply(self, request: dict[str, Any]) -> AsyncIterator[Update]:
        client = self._client()

        async def open_stream() -> Stream:
            return cast("Stream", await cast("Any", client.messages.create)(**request))

        def to_model_error(error: Exception) -> ModelError:
            secrets = (client.api_key, client.auth_token)
            return failure(error, self.provider, secrets, statuses=_STATUSES)

        events = items(open_stream, self.provider)
        return read_reply(events, EventReader(), self.name, to_model_error)

    def _request(
        self,
        messages: Sequence[Message],
        tools: Sequence[FunctionContract],
        options: ModelOptions | None,
    ) -> dict[str, Any]:
        system, converted = to_anthropic(messages)
        request: dict[str, Any] = {
            "model": self._model,
            "max_tokens": self._max_tokens,
            **self._extra,
        }
        request |= {"messages": converted, "stream": True}
        if system is not None:
            request["system"] = system
        if tools:
            request["tools"] = [_definition(contract, strict=self._strict) for contract in tools]
        if options is None:
            return request
        if options.max_tokens is not None:
            request["max_tokens"] = options.max_tokens
        if options.stop:
            request["stop_sequences"] = list(options.stop)
        choice = checked_tool_choice(options, tools)
        if choice is not None:
            kinds = {"auto": "auto", "none": "none", "required": "any"}
            kind = kinds.get(choice)
            request["tool_choice"] = {"type": kind} if kind else {"type": "tool", "name": choice}
        request.update(checked_extra(options.extra))
        # In the body, since some versions of the client have no arguments for these.
        body: dict[str, Any] = {}
        if options.temperature is not None:
            body["temperature"] = options.temperature
        if options.top_p is not None:
            body["top_p"] = options.top_p
        if options.response_schema is not None:
            output_format = {"type": "json_schema", "schema": dict(options.response_schema)}
            body["output_config"] = {"format": output_format}
        if body:
            request["extra_body"] = {**body, **(request.get("extra_body") or {})}
        return request


def _definition(contract: FunctionContract, *, strict: bool) -> dict[str, Any]:
    definition: dict[str, Any] = {
        "name": contract.name,
        "input_schema": contract.parameters or {"type": "object"},
    }
    if contract.description is not None:
        definition["description"] = contract.description
    if strict:
        definition["strict"] = True
    return definition


class EventReader:
    """Converter from the events of one reply to updates."""

    def __init__(self) -> None:
        # Number and id of each call, by the index of its block.
        self._calls: dict[int, tuple[int, str | None]] = {}
        self._usage = UsageUpdate()
        self.reason: str | None = None
        """Stop reason that the server has sent."""

    def push(self, item: object) -> Iterator[Update]:
        """Yield the updates of one event."""
        kind, index = field(item, "type"), _count(field(item, "index"))
        if kind == "message_start":
            yield from self._update_usage(field(field(item, "message"), "usage"))
        elif kind == "content_block_start":
            block = field(item, "content_block")
            yield from _texts(block)
            if field(block, "type") == "tool_use":
                call = self._calls[index] = len(self._calls), text(field(block, "id"))
                # Complete if the server does not stream it; an empty object otherwise.
                complete = field(block, "input")
                arguments = json.dumps(complete, ensure_ascii=False) if complete else None
                yield ToolCallUpdate(call[1], call[0], text(field(block, "name")), arguments)
        elif kind == "content_block_delta":
            delta = field(item, "delta")
            yield from _texts(delta)
            arguments = text(field(delta, "partial_json"))
            # The provider's built-in tools stream their arguments as well.
            if arguments is not None and index in self._calls:
                number, call_id = self._calls[index]
                yield ToolCallUpdate(call_id, number, None, arguments)
        elif kind == "message_delta":
            self.reason = text(field(field(item, "delta"), "stop_reason")) or self.reason
            yield from self._update_usage(field(item, "usage"))

    def finish(self) -> FinishUpdate:
        """Return the end of the reply: ``missing`` if its reason is absent or unknown."""
        return FinishUpdate(_FINISH.get((self.reason or "").lower(), "missing"))

    def _update_usage(self, usage: object) -> Iterator[Update]:
        """Yield the totals so far. The API counts cached tokens separately."""
        cached = _count(field(usage, "cache_read_input_tokens"))
        written = _count(field(usage, "cache_creation_input_tokens"))
        prompt = _count(field(usage, "input_tokens")) + cached + written
        known = self._usage
        self._usage = UsageUpdate(
            max(prompt, known.input_tokens),
            max(_count(field(usage, "output_tokens")), known.output_tokens),
            max(cached, known.cached_input_tokens),
        )
        if self._usage != known:
            yield self._usage


def _texts(block: object) -> Iterator[Update]:
    if (content := text(field(block, "text"))) is not None:
        yield TextDelta(content)
    if (thought := text(field(block, "thinking"))) is not None:
        yield ReasoningDelta(thought)


def _count(value: object) -> int:
    """Return `value` if it is a positive integer, otherwise 0."""
    return value if isinstance(value, int) and value > 0 else 0
