"""What the wrapped model is asked: the conversation as text, and the tools in the system prompt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai.messages import InstructionPart, ModelRequest, SystemPromptPart
from pydantic_ai.profiles import DEFAULT_PROMPTED_OUTPUT_TEMPLATE
from pydantic_ai.settings import ToolOrOutput

from ..._core import FunctionContract
from ...natural.prepared_tools import PreparedToolsCache
from ...natural.request import STOP_SEQUENCE
from .history import HistoryWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import ToolDefinition

    from ...natural.prepared_tools import PreparedTools, Tag


@dataclass(frozen=True)
class TextRequest:
    """What the wrapped model is asked, and the tools that its reply may call."""

    messages: list[ModelMessage]
    """The conversation, all text."""
    settings: ModelSettings | None
    """What the request asks for beyond that."""
    parameters: ModelRequestParameters
    """What kind of reply is wanted: without tools."""
    tools: PreparedTools
    """The tools."""


class RequestBuilder:
    """Makes requests without tools out of requests with tools.

    Args:
        tool_cache: The tools of earlier requests.
        tag: How calls are written.
        fenced: Whether arguments stand in a Markdown fence.
        stop: Whether the model is asked to stop where it would make up a result.
    """

    def __init__(
        self, tool_cache: PreparedToolsCache, *, tag: Tag, fenced: bool, stop: bool
    ) -> None:
        self._tool_cache = tool_cache
        self._tag: Tag = tag
        self._fenced = fenced
        self._stop = stop

    def request(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        prepared: ModelRequestParameters,
    ) -> TextRequest:
        """The request for the wrapped model.

        Args:
            messages: The conversation.
            settings: What the request asks for, the model's own settings included.
            parameters: The tools and the output, as the agent gave them.
            prepared: The same, as the model prepared them.
        """
        tools = _callable_tools(prepared, settings)
        prepared_tools = self._tool_cache.of([_contract(tool) for tool in tools])
        # The wrapped model prepares what it is given itself, so most of it has to be as it came.
        inner = replace(
            parameters,
            function_tools=[],
            output_tools=[],
            native_tools=prepared.native_tools,
            output_mode=prepared.output_mode,
            output_object=prepared.output_object,
            allow_text_output=True,
        )
        if prepared.output_mode == "tool" or (
            # A model that is held to the JSON of its output cannot call a tool any more.
            prepared_tools.contracts and prepared.output_mode in ("native", "prompted")
        ):
            inner = replace(
                inner, output_mode="text", output_object=None, prompted_output_template=None
            )
        written = HistoryWriter(prepared_tools.contracts, tag=self._tag, fenced=self._fenced).write(
            messages
        )
        written, inner = self._prompt(
            written, inner, prepared_tools, _output_instructions(prepared, tools)
        )
        return TextRequest(written, self._settings(settings, prepared_tools), inner, prepared_tools)

    def _prompt(
        self,
        messages: list[ModelMessage],
        parameters: ModelRequestParameters,
        tools: PreparedTools,
        output_instructions: str,
    ) -> tuple[list[ModelMessage], ModelRequestParameters]:
        """Adds the tools to what the model is told first, where there is something.

        Many templates of small models take one system message and no more.
        """

        def prompted(existing: str | None) -> str:
            return tools.prompt(existing, self._tag, fenced=self._fenced) + output_instructions

        if not tools.contracts:
            return messages, parameters
        parts = parameters.instruction_parts
        if parts is None:
            parts = _instructions(messages)
        if parts:
            at = max(
                (i for i, part in enumerate(parts) if not part.dynamic), default=len(parts) - 1
            )
            changed = replace(parts[at], content=prompted(parts[at].content))
            parts = [*parts[:at], changed, *parts[at + 1 :]]
        elif (position := _last_system_prompt(messages)) is not None:
            first, at = position
            request = cast("ModelRequest", messages[first])
            system = cast("SystemPromptPart", request.parts[at])
            changed_part = replace(system, content=prompted(system.content))
            request_parts = [*request.parts[:at], changed_part, *request.parts[at + 1 :]]
            changed_request = replace(request, parts=request_parts)
            messages = [*messages[:first], changed_request, *messages[first + 1 :]]
        else:
            parts = [InstructionPart(prompted(None))]
        return messages, replace(parameters, instruction_parts=parts)

    def _settings(
        self, settings: ModelSettings | None, tools: PreparedTools
    ) -> ModelSettings | None:
        remaining = dict(settings or {})
        for name in ("tool_choice", "parallel_tool_calls"):
            remaining.pop(name, None)
        if self._stop and tools.contracts:
            stops = list(cast("list[str]", remaining.get("stop_sequences")) or [])
            if STOP_SEQUENCE not in stops:
                remaining["stop_sequences"] = [*stops, STOP_SEQUENCE]
        return cast("ModelSettings", remaining) or None


def _callable_tools(
    parameters: ModelRequestParameters, settings: ModelSettings | None
) -> list[ToolDefinition]:
    """The tools that the model may call, output tools last."""
    tools = [
        tool
        for tool in parameters.function_tools
        if parameters.visibility_of(tool.name) != "withheld"
    ]
    outputs = parameters.output_tools
    choice: Any = (settings or {}).get("tool_choice")
    if choice in ("none", []):
        return list(outputs)
    if choice == "required":
        return tools
    if isinstance(choice, ToolOrOutput):
        return [*(tool for tool in tools if tool.name in choice.function_tools), *outputs]
    if isinstance(choice, (list, tuple)):
        return [tool for tool in (*tools, *outputs) if tool.name in choice]
    return [*tools, *outputs]


def _contract(tool: ToolDefinition) -> FunctionContract:
    returns = tool.return_schema if tool.include_return_schema else None
    return FunctionContract(tool.name, tool.description, tool.parameters_json_schema, returns)


def _output_instructions(
    parameters: ModelRequestParameters, tools: Sequence[ToolDefinition]
) -> str:
    """Says how to answer where plain text is no answer."""
    if parameters.output_mode in ("native", "prompted"):
        template = parameters.prompted_output_template
        if template is None:
            template = DEFAULT_PROMPTED_OUTPUT_TEMPLATE
        changed = replace(parameters, prompted_output_template=template)
        instructions = changed.prompted_output_instructions
        return f"\n\n{instructions}" if instructions else ""
    outputs = {tool.name for tool in parameters.output_tools}
    names = [f"`{tool.name}`" for tool in tools if tool.name in outputs]
    if not names or parameters.allow_text_output:
        return ""
    return (
        f"\n\nWhen you have the answer, call {' or '.join(names)} with it. "
        "Only that call ends the conversation; an answer in text is not seen."
    )


def _instructions(messages: Sequence[ModelMessage]) -> list[InstructionPart] | None:
    """Those of the latest request that has any: for requests that no agent makes."""
    for message in reversed(messages):
        if isinstance(message, ModelRequest) and message.instructions is not None:
            return [InstructionPart(message.instructions)]
    return None


def _last_system_prompt(messages: Sequence[ModelMessage]) -> tuple[int, int] | None:
    """Where the last system prompt at the beginning of the conversation stands."""
    for first, message in enumerate(messages):
        if isinstance(message, ModelRequest):
            found = None
            for at, part in enumerate(message.parts):
                if not isinstance(part, SystemPromptPart):
                    break
                found = (first, at)
            return found
    return None
