"""Configuration and services that the runs of a manager share."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ..kinds import SceneStatus, SceneStopReason
from ..models import as_messages
from ._cost_tracker import CostTracker
from ._ends import full_text, log_failure, model_failure_text
from ._scene_queue import SceneQueue
from ._settings import budget_of, check_priced
from ._state import RunState, StopRun
from ._storage import QUEUE_KEY, USER_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..conversations import Conversation, ConversationStore, Interaction
    from ..costs import Budget, PriceTable
    from ..limits import RateLimiter
    from ..protocols import Journal
    from ..summary import Summarizer
    from ._actors import ActorFunction
    from ._hooks import Hooks
    from ._request import SceneRequest
    from ._scene_set import SceneSet
    from ._state import ManagerSettings
    from ._steps import SceneStep

_log = logging.getLogger("toolweave.scenes")


class SceneRuntime:
    """Configuration and services that the runs of a manager share; see `SceneManager`."""

    def __init__(
        self,
        scenes: SceneSet,
        settings: ManagerSettings,
        hooks: Hooks,
        *,
        store: ConversationStore,
        prices: PriceTable,
        budget: Budget | None,
        summarizer: Summarizer | None,
        limiter: RateLimiter | None,
        rate_key: Callable[[SceneRequest], str],
        verbose: bool,
        streaming: bool,
    ) -> None:
        self.scenes = scenes
        self.settings = settings
        self.hooks = hooks
        self.actors: list[str | ActorFunction] = []
        """The main actors, which apply in and outside of scenes."""
        self.store = store
        self._prices = prices
        self._budget = budget
        self._models = (scenes.model, None if summarizer is None else summarizer.model)
        check_priced(budget, prices, self._models)
        self._summarizer = summarizer
        self._limiter = limiter
        self._rate_key = rate_key
        self._verbose = verbose
        self._streaming = streaming

    def new_state(
        self,
        request: SceneRequest,
        key: str,
        run_id: str,
        publish: Callable[[SceneStep], None],
        *,
        verbose: bool | None = None,
        streaming: bool | None = None,
        journal: Journal | None = None,
    ) -> RunState:
        """Create the state of one run.

        Raises:
            TypeError: The budget of the request is not a budget or a number.
            ValueError: The budget of the request is out of range.
            UnpricedModelError: The request has a budget, and a model has no price.
        """
        budget = self._budget
        if request.budget is not None:
            budget = budget_of(request.budget)
            check_priced(budget, self._prices, self._models)
        return RunState(
            self.scenes,
            self.settings,
            self.hooks,
            request,
            key,
            run_id,
            CostTracker(self._prices, budget),
            publish,
            verbose=self._verbose if verbose is None else verbose,
            streaming=self._streaming if streaming is None else streaming,
            journal=journal,
        )

    async def admit(self, request: SceneRequest) -> None:
        """Wait until the rate limit allows the request.

        Raises:
            RateLimitedError: The wait would take too long.
        """
        if self._limiter is not None:
            await self._limiter.acquire(self._rate_key(request))

    async def shorten(self, state: RunState) -> None:
        """Summarize the conversation if it is long. If that fails, it stays as it is.

        Raises:
            StopRun: The budget is exceeded.
        """
        summarizer = self._summarizer
        if summarizer is None or not summarizer.is_due(state.messages):
            return
        state.emit(SceneStatus.SUMMARIZING, "Summarizing cached conversation", lifecycle=True)
        state.costs.requests += 1
        shortened = await summarizer.shorten(state.messages)
        if shortened is None:
            return
        if shortened.usage is not None:
            state.costs.add(summarizer.model, shortened.usage, estimated=shortened.estimated)
        if shortened.error is not None:
            error = shortened.error
            state.emit(
                SceneStatus.ERROR,
                model_failure_text(error),
                error=full_text(error),
                reference=log_failure(error, "a conversation could not be summarized"),
            )
        state.messages = list(shortened.messages)
        state.conversation.summary = shortened.summary or state.conversation.summary
        state.check_budget()

    async def load(self, state: RunState) -> tuple[tuple[Interaction, ...], SceneQueue | None]:
        """Load the conversation into the state.

        Returns:
            The calls that wait for the client, and the queue to resume with.

        Raises:
            MessageError: The history of the request is invalid.
            StopRun: The conversation belongs to another user.
        """
        conversation = await self.store.load(state.key)
        if conversation is None:
            state.messages = as_messages(state.request.history)
            if state.request.user is not None:
                state.conversation.metadata[USER_KEY] = state.request.user
            return (), None
        owner = conversation.metadata.get(USER_KEY)
        if owner is not None and owner != state.request.user:
            raise StopRun(
                SceneStopReason.UNAUTHORIZED, "This conversation belongs to another user."
            )
        state.messages = list(conversation.messages)
        state.conversation = conversation
        state.costs.previous = conversation.cost
        return tuple(conversation.pending), _read_queue(conversation)

    async def save(
        self, state: RunState, pending: Sequence[Interaction], queue: SceneQueue | None
    ) -> None:
        """Save the conversation.

        Args:
            state: The run.
            pending: The calls that wait for the client.
            queue: The queue to resume with when their results arrive.
        """
        conversation = state.conversation
        conversation.messages = list(state.messages)
        conversation.cost = state.costs.conversation_total
        conversation.pending = list(pending)
        conversation.scene = pending[0].scene if pending else None
        conversation.metadata.pop(QUEUE_KEY, None)
        if queue is not None:
            conversation.metadata[QUEUE_KEY] = queue.to_dict()
        await self.store.save(conversation)


def _read_queue(conversation: Conversation) -> SceneQueue | None:
    """Return the stored queue; None if there is none or it cannot be read."""
    saved = conversation.metadata.get(QUEUE_KEY)
    if saved is None:
        return None
    try:
        return SceneQueue.from_dict(saved)
    except ValueError:
        # Perhaps another version wrote it. The conversation continues without it.
        _log.warning("a scene queue cannot be read", extra={"conversation": conversation.key})
        return None
