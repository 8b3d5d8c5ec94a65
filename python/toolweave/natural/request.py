"""What a model is sent: the conversation in its form, and the tools where it looks for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from .._core import (
    TextMessage,
    consolidate,
    render_contracts,
)
from ..kinds import Role
from ..protocols import ModelOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import FunctionContract, Message
    from .prepared_tools import PreparedTools, Tag

STOP_SEQUENCE = "<tool_response"
"""What a model must not write itself: what a tool answers."""

HistoryForm: TypeAlias = Literal["turn", "single", "split"]
"""Unit that becomes one message of a history; see `consolidate`."""

# OpenAI's API takes no more than four, and says 400 to a fifth.
_MAX_STOP_SEQUENCES = 4


@dataclass(frozen=True)
class Request:
    """One request to a model."""

    messages: Sequence[Message]
    """The conversation."""
    tools: tuple[FunctionContract, ...]
    """What it may call natively."""
    options: ModelOptions | None
    """What the request asks for beyond that."""


@dataclass(frozen=True)
class Style:
    """How natural requests are written."""

    tag: Tag = "name"
    """How calls are written, in the prompt as in the history."""
    fenced: bool = True
    """Whether arguments stand in a Markdown fence."""
    form: HistoryForm = "turn"
    """Unit that becomes one message; see `consolidate`."""
    stop: bool = True
    """Whether the model is asked to stop where it would make up a result."""

    def request(
        self,
        messages: Sequence[Message],
        prepared: PreparedTools,
        options: ModelOptions | None,
        found: tuple[str, ...] = (),
    ) -> Request:
        """A request whose tools are in the system prompt, and whose calls are text."""
        if self.stop and prepared.contracts:
            options = _with_stop_sequence(options)
        written = self._prompted(self._written(messages, prepared), prepared, found)
        return Request(written, (), _without_choice(options))

    def describe(self, contracts: Sequence[FunctionContract]) -> str:
        """Describes tools as the system prompt does."""
        return render_contracts(contracts, tag=self.tag, fenced=self.fenced)

    def _written(self, messages: Sequence[Message], prepared: PreparedTools) -> list[TextMessage]:
        """The messages as text."""
        written = consolidate(
            messages, tools=prepared.contracts, form=self.form, tag=self.tag, fenced=self.fenced
        )
        if self.form == "single" and written and written[-1].role is Role.ASSISTANT:
            # A model answers a user: a transcript that ends with its own words is no question.
            written[-1] = written[-1].__replace__(role=Role.USER)
        return written

    def _prompted(
        self, messages: list[TextMessage], prepared: PreparedTools, found: tuple[str, ...]
    ) -> list[TextMessage]:
        """The messages, with the tools in the first system message."""
        for index, message in enumerate(messages):
            if message.role is Role.SYSTEM:
                prompt = prepared.prompt(message.text, self.tag, fenced=self.fenced, found=found)
                return [
                    *messages[:index],
                    *([message.__replace__(text=prompt)] if prompt else []),
                    *messages[index + 1 :],
                ]
        prompt = prepared.prompt(None, self.tag, fenced=self.fenced, found=found)
        return [TextMessage(prompt, role=Role.SYSTEM), *messages] if prompt else messages


def native_request(
    messages: Sequence[Message],
    prepared: PreparedTools,
    options: ModelOptions | None,
    found: tuple[str, ...] = (),
) -> Request:
    """A request whose tools and calls go by the protocol of the provider."""
    tools = prepared.visible(found)
    return Request(messages, tools, options if tools else _without_choice(options))


def _with_stop_sequence(options: ModelOptions | None) -> ModelOptions:
    options = options or ModelOptions()
    if STOP_SEQUENCE in options.stop or len(options.stop) >= _MAX_STOP_SEQUENCES:
        return options
    return replace(options, stop=(*options.stop, STOP_SEQUENCE))


def _without_choice(options: ModelOptions | None) -> ModelOptions | None:
    """The options of a request without native tools: providers refuse to choose among none."""
    if options is None or options.tool_choice is None:
        return options
    return replace(options, tool_choice=None)
