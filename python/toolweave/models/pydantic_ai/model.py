"""The wrapper around a model of pydantic-ai's."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import merge_model_settings

from ...natural.prepared_tools import PreparedToolsCache
from .reply import call_id, parse_response
from .requests import RequestBuilder
from .streaming import NaturalStream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import KnownModelName, ModelRequestParameters, StreamedResponse
    from pydantic_ai.profiles import ModelProfile
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.usage import RequestUsage
    from typing_extensions import Unpack

    from ...natural.prepared_tools import Tag
    from ...options import ParserOptions
    from .requests import TextRequest


class NaturalToolUseModel(WrapperModel):
    """A model that makes tool calls in its text, for agents of pydantic-ai.

    The wrapped model is never told of tools by its API. The contracts of function tools and output
    tools are in its system prompt, as Markdown; the calls that it writes become `ToolCallPart`s, in
    streams with their arguments as they are written; calls, results and retries of the history are
    text again in the next request. Thoughts, files, native tools, usage, settings and the
    `PromptedOutput` and `NativeOutput` of the wrapped model stay as they are. The history that the
    agent keeps does not show any of this, so a run can go on with another model.

    A call that is broken, incomplete or does not fit its schema never reaches a tool: the agent
    answers it with a retry, within its own limits, and the model reads what is wrong with it.

    ``tool_choice`` narrows the tools that the model is told of. No text model can be made to call
    one, so ``required`` is a request and no guarantee.

    Args:
        wrapped: The model, or its name, as for `pydantic_ai.Agent`.
        tag: How calls are written: ``name`` (``<Name>``) or ``tool_call``
            (``<tool_call name="Name">``).
        fenced: Whether arguments stand in a Markdown fence.
        stop: Whether the model is asked to stop where it would make up a tool's result. For
            endpoints that refuse stop sequences.
        **options: As for `Parser`; ids and deltas are not among them.
    """

    def __init__(
        self,
        wrapped: Model[Any] | KnownModelName | str,
        *,
        tag: Tag = "name",
        fenced: bool = True,
        stop: bool = True,
        **options: Unpack[ParserOptions],
    ) -> None:
        super().__init__(infer_model(wrapped))
        if unknown := {"id_factory", "deltas"} & options.keys():
            raise TypeError(
                f"{', '.join(sorted(unknown))} cannot be set: pydantic-ai needs its own"
            )
        options["id_factory"] = call_id
        tool_cache = PreparedToolsCache(**options)
        # One name, since the base class has many of its own.
        self._requests = RequestBuilder(tool_cache, tag=tag, fenced=fenced, stop=stop)

    @property
    def profile(self) -> ModelProfile:
        """The profile of the wrapped model, but with tools."""
        return cast("ModelProfile", {**self.wrapped.profile, "supports_tools": True})

    def customize_request_parameters(
        self, model_request_parameters: ModelRequestParameters
    ) -> ModelRequestParameters:
        """Changes nothing: how an API wants its schemas does not matter to a prompt."""
        return model_request_parameters

    def prepare_request(
        self,
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> tuple[ModelSettings | None, ModelRequestParameters]:
        """As every model does it, by our profile: the wrapped one would refuse tools."""
        return Model.prepare_request(self, model_settings, model_request_parameters)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Asks the wrapped model for a whole reply."""
        text_request = self._text_request(messages, model_settings, model_request_parameters)
        response = await self.wrapped.request(
            text_request.messages, text_request.settings, text_request.parameters
        )
        return parse_response(response, text_request.tools.parser.fresh())

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Asks the wrapped model for a reply that streams."""
        text_request = self._text_request(messages, model_settings, model_request_parameters)
        async with self.wrapped.request_stream(
            text_request.messages, text_request.settings, text_request.parameters, run_context
        ) as stream:
            yield NaturalStream(stream, text_request.tools.parser.fresh(), model_request_parameters)

    async def count_tokens(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> RequestUsage:
        """Counts what the wrapped model is really sent."""
        text_request = self._text_request(messages, model_settings, model_request_parameters)
        return await self.wrapped.count_tokens(
            text_request.messages, text_request.settings, text_request.parameters
        )

    async def batch_encode(self, request: Any) -> Any:
        """Refused.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("NaturalToolUseModel serves no batches; run the agent instead")

    def _text_request(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> TextRequest:
        settings = merge_model_settings(self.settings, settings)
        _, prepared = self.prepare_request(settings, parameters)
        return self._requests.request(messages, settings, parameters, prepared)
