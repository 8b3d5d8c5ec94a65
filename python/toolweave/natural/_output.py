"""Outputs of runs: what is asked of the model, and what becomes of its replies."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast, get_args

from .._checks import check_choice, check_count
from .._core import TextMessage
from ..exceptions import ModelRetry, OutputError
from ..kinds import Role
from ..models._identity import identify
from ..output import InvalidOutput, OutputSchema
from ..output._functions import CheckedValidator, run_output
from ..protocols import ModelOptions
from ._partial_output import PartialOutput

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from .._core import Violation
    from .._messages import Message
    from ..executor import ToolExecutor
    from ..tools import RunContext
    from ._parser import NaturalToolUseParser

_log = logging.getLogger("toolweave.natural")

OutputMode: TypeAlias = Literal["auto", "native", "prompted"]
"""The way in which a model is asked for an output; see `Agent`."""

_OUTPUT_RETRY = "output_retry"
_HIDDEN = "hidden"

# Longer replies are read in a thread.
_MAX_INLINE = 65_536
# Longest text in a short repr.
_MAX_SHOWN = 60
_MISSING: Any = object()

_PLAIN_TEXT = OutputSchema(str)


@dataclass(frozen=True)
class OutputSettings:
    """Settings of outputs: of an agent, of scenes or of a `NaturalToolUse`."""

    schema: OutputSchema = _PLAIN_TEXT
    mode: OutputMode = "auto"
    retries: int = 1
    validators: list[CheckedValidator[Any]] = field(default_factory=list[CheckedValidator[Any]])

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            TypeError: An option has the wrong type.
            ValueError: An option is out of range.
        """
        check_choice("output_mode", self.mode, get_args(OutputMode))
        check_count("output_retries", self.retries, 0)

    def for_run(self, output_type: Any) -> OutputSettings:
        """Return the settings of a run that may have an output type of its own.

        Raises:
            OutputTypeError: The type cannot be that of an output.
            ValueError: There are validators, which are for outputs of the type of the settings.
        """
        if output_type is None:
            return self
        if self.validators:
            raise ValueError(
                "output_type must be that of the agent or manager, since it has output validators; "
                f"got {output_type!r}"
            )
        return replace(self, schema=output_schema(output_type))


def output_schema(output_type: Any) -> OutputSchema:
    """Return the schema of an output type; text for None.

    Raises:
        OutputTypeError: The type cannot be that of an output.
        ToolDefinitionError: A function cannot be called with keyword arguments.
    """
    if output_type is None:
        return _PLAIN_TEXT
    try:
        hash(output_type)
    except TypeError:
        return OutputSchema(output_type)
    # By its class as well, since `Literal[1]` equals `Literal[True]`.
    return _cached_schema(cast("Hashable", output_type), repr(output_type))


@lru_cache(maxsize=64)
def _cached_schema(output_type: Hashable, _: str) -> OutputSchema:
    return OutputSchema(output_type)


class ToolUse(Protocol):
    """A model with its tools, such as a `NaturalToolUse`."""

    @property
    def parser(self) -> NaturalToolUseParser:
        """Parser of the replies."""
        ...

    @property
    def executor(self) -> ToolExecutor:
        """Executor of the calls."""
        ...

    @property
    def name(self) -> str | None:
        """Name of the agent."""
        ...


def is_output_retry(message: Message) -> bool:
    """Return True if a message asks the model again after an invalid output.

    The user has not written it, and does not see it.
    """
    return _OUTPUT_RETRY in message.metadata


def is_hidden(message: Message) -> bool:
    """Return True if users do not see a message: an answer that is no output, or the next request.

    The model reads both.
    """
    return _HIDDEN in message.metadata or is_output_retry(message)


