"""State of one run: the conversation, the costs, the answer and the steps for the reader."""

from __future__ import annotations

import functools
import uuid
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from .._aio.event_queue import EventQueue
from .._core import TextMessage, ToolAggregateMessage, UsageMessage
from ..agent._limits import LimitReached, RunUsage
from ..conversations import Conversation
from ..costs._amounts import plus
from ..costs._spending import Spending
from ..kinds import ErrorCode, Role, SceneStatus, SceneStopReason
from ..natural._output import RunOutput
from ..tools import RunContext
from ._ends import StopRun
from ._request import SceneContext
from ._steps import ExecutedTool, SceneResult, SceneStep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core import Repair, ToolCall, ToolResult
    from .._messages import Message
    from ..agent._limits import RequestUsage
    from ..conversations import Interaction
    from ..costs import Budget, CostDelta, PriceTable, Usage
    from ..natural import ReplyRun
    from ..natural._partial_output import PartialOutput
    from ..protocols import ChatModel, Journal
    from ._request import SceneRequest
    from ._scene_queue import SceneQueue
    from ._settings import ManagerSettings

_FAILED = "Error executing tool"


class CostTracker(Spending):
    """Accumulated cost of replies, reported on the step after each reply.

    Args:
        prices: The prices of tokens.
        budget: The budget; None for no limit.
    """

    def __init__(self, prices: PriceTable, budget: Budget | None) -> None:
        super().__init__(prices, budget)
        self._unreported: deque[CostDelta] = deque()
        self.reported_totals: dict[str, Any] = {}
        """The totals of the last step, for a step of a reply that may have ended already."""
        self.requests = 0
        """Number of requests to models."""

    def add(self, model: object, usage: Usage, *, estimated: bool = False) -> CostDelta:
        """Add the cost of a request, and return it.

        Args:
            model: The model that answered.
            usage: The tokens of the request.
            estimated: True if the usage is an estimate.
        """
        delta = super().add(model, usage, estimated=estimated)
        self._unreported.append(delta)
        return delta

    def take_unreported(self) -> dict[str, Any]:
        """Return the cost fields of the next step, and reset the amounts since the last one."""
        # Agents in threads may add to the list at the same time.
        deltas = [self._unreported.popleft() for _ in range(len(self._unreported))]
        costs = [delta.cost for delta in deltas if delta.cost is not None]
        total = self.total
        self.reported_totals = {
            "total_cost": total.amount,
            "total_input_tokens": total.input_tokens,
            "total_output_tokens": total.output_tokens,
        }
        return {
            "cost": functools.reduce(plus, costs) if costs else None,
            "input_tokens": sum(delta.input_tokens for delta in deltas),
            "output_tokens": sum(delta.output_tokens for delta in deltas),
            "estimated": any(delta.estimated for delta in deltas),
            **self.reported_totals,
        }


class OutputText(NamedTuple):
    """A text of the reply that may be the output, among the steps of a run."""

    output: PartialOutput
    """The reader of the reply."""
    text: str
    """The text."""


