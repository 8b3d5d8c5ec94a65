"""State of one run: the conversation, the costs and the publication of steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._core import TextMessage, ToolAggregateMessage
from ..conversations import Conversation
from ..kinds import Role, SceneStatus, SceneStopReason
from ._request import SceneContext
from ._steps import ExecutedTool, SceneStep

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._core import Repair
    from .._messages import Message
    from ..conversations import Interaction
    from ..natural import ReplyRun
    from ..protocols import Journal, ModelOptions
    from ._cost_tracker import CostTracker
    from ._hooks import Hooks
    from ._request import SceneMode, SceneRequest
    from ._scene_set import SceneSet


class StopRun(Exception):  # noqa: N818 - control flow, not an error
    """Raised to end a run.

    Args:
        reason: The stop reason.
        message: The sentence of the `Error` step before the end; None for no such step.
        error: The full text of the error.
        exception: The exception that caused the end; None if there was none.
        reference: The reference of that exception in the log, if another library raised it.
    """

    def __init__(
        self,
        reason: SceneStopReason,
        message: str | None = None,
        *,
        error: str | None = None,
        exception: BaseException | None = None,
        reference: str | None = None,
    ) -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message
        self.error = error
        self.exception = exception
        self.reference = reference


class PauseRun(Exception):  # noqa: N818 - as above
    """Raised to pause a run until its client delivers results."""

    def __init__(self, interactions: tuple[Interaction, ...]) -> None:
        super().__init__(interactions)
        self.interactions = interactions


@dataclass(frozen=True)
class ManagerSettings:
    """Settings of the runs of a manager; see `SceneManager`."""

    name: str
    mode: SceneMode
    max_iterations: int
    max_repeats: int | None
    max_scenes: int
    answer_at_limit: bool
    guardrails: str | None
    options: ModelOptions | None
    run_timeout: float | None


class RunState:
    """State that the parts of one run share.

    Args:
        scenes: The scenes.
        settings: The settings of the manager.
        hooks: The hooks of the application.
        request: The request of the run.
        key: The key of the conversation.
        run_id: The id of the run.
        costs: The costs of the run.
        publish: Function that receives the steps.
        verbose: True to emit steps of the lifecycle.
        streaming: True to emit text in pieces.
        journal: Journal of the starts and results of calls.
    """

    def __init__(
        self,
        scenes: SceneSet,
        settings: ManagerSettings,
        hooks: Hooks,
        request: SceneRequest,
        key: str,
        run_id: str,
        costs: CostTracker,
        publish: Callable[[SceneStep], None],
        *,
        verbose: bool,
        streaming: bool,
        journal: Journal | None = None,
    ) -> None:
        self.scenes = scenes
        self.settings = settings
        self.hooks = hooks
        self.request = request
        self.key = key
        self.run_id = run_id
        self.costs = costs
        self.streaming = streaming
        self.journal = journal
        self.conversation = Conversation(key)
        """The stored conversation."""
        self.messages: list[Message] = []
        """The messages of the conversation, without texts of actors."""
        self.main_texts: list[str] = []
        """The texts of the main actors in this run."""
        self.changed: list[Message] = []
        """The messages of earlier runs that have changed."""
        self.executed: list[ExecutedTool] = []
        self.entered: list[str] = []
        self.scene: str | None = None
        """The current scene; None outside of scenes."""
        self.answered_in: str | None = None
        """The scene that has answered last, or in which the run ended."""
        self.text = ""
        """The last answer."""
        self.notice: str | None = None
        """A notice about unexpected markup in the last answer."""
        self.repairs: list[Repair] = []
        """The repairs of plans and decisions."""
        self.generation_id: str | None = None
        """The id of the last reply requested."""
        self.reply: ReplyRun | None = None
        """That reply, complete or not; None before the first request."""
        self._publish = publish
        self._added = 0
        self._verbose = verbose

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
        amounts = self.costs.reported_totals() if piece else self.costs.take_unreported()
        step = SceneStep(status, scene, message=message, conversation=self.key, **amounts, **more)
        self._publish(step)
        return step

    def emit_text(
        self,
        text: str,
        scene: str | None = None,
        *,
        message_id: str | None = None,
        notice: str | None = None,
    ) -> None:
        """Emit a text of the model or of a hook."""
        self.emit(SceneStatus.RUNNING, text, scene=scene, message_id=message_id, notice=notice)

    def append_text(
        self, text: str, scene: str | None = None, *, notice: str | None = None
    ) -> None:
        """Append a text to the conversation, and emit it."""
        message_id = f"{self.run_id}.said.{self._added}"
        self._added += 1
        self.messages.append(
            TextMessage(
                text, role=Role.ASSISTANT, id=message_id, run_id=self.run_id, chat_id=self.key
            )
        )
        self.emit_text(text, scene, message_id=message_id, notice=notice)

    def message_of(self, call_id: str) -> str | None:
        """Return the id of the last message that has a call with this id, or None."""
        for message in reversed(self.messages):
            if isinstance(message, ToolAggregateMessage) and any(
                call.id == call_id for call in message.tool_calls
            ):
                return message.id
        return None

    def check_budget(self) -> None:
        """Raise StopRun if the budget is exceeded."""
        budget_error = self.costs.budget_error
        if budget_error is not None:
            raise StopRun(SceneStopReason.BUDGET, budget_error)

    def context(self, scene: str | None = None, purpose: str | None = None) -> SceneContext:
        """Return the context for actors."""
        return SceneContext(
            self.request,
            self.key,
            scene,
            purpose,
            tuple(self.messages),
            tuple(self.executed),
        )

    def system(self, *paragraphs: str | None) -> list[Message]:
        """Return the system message: guardrails, main actors and the given paragraphs."""
        parts = [
            self.settings.guardrails,
            *self.main_texts,
            *paragraphs,
        ]
        text = "\n\n".join(part.strip() for part in parts if part and part.strip())
        return [TextMessage(text, role=Role.SYSTEM)] if text else []


def not_found(name: str) -> StopRun:
    """Return the end of a run whose scene is unknown."""
    return StopRun(SceneStopReason.ERROR, f"Scene '{name[:100]}' not found")


def user(text: str) -> TextMessage:
    """Return a user message for a single request, outside of the conversation."""
    return TextMessage(text, role=Role.USER)
