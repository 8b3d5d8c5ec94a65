"""Replies of a real model, written down, so that the example runs without one.

`Recorder` asks a model and writes down what it says; `Recorded` says it again. A reply is kept by
the question and the names of the tools that it is about, and not by the whole prompt: so it still
answers where the wording of `tools.xml` has changed since. Ask the model anew with ``--record``.
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
    """A scorer that knows some replies by heart.

    Args:
        path: The recorded replies.
    """

    def __init__(self, path: Path = REPLIES) -> None:
        self._scorer = as_scorer(ReplayModel(path))

    @property
    def name(self) -> str:
        """The model whose replies they are."""
        return self._scorer.name

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        """Gives the recorded reply.

        Raises:
            ModelError: None was recorded.
        """
        return await self._scorer.ask(request._replace(prompt=_key(request)))


class Recorder:
    """A scorer that asks a model, and remembers what it said.

    Args:
        model: The model.
    """

    def __init__(self, model: ChatModel) -> None:
        self._heard = StreamRecorder(model)
        self._scorer = as_scorer(self._heard)
        self.replies: list[RecordedReply] = []

    @property
    def name(self) -> str:
        """The model."""
        return self._scorer.name

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        """Asks the model. One question at a time."""
        reply = await self._scorer.ask(request)
        heard = self._heard.replies[-1]
        # The pieces in which it came are of no use here: the whole of it is easier to read.
        rest: list[Update] = [
            update for update in heard.updates if not isinstance(update, TextDelta)
        ]
        updates = (TextDelta(str(reply.content)), *rest)
        asked = (TextMessage(_key(request)),)
        self.replies.append(replace(heard, messages=asked, updates=updates, times=()))
        return reply

    def save(self, path: Path = REPLIES) -> None:
        """Writes down what was said."""
        save(self.replies, path)


def _key(request: ScorerRequest) -> str:
    return f"{request.query} [{', '.join(tool.name for tool in request.tools)}]"
