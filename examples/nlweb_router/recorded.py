"""Recorded replies of a real model, so that the example runs without one.

`Recorder` records the replies of a model; `Recorded` replays them. The key of a reply is the
question and the names of the tools, not the whole prompt, so changes to the texts of `tools.xml` do
not invalidate it. Record new replies with ``--record``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from toolweave import TextDelta, TextMessage, Update
from toolweave.models.recording import RecordedReply, StreamRecorder, save
from toolweave.models.replay import ReplayModel
from toolweave.protocols import ChatModel
from toolweave.selection import ScorerReply, ScorerRequest, as_scorer

REPLIES = Path(__file__).parent / "replies.json"


class Recorded:
    """A scorer that replays recorded replies.

    Args:
        path: File of the replies.
    """

    def __init__(self, path: Path = REPLIES) -> None:
        self._scorer = as_scorer(ReplayModel(path))

    @property
    def name(self) -> str:
        """Name of the recorded model."""
        return self._scorer.name

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        """Return the recorded reply.

        Raises:
            ModelError: No reply was recorded.
        """
        return await self._scorer.ask(request._replace(prompt=_key(request)))


class Recorder:
    """A scorer that asks a model and records its replies.

    Args:
        model: The model.
    """

    def __init__(self, model: ChatModel) -> None:
        self._recorder = StreamRecorder(model)
        self._scorer = as_scorer(self._recorder)
        self.replies: list[RecordedReply] = []

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._scorer.name

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        """Ask the model. Requests must not overlap."""
        reply = await self._scorer.ask(request)
        recorded = self._recorder.replies[-1]
        # The pieces are merged, because a whole reply is easier to read.
        rest: list[Update] = [
            update for update in recorded.updates if not isinstance(update, TextDelta)
        ]
        updates = (TextDelta(str(reply.content)), *rest)
        asked = (TextMessage(_key(request)),)
        self.replies.append(replace(recorded, messages=asked, updates=updates, times=()))
        return reply

    def save(self, path: Path = REPLIES) -> None:
        """Save the recorded replies."""
        save(self.replies, path)


def _key(request: ScorerRequest) -> str:
    return f"{request.query} [{', '.join(tool.name for tool in request.tools)}]"