class RunState:
    """The data that the parts of one run share.

    `SceneRun` owns the task of the run, its timers and its end. `_storage` loads and saves the
    conversation, `_flow` and `_scene_loop` decide what is next, and `ModelTurn` adds the replies.
    Steps and the result are made by the methods of this class only.

    Args:
        settings: The settings of the manager.
        request: The request of the run.
        run_id: The id of the run; random if not given.
        verbose: True to emit steps of the lifecycle; the manager's value if not given.
        streaming: True to emit text in pieces; the manager's value if not given.
        journal: Journal of the starts and results of calls.
        output_type: The output type; that of the manager if not given.

    Raises:
        OutputTypeError: The type cannot be that of an output.
        ValueError: The budget of the request is out of range.
        UnpricedModelError: The request has a budget, and a model has no price.
    """

    def __init__(
        self,
        settings: ManagerSettings,
        request: SceneRequest[Any],
        *,
        run_id: str | None = None,
        verbose: bool | None = None,
        streaming: bool | None = None,
        journal: Journal | None = None,
        output_type: Any = None,
    ) -> None:
        self.settings = settings
        self.scenes = settings.scenes
        self.request = request
        self.key = request.conversation or uuid.uuid4().hex
        """The key of the conversation."""
        self.run_id = uuid.uuid4().hex if run_id is None else run_id
        self.streaming = settings.streaming if streaming is None else streaming
        self.journal = journal
        self.costs = CostTracker(settings.prices, settings.budget_of(request))
        self.usage = RunUsage(spending=self.costs)
        """The usage of the run, with that of the runs that its tools start."""
        self._refused: LimitReached | None = None
        # The conversation.
        self.conversation = Conversation(self.key)
        """The stored conversation."""
        self.messages: list[Message] = []
        """The messages of the conversation, without texts of actors."""
        self.start = 0
        """The number of messages before this run."""
        self.changed: list[Message] = []
        """The messages of earlier runs that have changed."""
        self.waiting: tuple[Interaction, ...] = ()
        """The calls that wait for the client."""
        self.queue: SceneQueue | None = None
        """The scenes to enter; None until they are chosen."""
        self.main_texts: list[str] = []
        """The texts of the main actors in this run."""
        # The reply in progress.
        self.reply: ReplyRun | None = None
        """The last reply requested, complete or not; None before the first request."""
        self.generation_id: str | None = None
        """The id of the reply that steps belong to."""
        # The result.
        self.scene: str | None = None
        """The current scene; None outside of scenes."""
        self.text = ""
        """The last answer."""
        self.notice: str | None = None
        """A notice about unexpected markup in the last answer."""
        self.repairs: list[Repair] = []
        """The repairs of plans and decisions."""
        self.output = RunOutput(settings.output.for_run(output_type), settings.scenes.plain)
        """The value of the output type."""
        self._answered_in: str | None = None
        self._entered: list[str] = []
        self._executed: list[ExecutedTool] = []
        self._awaiting: list[SceneStep] = []
        # The steps.
        self.steps: EventQueue[tuple[SceneStep | OutputText, str | None]] = EventQueue()
        """Steps for the reader, each with the id of its reply, and texts of the output."""
        self.streams_output = False
        """True if the reader wants the texts of the output."""
        self._verbose = settings.verbose if verbose is None else verbose
        self._appended = 0

    # Steps.

    def emit(
        self,
        status: SceneStatus,
        message: str | None = None,
        *,
        scene: str | None = None,
        lifecycle: bool = False,
        **more: Any,
    ) -> SceneStep | None:
        """Publish a step; a step of the lifecycle only if the run is verbose."""
        if lifecycle and not self._verbose:
            return None
        # These steps may be read late or not at all, so costs are reported on a later step.
        piece = status in (SceneStatus.STREAMING, SceneStatus.FUNCTION_PROGRESS)
        amounts = self.costs.reported_totals if piece else self.costs.take_unreported()
        step = SceneStep(status, scene, message=message, conversation=self.key, **amounts, **more)
        # The queue of a run that has been abandoned is closed.
        if not self.steps.is_closed:
            add = self.steps.offer if status is SceneStatus.FUNCTION_PROGRESS else self.steps.put
            add((step, self.generation_id))
        return step

    def emit_output(self, output: PartialOutput, text: str) -> None:
        """Publish the next text of a reply that may be the output."""
        if not self.steps.is_closed:
            self.steps.put((OutputText(output, text), self.generation_id))

    def emit_stop(self, stop: StopRun, *, fatal: bool = False) -> None:
        """Emit the failure that ends the run, or one that does not."""
        self.emit(
            SceneStatus.ERROR,
            stop.message,
            scene=self.scene,
            error=stop.error,
            fatal=fatal,
            reference=stop.reference,
        )

    def emit_result(self, result: ToolResult, *, scene: str | None, **more: Any) -> None:
        """Emit the result of a call."""
        name = result.name
        if result.error_code is ErrorCode.UNKNOWN_TOOL:
            message = f"Tool '{name}' not found"
        elif not result.is_error:
            message = f"Tool {name} executed: {result.result}"
        elif result.result.startswith(_FAILED):
            message = result.result
        else:
            message = f"{_FAILED}: {result.result}"
        self.emit(
            SceneStatus.ERROR if result.is_error else SceneStatus.FUNCTION_COMPLETED,
            message,
            scene=scene,
            function=name,
            call_id=result.tool_call_id,
            result=result.result,
            error=result.result if result.is_error else None,
            duration=result.duration,
            reference=result.reference,
            **more,
        )

    def emit_waiting(self) -> None:
        """Emit a step for each call that waits for the client."""
        for each in self.waiting:
            step = self.emit(
                SceneStatus.AWAITING_CLIENT,
                f"Awaiting client: {each.function}",
                scene=each.scene,
                function=each.function,
                call_id=each.call_id,
                message_id=self._message_of(each.call_id),
                arguments=each.arguments,
                interaction_id=each.interaction_id,
            )
            self._awaiting += [] if step is None else [step]

    def _message_of(self, call_id: str) -> str | None:
        """Return the id of the last message that has a call with this id, or None."""
        for message in reversed(self.messages):
            if isinstance(message, ToolAggregateMessage) and any(
                call.id == call_id for call in message.tool_calls
            ):
                return message.id
        return None

    # Scenes and answers.

    def enter(self, scene: str) -> None:
        """Enter a scene."""
        self._entered.append(scene)
        self.scene = self._answered_in = scene
        self.emit(SceneStatus.EXECUTING_SCENE, f"Entering scene: {scene}", scene=scene)

    def answer(self, text: str, scene: str | None = None, *, notice: str | None = None) -> None:
        """Set the answer.

        Args:
            text: The answer.
            scene: The scene that has answered; None outside of scenes.
            notice: A notice about unexpected markup in the text.
        """
        self.text, self.notice, self._answered_in = text, notice, scene

    def extend_answer(self, text: str) -> None:
        """Append a text to the conversation and to the answer."""
        self.append_text(text)
        self.text = f"{self.text}\n\n{text}".strip()

    def append_text(
        self, text: str, scene: str | None = None, *, notice: str | None = None
    ) -> None:
        """Append a text that is not part of a reply to the conversation, and emit it."""
        message_id = f"{self.run_id}.said.{self._appended}"
        self._appended += 1
        self.messages.append(
            TextMessage(
                text, role=Role.ASSISTANT, id=message_id, run_id=self.run_id, chat_id=self.key
            )
        )
        self.emit(SceneStatus.RUNNING, text, scene=scene, message_id=message_id, notice=notice)

    def add_executed(self, scene: str, call: ToolCall, result: ToolResult) -> None:
        """Record a call that was executed."""
        self._executed.append(
            ExecutedTool(scene, call.name, call.id, call.arguments, result.result, result.is_error)
        )

    # The budget, and the limits of runs around this one.

    @property
    def limit_error(self) -> str | None:
        """The error if the budget or a limit of a run around this one is exceeded, or None."""
        reached = self._refused or self.usage.exceeded()
        return None if reached is None else reached.message

    def check_budget(self) -> None:
        """Raise StopRun if the budget or a limit of a run around this one is exceeded."""
        error = self.limit_error
        if error is not None:
            raise StopRun(SceneStopReason.BUDGET, error)

    async def start_request(self, model: ChatModel, prompt: Sequence[Message]) -> RequestUsage:
        """Count a request that is about to be sent.

        Raises:
            StopRun: The budget or a limit of a run around this one refuses it.
        """
        started = await self.usage.start_request(model, prompt)
        if isinstance(started, LimitReached):
            raise StopRun(SceneStopReason.BUDGET, started.message)
        self.costs.requests += 1
        return started

    def start_calls(self, calls: int) -> bool:
        """Count the calls of a reply; False if a limit of a run around this one refuses them."""
        self._refused = self.usage.start_calls(calls)
        return self._refused is None

    # Requests.

    def context(self, scene: str | None = None, purpose: str | None = None) -> SceneContext[Any]:
        """Return the context for actors."""
        messages, executed = tuple(self.messages), tuple(self._executed)
        return SceneContext(self.request, self.key, scene, purpose, messages, executed)

    def run_context(self) -> RunContext[Any]:
        """Return the context of the next request, for tools, output validators and functions."""
        total = self.costs.total
        return RunContext(
            self.request.deps,
            run_id=self.run_id,
            chat_id=self.key,
            messages=tuple(self.messages),
            usage=UsageMessage(
                total.input_tokens,
                total.output_tokens,
                total.cached_input_tokens,
                run_id=self.run_id,
                chat_id=self.key,
            ),
            iterations=self.costs.requests,
        )

    def system(self, *paragraphs: str | None) -> list[Message]:
        """Return the system message: guardrails, main actors and the given paragraphs."""
        parts = [self.settings.guardrails, *self.main_texts, *paragraphs]
        text = "\n\n".join(part.strip() for part in parts if part and part.strip())
        return [TextMessage(text, role=Role.SYSTEM)] if text else []

    # The end.

    def end(self, stop: StopRun, error: BaseException | None = None) -> SceneResult[Any]:
        """Emit the last step, and return the result.

        Args:
            stop: The reason for the end.
            error: The exception to raise to the reader after the last step.
        """
        result = self.build_result(stop)
        self.emit(
            SceneStatus.COMPLETED,
            self.text,
            scene=self._answered_in,
            stop_reason=stop.reason,
            error=stop.error,
            reference=stop.reference,
            notice=self.notice,
        )
        self.steps.end(error)
        return result

    def build_result(self, stop: StopRun) -> SceneResult[Any]:
        """Return the result of the run so far."""
        total = self.costs.total
        return SceneResult(
            text=self.text,
            stop_reason=stop.reason,
            conversation=self.key,
            scenes=tuple(self._entered),
            executed=tuple(self._executed),
            messages=tuple(self.messages),
            new_messages=tuple(self.messages[self.start :]),
            input_tokens=total.input_tokens,
            output_tokens=total.output_tokens,
            total_cost=total.amount,
            estimated=total.estimated,
            unpriced=total.unpriced,
            iterations=self.costs.requests,
            awaiting=tuple(self._awaiting),
            error=stop.error,
            exception=stop.exception,
            notice=self.notice,
            repairs=tuple(self.repairs),
            _output=self.output.result(stop.reason.value, self.text, tuple(self.messages)),
        )


def user(text: str) -> TextMessage:
    """Return a user message for a single request, outside of the conversation."""
    return TextMessage(text, role=Role.USER)
