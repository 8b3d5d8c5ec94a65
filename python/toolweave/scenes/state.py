"""What the parts of one run share: the conversation, the money, and where steps go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._core import TextMessage, ToolAggregateMessage
from ..conversations import Conversation
from ..kinds import Role, SceneStatus, SceneStopReason
from .request import SceneContext
from .steps import ExecutedTool, SceneStep

if TYPE_CHECKING:
    from collections.abc import Callable

    from .. import Message, Repair
    from ..conversations import Interaction
    from ..natural import ReplyRun
    from ..protocols import Journal, ModelOptions
    from .cost_tracker import CostTracker
    from .hooks import Hooks
    from .request import SceneMode, SceneRequest
    from .scene_set import SceneSet


class StopRun(Exception):  # noqa: N818 - it is how runs end, and no error
    """Ends a run.

    Args:
        reason: Why.
        message: The sentence of the `Error` that comes before the end; None for none.
        error: What went wrong, in full.
        exception: The exception, where there was one.
        reference: The id under which the log has it, where its text is not ours.
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
    """The run waits for its client."""

    def __init__(self, interactions: tuple[Interaction, ...]) -> None:
        super().__init__(interactions)
        self.interactions = interactions


@dataclass(frozen=True)
class ManagerSettings:
    """How the runs of a manager go; see `SceneManager`."""

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
    """What the parts of one run share.

    Args:
        cast: The scenes, and who plays them.
        rules: How the run goes.
        hooks: What the application decides.
        request: What the run is asked.
        key: The key of the conversation.
        hear: Takes the steps.
        verbose: Whether steps of the lifecycle are told.
        streaming: Whether text is told piece by piece.
        journal: Where the starts and results of calls are written down.
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
        """What is kept of the conversation."""
        self.messages: list[Message] = []
        """The conversation, without what actors say."""
        self.main_texts: list[str] = []
        """What the main actors have said in this run."""
        self.changed: list[Message] = []
        """The messages of earlier runs that have changed."""
        self.executed: list[ExecutedTool] = []
        self.entered: list[str] = []
        self.scene: str | None = None
        """The scene that is played."""
        self.answered_in: str | None = None
        """The scene that has answered last, or in which the run ended."""
        self.text = ""
        """What was answered last."""
        self.notice: str | None = None
        """A notice about it, where something is odd."""
        self.repairs: list[Repair] = []
        """The changes that plans and decisions needed."""
        self.generation_id: str | None = None
        """The id of the reply that was asked for last."""
        self.reply: ReplyRun | None = None
        """That reply, whether it still comes or not; None before the run has asked for one."""
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
        """Tells of a step; one of the lifecycle only if that is wanted."""
        if lifecycle and not self._verbose:
            return None
        # They may be read late or not at all; what was spent before them is for a later step.
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
        """Tells of what the model, or a hook in its place, has said."""
        self.emit(SceneStatus.RUNNING, text, scene=scene, message_id=message_id, notice=notice)

    def append_text(
        self, text: str, scene: str | None = None, *, notice: str | None = None
    ) -> None:
        """Adds what a hook has to say to what was answered."""
        message_id = f"{self.run_id}.said.{self._added}"
        self._added += 1
        self.messages.append(
            TextMessage(
                text, role=Role.ASSISTANT, id=message_id, run_id=self.run_id, chat_id=self.key
            )
        )
        self.emit_text(text, scene, message_id=message_id, notice=notice)

    def message_of(self, call_id: str) -> str | None:
        """The id of the message that a call stands in, the last one that has this id."""
        for message in reversed(self.messages):
            if isinstance(message, ToolAggregateMessage) and any(
                call.id == call_id for call in message.tool_calls
            ):
                return message.id
        return None

    def check_budget(self) -> None:
        """Ends the run if more was spent than the budget allows."""
        budget_error = self.costs.budget_error
        if budget_error is not None:
            raise StopRun(SceneStopReason.BUDGET, budget_error)

    def context(self, scene: str | None = None, purpose: str | None = None) -> SceneContext:
        """What actors are told of the run."""
        return SceneContext(
            self.request,
            self.key,
            scene,
            purpose,
            tuple(self.messages),
            tuple(self.executed),
        )

    def system(self, *paragraphs: str | None) -> list[Message]:
        """The system message: what holds everywhere, and what holds here."""
        parts = [
            self.settings.guardrails,
            *self.main_texts,
            *paragraphs,
        ]
        text = "\n\n".join(part.strip() for part in parts if part and part.strip())
        return [TextMessage(text, role=Role.SYSTEM)] if text else []


def not_found(name: str) -> StopRun:
    """There is no such scene."""
    return StopRun(SceneStopReason.ERROR, f"Scene '{name[:100]}' not found")


def user(text: str) -> TextMessage:
    """A word to the model that is not part of the conversation."""
    return TextMessage(text, role=Role.USER)
