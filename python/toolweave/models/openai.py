"""Models of OpenAI's API, and of compatible ones: vLLM, Ollama, llama.cpp, Groq, Azure, ...

    from toolweave.models import complete
    from toolweave.models.openai import OpenAIModel

    model = OpenAIModel("qwen3", base_url="http://127.0.0.1:8080/v1")
    reply = await complete(model, "Hello!")

Needs the extra `openai`. Requests go through the client of that name, which also reads the
environment (``OPENAI_API_KEY``, ``OPENAI_BASE_URL``) and retries until the first byte.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from .._checks import check_flag, check_methods, check_text
from .._core import ChunkReader
from .._extras import require
from ._clients import ClientModel, ClientOptions, Stream, checked_key, client_settings, items
from ._errors import failure, provider_for_url
from ._requests import (
    SCHEMA_FIELD,
    build_request,
    log_unsupported,
    unsupported_parameter,
    without_parameters,
)
from ._streaming import read_reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from openai import AsyncOpenAI
    from typing_extensions import Unpack

    from .._core import FunctionContract
    from .._messages import Message, Update
    from ..exceptions import ModelError
    from ..protocols import ModelOptions

_NO_KEY = "none"
"""Placeholder for a missing key: self-hosted servers need none, but the client requires one."""

__all__ = ["OpenAIModel"]


class OpenAIModel(ClientModel["AsyncOpenAI"]):
    """A model of OpenAI, of Azure OpenAI, or of a server with a compatible API.

    If a server rejects ``stream_options``, ``stop`` or ``max_tokens`` (newer models of OpenAI
    require ``max_completion_tokens``), the request is repeated without the parameter. This is
    logged, and later requests omit the parameter from the start.

    Args:
        model: Name of the model; for Azure, of the deployment.
        client: Client to use. It is not closed with this object.
        base_url: URL of the API.
        api_key: The API key. If not given, the client reads the environment; with `base_url`, no
            key is required.
        azure_endpoint: URL of the Azure OpenAI resource, such as
            ``https://acme.openai.azure.com``.
        api_version: Version of Azure's API, such as ``2024-10-21``.
        timeout: Maximum seconds between two reads.
        max_retries: Maximum number of retries by the client before the reply begins.
        name: Name of the model in traces; defaults to `model`.
        provider: Provider of the model. Defaults to ``openai``, ``azure.ai.openai``, or the host
            of any other server.
        native_tools: True if the model makes native calls.
        strict: If true, the provider enforces the schemas of tools and replies; it then supports
            only a subset of JSON Schema.
        send_reasoning: If true, earlier reasoning is sent back as ``reasoning_content``.
        extra: Further arguments of ``chat.completions.create``, for every request.

    Raises:
        ImportError: The extra is not installed.
        ValueError: Options contradict each other, or the API key is invalid.
    """

    def __init__(
        self,
        model: str,
        *,
        client: AsyncOpenAI | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        azure_endpoint: str | None = None,
        api_version: str | None = None,
        provider: str | None = None,
        send_reasoning: bool = False,
        **options: Unpack[ClientOptions],
    ) -> None:
        super().__init__(model, base_url=base_url, provider=provider, **options)
        check_text("azure_endpoint", azure_endpoint, none=True)
        check_text("api_version", api_version, none=True)
        check_flag("send_reasoning", send_reasoning)
        check_methods("client", client, "an AsyncOpenAI", "copy", none=True)
        api_key = checked_key(api_key)
        openai = require("openai", "openai")
        azure = azure_endpoint is not None or isinstance(client, openai.AsyncAzureOpenAI)
        settings = client_settings(
            client,
            base_url=base_url,
            api_key=api_key,
            azure_endpoint=azure_endpoint,
            api_version=api_version,
            **self._limits,
        )
        if azure_endpoint is not None and base_url is not None:
            raise ValueError("base_url must not be combined with azure_endpoint")
        if api_version is not None and azure_endpoint is None:
            raise ValueError("api_version requires azure_endpoint")

        def make() -> AsyncOpenAI:
            if azure:
                return cast("AsyncOpenAI", openai.AsyncAzureOpenAI(**settings))
            try:
                return cast("AsyncOpenAI", openai.AsyncOpenAI(**settings))
            except openai.OpenAIError:
                if base_url is None or api_key is not None:
                    raise
                return cast("AsyncOpenAI", openai.AsyncOpenAI(**settings, api_key=_NO_KEY))

        try:
            self._use_client(make, client)
        except openai.OpenAIError as err:
            raise ValueError(str(err)) from err
        url = base_url or os.environ.get("OPENAI_BASE_URL")
        if client is not None:
            url = str(client.base_url)
        self.provider = provider or ("azure.ai.openai" if azure else provider_for_url(url))
        self._send_reasoning = send_reasoning
        self._unsupported: frozenset[str] = frozenset()

    def _request(
        self,
        messages: Sequence[Message],
        tools: Sequence[FunctionContract],
        options: ModelOptions | None,
    ) -> dict[str, Any]:
        request = build_request(
            messages, tools, options, strict=self._strict, reasoning=self._send_reasoning
        )
        return {"model": self._model, **self._extra, **request}

    def _reply(self, request: dict[str, Any]) -> AsyncIterator[Update]:
        client = self._client()
        chunks = items(lambda: self._open(client, request), self.provider)

        def to_model_error(error: Exception) -> ModelError:
            return failure(error, self.provider, [client.api_key])

        return read_reply(chunks, ChunkReader(), self.name, to_model_error)

    async def _open(
        self,
        client: AsyncOpenAI,
        request: Mapping[str, Any],
        unsupported: frozenset[str] = frozenset(),
    ) -> Stream:
        create = cast("Any", client.chat.completions.create)
        try:
            chunks = await create(**without_parameters(request, self._unsupported | unsupported))
        except Exception as err:
            status = getattr(err, "status_code", None)
            text = f"{getattr(err, 'param', None)} {err}"
            name = unsupported_parameter(status, text, request, self._unsupported | unsupported)
            if name is None:
                raise
            return await self._open(client, request, unsupported | {name})
        if unsupported:
            log_unsupported(self.name, unsupported)
            self._unsupported |= unsupported
            self.structured_output = self.structured_output and SCHEMA_FIELD not in unsupported
        return cast("Stream", chunks)
