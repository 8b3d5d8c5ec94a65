"""Models of any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ..._aio.loops import running_loop
from ..._checks import (
    check_choice,
    check_flag,
    check_mapping,
    check_number,
    check_text,
    check_type,
)
from ..._core import FinishUpdate, HttpClient, HttpLargeEvents, __version__
from .._errors import provider_for_url, server_label
from .._requests import SCHEMA_FIELD, check_tools, checked_extra, serialize_request
from .._streaming import ClosedAtExit, warn_if_missing
from ._endpoint import HttpEndpoint, chat_url, check_options, encode_json
from ._wakeup import open_wakeup

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from ..._core import FunctionContract, Parser, UsageUpdate
    from ..._messages import Message, Update
    from ..._streams import Event
    from ...protocols import ModelOptions

_MAX_EVENTS = 64
"""Maximum number of events that are taken at once."""


@dataclass(frozen=True)
class HttpLimits:
    """Limits on the size of responses, in bytes. All of them must be positive.

    Raises:
        ValueError: A limit is not a positive integer.
    """

    max_header_bytes: int = 64 << 10
    """Maximum size of the status line and headers."""
    max_line_bytes: int = 4 << 20
    """Maximum size of one line of a stream, which holds one chunk."""
    max_body_bytes: int = 256 << 20
    """Maximum size of a body."""
    max_queued_bytes: int = 256 << 10
    """Maximum size of unread data. Above it, reading from the socket pauses."""

    def __post_init__(self) -> None:
        for name in fields(self):
            value: object = getattr(self, name.name)
            if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
                raise ValueError(f"{name.name} must be a positive number of bytes, got {value!r}")


class HttpModel(ClosedAtExit):
    """A model of OpenAI's API, Azure's, or a compatible one.

    Requests are sent by Rust code; see the package. Transient failures (failed connections, and
    statuses such as 429 or 503) are retried until the first byte of the reply. If a server rejects
    ``stream_options``, ``stop`` or ``max_tokens`` (newer models of OpenAI require
    ``max_completion_tokens``), the request is repeated without the parameter. This is logged, and
    later requests omit the parameter from the start.

    Args:
        base_url: URL of the API, such as ``https://api.openai.com/v1``; for Azure, of the
            resource.
        model: Name of the model; for Azure, of the deployment.
        api_key: The API key, or a function that returns it for each request.
        api_version: Version of Azure's API, such as ``2024-10-21``. If given, the URL and the key
            header have Azure's form.
        headers: Further headers of every request.
        extra: Further fields of the body of every request.
        streaming: If true, replies are streamed; otherwise each arrives as one document.
        name: Name of the model in traces; defaults to `model`.
        provider: Provider of the model. Defaults to ``openai``, ``azure.ai.openai``, or the host
            of any other server.
        native_tools: True if the model makes native calls.
        strict: If true, the provider enforces the schemas of tools and replies; it then supports
            only a subset of JSON Schema.
        send_reasoning: If true, earlier reasoning is sent back as ``reasoning_content``.
        max_retries: Maximum number of retries of a request.
        connect_timeout: Timeout for opening a connection, in seconds.
        first_byte_timeout: Timeout for the first byte of a reply, in seconds.
        idle_timeout: Timeout between two reads within a reply, in seconds. It is suspended while
            the queue of unread data is full.
        timeout: Timeout of the whole request, in seconds, including retries and pauses of the
            reader.
        proxy: URL of a proxy; None for no proxy. Defaults to the proxy of the environment.
        roots: Root certificates to trust in addition to those of the system: the path of a PEM
            file, or its content as bytes.
        http_version: Version of HTTP; negotiated with the server by default.
        follow_redirects: If true, redirects on the same host are followed.
        limits: Limits on the size of responses.

    Raises:
        OSError: The file of `roots` cannot be read.
        TypeError: An option has the wrong type.
        ValueError: An option has an invalid value, or the API key is invalid.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | Callable[[], str] | None = None,
        *,
        api_version: str | None = None,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
        streaming: bool = True,
        name: str | None = None,
        provider: str | None = None,
        native_tools: bool = True,
        strict: bool = False,
        send_reasoning: bool = False,
        max_retries: int = 2,
        connect_timeout: float = 10.0,
        first_byte_timeout: float = 120.0,
        idle_timeout: float = 60.0,
        timeout: float | None = None,
        proxy: str | None = "environment",
        roots: str | bytes | Path | None = None,
        http_version: Literal["auto", "1.1", "2"] = "auto",
        follow_redirects: bool = False,
        limits: HttpLimits = HttpLimits(),
    ) -> None:
        check_options(base_url=base_url, model=model, max_retries=max_retries)
        check_mapping("headers", headers, none=True)
        HttpClient.check("http://localhost", dict(headers or {}))
        check_mapping("extra", extra, none=True)
        flags = {"streaming": streaming, "native_tools": native_tools, "strict": strict}
        flags |= {"send_reasoning": send_reasoning, "follow_redirects": follow_redirects}
        for option, flag in flags.items():
            check_flag(option, flag)
        for option, text in {"name": name, "provider": provider, "proxy": proxy}.items():
            check_text(option, text, none=True)
        waits = {"connect_timeout": connect_timeout, "first_byte_timeout": first_byte_timeout}
        for option, seconds in (waits | {"idle_timeout": idle_timeout}).items():
            check_number(option, seconds, above=0)
        check_number("timeout", timeout, above=0, none=True)
        check_choice("http_version", http_version, ("auto", "1.1", "2"))
        check_type("roots", roots, (str, bytes, Path), "a path or certificates", none=True)
        check_type("limits", limits, HttpLimits, "an HttpLimits")
        if api_version is not None:
            check_options(api_version=api_version)
        azure = api_version is not None
        url = chat_url(base_url, model, api_version)
        fixed = {"content-type": "application/json", "user-agent": f"toolweave/{__version__}"}
        fixed["accept"] = "text/event-stream" if streaming else "application/json"
        self.name: str = model if name is None else name
        """Name of the model in traces."""
        self.provider: str = provider or (
            "azure.ai.openai" if azure else provider_for_url(base_url)
        )
        """Provider of the model."""
        self.native_tools = native_tools
        """True if the model makes native calls."""
        self.structured_output = True
        """True unless the server has rejected the schema of a reply; others are sent with one."""
        self.endpoint = HttpEndpoint(
            client=HttpClient(
                server_label(url),
                connect_timeout=connect_timeout,
                first_byte_timeout=first_byte_timeout,
                idle_timeout=idle_timeout,
                timeout=timeout,
                max_retries=max_retries,
                proxy=proxy,
                roots=Path(roots).read_bytes() if isinstance(roots, (str, Path)) else roots,
                http_version=http_version,
                follow_redirects=follow_redirects,
                **asdict(limits),
            ),
            url=url,
            fixed_headers=fixed | {name.lower(): text for name, text in (headers or {}).items()},
            api_key=api_key,
            key_header="api-key" if azure else "authorization",
            model=model,
            name=self.name,
            provider=self.provider,
            extra=dict(checked_extra(extra or {})),
            streaming=streaming,
            strict=strict,
            send_reasoning=send_reasoning,
        )
        """URL, model and settings of the requests."""
        encode_json(self.endpoint.extra)
        if not callable(api_key):
            self.endpoint.key()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint.model!r}, provider={self.provider!r})"

    async def aclose(self) -> None:
        """Release the connections; a later request opens new ones.

        All models of a process with equal settings share their connections, which are closed with
        the last of these models. A connection in use is closed at the end of its reply.
        """
        self.endpoint.client.close()

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncGenerator[Update, None]:
        """Stream the reply. Unread deltas are joined.

        Raises:
            MessageError: A message cannot be expressed in this API.
            ModelError: The request failed, or the reply was interrupted. What arrived before has
                been yielded.
            ValueError: Tools were given to a model without native calls, or the options name an
                unknown tool.
        """
        return cast("AsyncGenerator[Update, None]", self._read(messages, tools, options))

    def events(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
        parser: Parser,
        inline: bool = True,
        recovered: bool = False,
        deltas: bool = True,
        call_ids: Callable[[int], str] | None = None,
    ) -> AsyncGenerator[Event | UsageUpdate | FinishUpdate, None]:
        """Stream the reply as `stream` does, with its calls parsed, validated and repaired.

        Args:
            messages: The conversation.
            tools: Tools that the model may call natively.
            options: Options of the request.
            parser: Parser with the tools and options to use. Its own state does not change.
            inline: If true, calls in the text are parsed.
            recovered: If true, calls in the text are recovered ones, which the server was expected
                to recognize.
            deltas: If true, the arguments of native calls are emitted while they arrive.
            call_ids: Function that returns the id of the call at a position. Ids of the provider
                are kept.

        Yields:
            The events of the reply, `UsageUpdate`, and exactly one `FinishUpdate`, last.

        Raises:
            MessageError: A message cannot be expressed in this API.
            ModelError: The request failed, or the reply was interrupted. What arrived before has
                been yielded, and no unfinished call has been completed.
            ValueError: Tools were given to a model without native calls, or the options name an
                unknown tool.
        """
        return cast(
            "AsyncGenerator[Event | UsageUpdate | FinishUpdate, None]",
            self._read(
                messages,
                tools,
                options,
                parser=parser,
                inline=inline,
                recovered=recovered,
                deltas=deltas,
                call_ids=call_ids,
            ),
        )

    async def _read(
        self,
        messages: Sequence[Message],
        tools: Sequence[FunctionContract],
        options: ModelOptions | None,
        **read_options: Any,
    ) -> AsyncGenerator[Event | Update, None]:
        check_tools(self, tools, native=self.native_tools)
        endpoint = self.endpoint
        omitted: frozenset[str] = frozenset()

        def serialize() -> tuple[dict[str, Any], bytes]:
            fields = endpoint.request(messages, tools, options)
            return fields, endpoint.body(fields)

        request, body = await serialize_request(serialize, messages, tools)
        last: Event | Update | None = None
        wakeup, loop = open_wakeup(), running_loop()
        try:
            while True:
                key = endpoint.key()
                reply = endpoint.client.send(
                    endpoint.url,
                    endpoint.headers(key),
                    body,
                    wakeup=wakeup.inner,
                    **read_options,
                )
                try:
                    while (events := reply.take(_MAX_EVENTS)) is not None:
                        if isinstance(events, HttpLargeEvents):
                            events = await asyncio.to_thread(events.read)
                        for event in events:
                            yield event
                        if events:
                            last = events[-1]
                        else:
                            await wakeup.next(reply, loop)
                finally:
                    wakeup.discard(reply.key)
                    reply.close()
                failure = reply.failure
                if failure is None:
                    break
                name = None
                if last is None:
                    name = endpoint.rejected_parameter(failure, request, omitted)
                if name is None:
                    raise endpoint.error(failure)
                omitted |= {name}
                body = await serialize_request(
                    partial(endpoint.body, request, omitted), messages, tools
                )
            endpoint.remember_unsupported(omitted)
            self.structured_output = self.structured_output and SCHEMA_FIELD not in omitted
            if isinstance(last, FinishUpdate):
                warn_if_missing(last.reason, self.name, reply.unknown_reason)
        finally:
            wakeup.close()
