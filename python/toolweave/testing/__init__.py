"""Test doubles: a model with scripted replies, and an observer that records events.

    >>> import asyncio
    >>> from toolweave.models import complete
    >>> from toolweave.testing import ScriptedModel
    >>> model = ScriptedModel("Hello.", ["Good", "bye."])
    >>> [asyncio.run(complete(model, text)).messages[0].text for text in ("Hi!", "Bye!")]
    ['Hello.', 'Goodbye.']
    >>> [request.messages[-1].text for request in model.requests]
    ['Hi!', 'Bye!']

`ScriptedModel` gives replies made up by a test. To test with replies of a real model, record them
with `StreamRecorder` and replay them with `toolweave.models.replay.ReplayModel`.
"""

from __future__ import annotations

from .._public import claim_exports
from ..models.recording import StreamRecorder
from ._observer import RecordingObserver
from ._scripted import ModelRequest, ScriptedModel

__all__ = ["ModelRequest", "RecordingObserver", "ScriptedModel", "StreamRecorder"]

claim_exports(globals())