def hide_texts(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return the messages of a reply that is not the output, with its texts hidden from users."""
    return tuple(
        message.__replace__(metadata={**message.metadata, _HIDDEN: True})
        if isinstance(message, TextMessage)
        else message
        for message in messages
    )


class RunOutput:
    """The output of one run, of an agent or of scenes.

    Args:
        settings: The settings of the run.
        use: The model with its tools.
    """

    def __init__(self, settings: OutputSettings, use: ToolUse) -> None:
        self._schema = settings.schema
        self._mode = settings.mode
        self._validators = settings.validators
        self._retries = settings.retries
        self.use = use
        """The model with its tools, which changes when the run goes on with other tools."""
        self._enforced = False
        # True if the instructions of the last request show the form of the output.
        self._shown = True
        self._with_tools = False
        self._value: Any = _MISSING
        self._json: Any = _MISSING
        self._error: OutputError | None = None

    @property
    def is_text(self) -> bool:
        """True if the text of any reply is an output."""
        return self._schema.is_text

    @property
    def is_checked(self) -> bool:
        """True if an answer may turn out not to be an output."""
        return not self._schema.is_text or bool(self._validators)

    @property
    def is_complete(self) -> bool:
        """True if the run has an output."""
        return self._value is not _MISSING

    def clear(self) -> None:
        """Remove the output that the run has, if any."""
        self._value = self._json = _MISSING
        self._error = None

    def request(
        self, options: ModelOptions | None, *, with_tools: bool
    ) -> tuple[ModelOptions | None, str]:
        """Return the options of the next request, and the sentences that ask for the output."""
        if self._schema.is_text:
            return options, ""
        self._with_tools = with_tools and any(True for _ in self.use.executor.toolset)
        self._enforced = self._can_enforce()
        if self._enforced:
            schema = self._schema.response_schema
            options = replace(options or ModelOptions(), response_schema=schema)
        self._shown = not (self._enforced and self._mode == "native" and self._is_supported())
        return options, self._form() if self._shown else ""

    async def check(
        self, text: str, context: RunContext[Any], *, truncated: bool, may_retry: bool
    ) -> TextMessage | None:
        """Read a reply without calls as the output.

        Args:
            text: The text of the reply.
            context: The context of validators and output functions.
            truncated: True if the reply was cut off.
            may_retry: True if another request can be made.

        Returns:
            The message that asks the model again; None if the reply has the output.

        Raises:
            OutputError: The reply has no valid output, and the model cannot be asked again.
            Exception: Any exception of a validator or an output function, except `ModelRetry`.
        """
        self.clear()
        if self._schema.is_text and (truncated or not text.strip()):
            self._value = text.strip()
            return None
        names = [each.name for each in self.use.executor.toolset]
        if len(text) > _MAX_INLINE:
            read = await asyncio.to_thread(
                self._schema.read, text, truncated=truncated, tools=names
            )
        else:
            read = self._schema.read(text, truncated=truncated, tools=names)
        if not self._shown and not self._is_supported():
            # The server has rejected the schema, so the model has not seen what it is asked for.
            self._retries += 1
        may_retry = may_retry and self._retries > 0
        if isinstance(read, InvalidOutput):
            problems = read.violations
            # Another reply would be cut off at the same limit.
            if may_retry and not truncated:
                return self._retry(self._retry_text(problems), context)
            self._error = OutputError(
                _sentence(problems), text, problems, context.messages, read.partial
            )
            raise self._error
        try:
            value = await run_output(read, self._validators, context)
        except ModelRetry as retry:
            if may_retry:
                return self._retry(f"{retry.message}\n\n{self._form()}".strip(), context)
            sentence = f"the output was refused: {retry.message}"
            self._error = OutputError(sentence, text, (), context.messages, read.value)
            raise self._error from retry
        self._value, self._json = value, read.value
        if read.repairs:
            _log.info("an output was repaired", extra={"kinds": [r.kind for r in read.repairs]})
        return None

    def partial(self) -> PartialOutput:
        """Return a reader of the output in the reply to the last request, while it streams."""
        return PartialOutput(self._schema, enforced=self._enforced)

    def final(self, result: Any) -> Any:
        """Return the JSON value of the output of a run that has ended.

        Raises:
            OutputError: The run has no output.
        """
        return result.output if self._json is _MISSING else self._json

    def result(self, stop: str, text: str, messages: tuple[Message, ...]) -> Any:
        """Return the output, or the error that says why there is none.

        Args:
            stop: The reason why the run ended.
            text: The final text.
            messages: The messages of the conversation.
        """
        if self._schema.is_text and not self._validators:
            return text.strip()
        if self._value is not _MISSING:
            return self._value
        if self._error is not None:
            return MissingOutput(self._error)
        if self._schema.is_text:
            return text.strip()
        return MissingOutput(
            OutputError(f"the run ended as {stop!r}, without an output", text, (), messages)
        )

    def _can_enforce(self) -> bool:
        """Return True if the provider can enforce the schema in the next request.

        With an enforced schema, a model cannot write calls as text; and servers of local models
        enforce the schema or take the tools, not both.
        """
        if self._mode == "prompted":
            return False
        if self._with_tools:
            return self._mode == "native" and self.use.parser.native
        return self._mode == "native" or self._is_supported()

    def _is_supported(self) -> bool:
        """Return True if the adapter sends the schema, and the server has not rejected it."""
        return identify(self.use.parser.model).structured_output

    def _form(self) -> str:
        return self._schema.instructions(enforced=self._enforced, with_tools=self._with_tools)

    def _retry_text(self, problems: tuple[Violation, ...]) -> str:
        return self._schema.retry_text(
            problems, enforced=self._enforced, with_tools=self._with_tools
        )

    def _retry(self, text: str, context: RunContext[Any]) -> TextMessage:
        self._retries -= 1
        _log.warning("an output is invalid; asked again", extra={"run_id": context.run_id})
        return TextMessage(
            text,
            role=Role.USER,
            from_agent=self.use.name,
            run_id=context.run_id,
            chat_id=context.chat_id,
            metadata={_OUTPUT_RETRY: True},
        )


@dataclass(frozen=True)
class MissingOutput:
    """The place of an output that a run does not have."""

    error: OutputError


def output_of(value: Any) -> Any:
    """Return an output that is `RunOutput.result`.

    Raises:
        OutputError: There is none.
    """
    if isinstance(value, MissingOutput):
        raise value.error
    return value


def short_output(value: Any, text: str) -> str:
    """Return an output that is `RunOutput.result`, or the text if it is that, for a short repr."""
    if isinstance(value, (str, MissingOutput)):
        return f"text={text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + '…'!r}"
    output = repr(value)
    return f"output={output if len(output) <= _MAX_SHOWN else output[:_MAX_SHOWN] + '…'}"


def _sentence(problems: tuple[Violation, ...]) -> str:
    first, *others = problems
    more = f" (and {len(others)} more)" if others else ""
    return f"the model gave no valid output: {first.message}{more}"
