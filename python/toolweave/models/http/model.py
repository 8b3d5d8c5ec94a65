"""Models behind any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from ..._checks import (
    check_choice,
    check_flag,
    check_mapping,
    check_number,
    check_text,
    check_type,
)
from ..._core import FinishUpdate, HttpClient, HttpLargeEvents, __version__
from ..._loops import running_loop
from ..clients import checked_extra
from ..serialization import serialize_request
from ..servers import provider_for_url, server_label
from .checks import check_headers, check_options
from .endpoint import Endpoint, chat_url, encoded
from .limits import HttpLimits
from .wakeup import open_wakeup

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from ... import Event, FunctionContract, Message, Parser, Update, UsageUpdate
    from ...protocols import ModelOptions

_MAX_BATCH = 64
"""How many events are taken before the next look."""


class _ReadOptions(TypedDict, total=False):
    """How a reply is read, where calls are read in it."""

    parser: Parser
    inline: bool
    deltas: bool
    call_ids: Callable[[int], str] | None


class HttpModel:
    """A model behind OpenAI's API, Azure's, or one that speaks as they do.

    Requests are made in Rust; see the package. A request is tried again, where nothing of its reply
    has come yet, after what may pass by itself: connections that fail, and statuses such as 429 or
    503. A server that refuses ``stream_options``, ``stop`` or ``max_tokens`` (which newer models of
    OpenAI's know as ``max_completion_tokens``) is asked again without it; the log says so, and the
    object remembers it.

    Args:
        base_url: Where the API is, such as ``https://api.openai.com/v1``; for Azure, the resource.
        model: The name of the model there; for Azure, of the deployment.
        api_key: The key, or a function that gives one for each request.
        api_version: The version of Azure's API, such as ``2024-10-21``. Where it is given, URL and
            key take the form that Azure wants.
        headers: More headers, for every request.
        extra: More fields for the body of every request.
        streaming: Whether replies are to be streamed. If not, each comes in one piece, in the end.
        name: What traces call the model; `model` if not given.
        provider: Whose model it is. If not given, ``openai``, ``azure.ai.openai``, or the host of
            any other server.
        native_tools: Whether it makes native calls.
        strict: Whether the provider is to enforce the schemas of tools and replies; it takes only
            some schemas then.
        send_reasoning: Whether earlier reasoning is sent back, as ``reasoning_content``.
        max_retries: How often a request may be sent again.
        connect_timeout: Seconds that making a connection may take.
        first_byte_timeout: Seconds until a reply must begin.
        idle_timeout: Seconds that the server may be silent within a reply. They do not run while
            as much waits to be read as may wait.
        timeout: Seconds that a request may take in all, retries and pauses of the reader included.
        proxy: The URL of a proxy; None for none. What the environment says if not given.
        roots: Certificates to trust besides those of the system: a file of them, or its bytes, as
            PEM.
        http_version: The version of HTTP; what the server speaks if not given.
        follow_redirects: Whether redirects are followed, on the same host.
        limits: How large an answer may be.

    Raises:
        OSError: The file of `roots` cannot be read.
        TypeError: An option is of the wrong type.
        ValueError: An option is none of its kind, or the key cannot be one.
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
        limits: HttpLimits = HttpLimits(),  # noqa: B008 - frozen
    ) -> None:
        check_options(base_url=base_url, model=model, max_retries=max_retries)
        check_mapping("headers", headers, none=True)
        check_headers(headers or {})
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
        """What traces call the model."""
        self.provider: str = provider or (
            "azure.ai.openai" if azure else provider_for_url(base_url)
        )
        """Whose model it is."""
        self.native_tools = native_tools
        """Whether it makes native calls."""
        self.endpoint = Endpoint(
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
                max_header_bytes=limits.max_header_bytes,
                max_line_bytes=limits.max_line_bytes,
                max_body_bytes=limits.max_body_bytes,
                max_queued_bytes=limits.max_queued_bytes,
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
        """What is asked, and of whom."""
        encoded(self.endpoint.extra)
        if not callable(api_key):
            self.endpoint.key()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint.model!r}, provider={self.provider!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Lets go of the connections; a model that is asked again makes new ones.

        All models of a process with the same settings share theirs. They are closed with the last
        of these models, but those that a reply comes by with the reply.
        """
        self.endpoint.client.close()

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncGenerator[Update, None]:
        """Answers, piece by piece. Pieces that wait for their reader are joined.

        Raises:
            MessageError: A message cannot be said to such a model.
            ModelError: The model could not be asked, or broke off. What had come before has been
                yielded.
            ValueError: Tools were given to a model without native calls, or the options name a
                tool that is not there.
        """
        return cast("AsyncGenerator[Update, None]", self._read(messages, tools, options, {}))

    def events(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
        parser: Parser,
        inline: bool = True,
        deltas: bool = True,
        call_ids: Callable[[int], str] | None = None,
    ) -> AsyncGenerator[Event | UsageUpdate | FinishUpdate, None]:
        """Answers as `stream` does, with the calls of the reply read, validated and mended.

        Args:
            messages: The conversation.
            tools: What the model may call natively.
            options: What the request asks for beyond that.
            parser: Knows the tools whose calls are read, and how. It is not fed.
            inline: Whether calls are looked for in the text.
            deltas: Whether the arguments of native calls are told while they arrive.
            call_ids: Gives the id of the call at a position; ids that the provider gave stay.

        Yields:
            The events of the reply, `UsageUpdate`, and exactly one `FinishUpdate`, last.

        Raises:
            MessageError: A message cannot be said to such a model.
            ModelError: The model could not be asked, or broke off. What had come before has been
                yielded, and no call that was open has been completed.
            ValueError: Tools were given to a model without native calls, or the options name a
                tool that is not there.
        """
        read_options: _ReadOptions = {
            "parser": parser,
            "inline": inline,
            "deltas": deltas,
            "call_ids": call_ids,
        }
        return cast(
            "AsyncGenerator[Event | UsageUpdate | FinishUpdate, None]",
            self._read(messages, tools, options, read_options),
        )

    async def _read(
        self,
        messages: Sequence[Message],
        tools: Sequence[FunctionContract],
        options: ModelOptions | None,
        read_options: _ReadOptions,
    ) -> AsyncGenerator[Event | Update, None]:
        if tools and not self.native_tools:
            raise ValueError(f"{self!r} makes no native calls, so it takes no tools")
        endpoint = self.endpoint
        refused: frozenset[str] = frozenset()

        def write() -> tuple[dict[str, Any], bytes]:
            asked = endpoint.asked(messages, tools, options)
            return asked, endpoint.body(asked)

        asked, body = await serialize_request(write, messages, tools)
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
                    while (events := reply.take(_MAX_BATCH)) is not None:
                        if isinstance(events, HttpLargeEvents):
                            events = await asyncio.to_thread(events.read)
                        for event in events:
                            yield event
                        if events:
                            last = events[-1]
                        else:
                            await wakeup.next(reply, loop)
                finally:
                    wakeup.forget(reply.key)
                    reply.close()
                failure = reply.failure
                if failure is None:
                    break
                name = endpoint.refusal(failure, asked, refused) if last is None else None
                if name is None:
                    raise endpoint.error(failure)
                refused |= {name}
                body = await serialize_request(
                    partial(endpoint.body, asked, refused), messages, tools
                )
            endpoint.remember(refused)
            if isinstance(last, FinishUpdate):
                endpoint.check(last.reason)
        finally:
            wakeup.close()
