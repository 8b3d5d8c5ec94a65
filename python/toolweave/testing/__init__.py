"""Tests of applications: scripted and recorded models, and assertions on what a run has done.

    >>> import asyncio
    >>> from toolweave import Agent
    >>> from toolweave.testing import ScriptedModel, call, expect_calls, expect_trajectory
    >>> def add(a: int, b: int) -> int:
    ...     return a + b
    >>> model = ScriptedModel('<add>{"a": 2, "b": 3}</add>', ["It is ", "5."])
    >>> result = asyncio.run(Agent(model, [add]).run("What is 2 + 3?"))
    >>> _ = expect_calls(result, call("add", a=2, b=3))
    >>> expect_trajectory(result, requests=2, text="It is 5.", stop_reason="completed")
    >>> [request.messages[-1].text for request in model.requests][0]
    'What is 2 + 3?'

`ScriptedModel` gives replies made up by a test. The pytest fixture `recorded_model` records the
replies of a real model once, and replays them in later runs; see `docs/how-to/testing.md`. Outside
pytest, `StreamRecorder` records replies for `toolweave.models.replay.ReplayModel`.
"""

from __future__ import annotations

from .._public import claim_exports
from ..models.recording import StreamRecorder
from ._calls import MadeCall
from ._expect_calls import expect_calls
from ._expected import CallMatcher, call
from ._observer import RecordingObserver
from ._recorded_model import RecordedModelFixture
from ._scripted import ModelRequest, ScriptedModel
from ._trajectory import expect_trajectory

__all__ = [
    "CallMatcher",
    "MadeCall",
    "ModelRequest",
    "RecordedModelFixture",
    "RecordingObserver",
    "ScriptedModel",
    "StreamRecorder",
    "call",
    "expect_calls",
    "expect_trajectory",
]

claim_exports(globals())
