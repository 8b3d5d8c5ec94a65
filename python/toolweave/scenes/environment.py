"""What the runs of a manager have in common."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ..kinds import SceneStatus, SceneStopReason
from ..models import as_messages
from .agenda import Agenda
from .failures import in_full, model_failed, reported
from .ledger import Ledger
from .memory import AGENDA, USER
from .options import budget_of, check_priced
from .stage import Stage, Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..conversations import Conversation, ConversationStore, Interaction
    from ..costs import Budget, PriceTable
    from ..limits import RateLimiter
    from ..protocols import Journal
    from ..summary import Summarizer
    from .actors import ActorFunction
    from .cast import Cast
    from .hooks import Hooks
    from .request import SceneRequest
    from .stage import Rules
    from .steps import SceneStep

_log = logging.getLogger("toolweave.scenes")


class Environment:
    """What the runs of a manager have in common; see `SceneManager`."""

    def __init__(
        self,
        cast: Cast,
        rules: Rules,
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
        self.cast = cast
        self.rules = rules
        self.hooks = hooks
        self.actors: list[str | ActorFunction] = []
        """The main actors."""
        self.store = store
        self._prices = prices
        self._budget = budget
        self._models = (cast.model, None if summarizer is None else summarizer.model)
        check_priced(budget, prices, self._models)
        self._summarizer = summarizer
        self._limiter = limiter
        self._rate_key = rate_key
        self._verbose = verbose
        self._streaming = streaming

    def stage(
        self,
        request: SceneRequest,
        key: str,
        run_id: str,
        hear: Callable[[SceneStep], None],
        *,
        verbose: bool | None = None,
        streaming: bool | None = None,
        journal: Journal | None = None,
    ) -> Stage:
        """What the parts of one run share.

        Raises:
            TypeError: The budget of the request is none.
            ValueError: As above.
            UnpricedModelError: The request has a budget, and a model has no price.
        """
        budget = self._budget
        if request.budget is not None:
            budget = budget_of(request.budget)
            check_priced(budget, self._prices, self._models)
        return Stage(
            self.cast,
            self.rules,
            self.hooks,
            request,
            key,
            run_id,
            Ledger(self._prices, budget),
            hear,
            verbose=self._verbose if verbose is None else verbose,
            streaming=self._streaming if streaming is None else streaming,
            journal=journal,
        )

    async def admit(self, request: SceneRequest) -> None:
        """Waits for the turn of whoever asks.

        Raises:
            RateLimitedError: That would take too long.
        """
        if self._limiter is not None:
            await self._limiter.acquire(self._rate_key(request))

    async def shorten(self, stage: Stage) -> None:
        """Sums the conversation up, if it has become long. If that fails, it stays as it is.

        Raises:
            Stop: It was too expensive.
        """
        summarizer = self._summarizer
        if summarizer is None or not summarizer.is_due(stage.messages):
            return
        stage.emit(SceneStatus.SUMMARIZING, "Summarizing cached conversation", lifecycle=True)
        stage.ledger.requests += 1
        shortened = await summarizer.shorten(stage.messages)
        if shortened is None:
            return
        if shortened.usage is not None:
            stage.ledger.add(summarizer.model, shortened.usage, estimated=shortened.estimated)
        if shortened.error is not None:
            error = shortened.error
            stage.emit(
                SceneStatus.ERROR,
                model_failed(error),
                error=in_full(error),
                reference=reported(error, "a conversation could not be summed up"),
            )
        stage.messages = list(shortened.messages)
        stage.kept.summary = shortened.summary or stage.kept.summary
        stage.check_budget()

    async def load(self, stage: Stage) -> tuple[tuple[Interaction, ...], Agenda | None]:
        """Takes up the conversation.

        Returns:
            The calls that wait for the client, and how to go on when their results are there.

        Raises:
            MessageError: The history of the request cannot be read.
            Stop: It is another user's.
        """
        kept = await self.store.load(stage.key)
        if kept is None:
            stage.messages = as_messages(stage.request.history)
            if stage.request.user is not None:
                stage.kept.metadata[USER] = stage.request.user
            return (), None
        owner = kept.metadata.get(USER)
        if owner is not None and owner != stage.request.user:
            raise Stop(SceneStopReason.UNAUTHORIZED, "This conversation belongs to another user.")
        stage.messages = list(kept.messages)
        stage.kept = kept
        stage.ledger.before = kept.cost
        return tuple(kept.pending), _agenda(kept)

    async def save(
        self, stage: Stage, waiting: Sequence[Interaction], agenda: Agenda | None
    ) -> None:
        """Keeps the conversation.

        Args:
            stage: The run.
            waiting: The calls that wait for the client.
            agenda: How to go on when their results are there.
        """
        kept = stage.kept
        kept.messages = list(stage.messages)
        kept.cost = stage.ledger.of_conversation
        kept.pending = list(waiting)
        kept.scene = waiting[0].scene if waiting else None
        kept.metadata.pop(AGENDA, None)
        if agenda is not None:
            kept.metadata[AGENDA] = agenda.to_dict()
        await self.store.save(kept)


def _agenda(kept: Conversation) -> Agenda | None:
    """How to go on; None where nothing says so that can be read."""
    written = kept.metadata.get(AGENDA)
    if written is None:
        return None
    try:
        return Agenda.from_dict(written)
    except ValueError:
        # Of another version, perhaps. The conversation goes on without it.
        _log.warning("an agenda cannot be read", extra={"conversation": kept.key})
        return None
