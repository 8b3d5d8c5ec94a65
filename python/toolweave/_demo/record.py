"""Recorder of the replies of scenarios from a live model.

    python -m toolweave._demo.record URL NAME FOLDER

In the files of the folder, `{"record": {}}` marks a reply to record. It may contain the user's
input: `{"approve": false}`, or `{"answer": "small"}` to a question. Replies that have `deltas`
are kept.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..agent import Agent
from ..executor import ToolQuestion
from ..models.http import HttpModel
from ..models.recording import StreamRecorder
from ..models.replay import ReplayModel
from ..protocols import ModelOptions
from .recipes import ITEM_TYPE, load_recipe_tools
from .recordings import RECORDED_ON
from .responder import instructions
from .scenarios import alternatives, reply_of
from .tools import Tools

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from .._core import FunctionContract
    from .._messages import Message, Update
    from ..models.recording import RecordedReply
    from ..protocols import ChatModel

OPTIONS = ModelOptions(temperature=0.0, max_tokens=300)


class _ContinuingModel:
    """A model that replays known replies, then records the next one from another model."""

    native_tools = False

    def __init__(self, known: Sequence[RecordedReply], model: ChatModel) -> None:
        self._known = list(known)
        self.recorder = StreamRecorder(model)
        self.name = "known"

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        model: ChatModel = self.recorder
        if self._known:
            model = ReplayModel([self._known.pop(0)], match="order")
        async for update in model.stream(messages, tools=tools, options=options):
            yield update


async def record(model: ChatModel, name: str, fields: dict[str, Any]) -> None:
    """Record the missing replies of a scenario."""
    known: list[RecordedReply] = []
    for turn in fields["replies"]:
        replies = alternatives(turn)
        for each in replies:
            if "record" in each and "deltas" not in each:
                recorded = await _next(model, fields, known, each["record"])
                each.update(_written(recorded, name))
        reply = reply_of(fields["prompt"], replies[0])
        if isinstance(reply, str):
            # Replies after a hand-written one are hand-written too.
            break
        known.append(reply)


async def _next(
    model: ChatModel,
    fields: dict[str, Any],
    known: Sequence[RecordedReply],
    user: Mapping[str, Any],
) -> RecordedReply:
    toolset = Tools(RECORDED_ON).tools
    if fields.get("kind") == "selection":
        toolset = tuple(load_recipe_tools().toolset(ITEM_TYPE))
    asked = _ContinuingModel(known, model)
    agent = Agent(
        asked,
        [each for each in toolset if each.name in fields["tools"]],
        instructions=instructions(RECORDED_ON),
        max_iterations=len(known) + 1,
        approver=lambda _call, _contract: user.get("approve", True),
        options=OPTIONS,
    )
    async with agent.open(fields["prompt"]) as run:
        async for event in run:
            if isinstance(event, ToolQuestion):
                agent.resolve(event.key, user.get("answer", "small"))
            if asked.recorder.replies:
                return asked.recorder.replies[0]
    raise SystemExit(f"{fields['prompt']!r} was completed after {len(known)} replies")


def _written(reply: RecordedReply, name: str) -> dict[str, Any]:
    fields = {**reply.to_dict(), "model": name, "temperature": OPTIONS.temperature}
    del fields["messages"]
    return fields


async def _main(url: str, name: str, files: Sequence[Path]) -> None:
    async with HttpModel(url, name, native_tools=False) as model:
        for file in files:
            fields = json.loads(file.read_text(encoding="utf-8"))
            await record(model, name, fields)
            file.write_text(scenario_json(fields), encoding="utf-8")


def scenario_json(fields: Mapping[str, Any]) -> str:
    """Return a scenario as JSON, with each turn on a line of its own."""
    turns = [json.dumps(turn, ensure_ascii=False) for turn in fields["replies"]]
    rest = {key: value for key, value in fields.items() if key != "replies"}
    head = json.dumps(rest, ensure_ascii=False, indent=2).removesuffix("\n}")
    replies = ",\n    ".join(turns)
    return f'{head},\n  "replies": [\n    {replies}\n  ]\n}}\n'


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], sys.argv[2], sorted(Path(sys.argv[3]).glob("*.json"))))
