"""An observer that records the events of calls."""

from __future__ import annotations

from typing import Any

from .._core import InvalidToolCall, ToolCall, ToolResult


class RecordingObserver:
    """An observer that records the events of calls.

    Example:
        >>> from toolweave import ToolCall
        >>> observer = RecordingObserver()
        >>> observer.on_started(ToolCall("c1", "Add", {}))
        >>> [(what, call.name) for what, call, _ in observer.events]
        [('started', 'Add')]
    """

    def __init__(self) -> None:
        self.events: list[tuple[str, ToolCall | InvalidToolCall, Any]] = []
        """Events in order: ``started``, ``progress`` or ``result``; the call; the value, if any."""

    def on_started(self, call: ToolCall) -> None:
        """Record that a call is about to run."""
        self.events.append(("started", call, None))

    def on_progress(self, call: ToolCall, value: Any) -> None:
        """Record progress."""
        self.events.append(("progress", call, value))

    def on_result(self, call: ToolCall | InvalidToolCall, result: ToolResult) -> None:
        """Record a result."""
        self.events.append(("result", call, result))

    @property
    def started(self) -> list[ToolCall]:
        """Calls that started, in order."""
        return [
            call
            for what, call, _ in self.events
            if what == "started" and isinstance(call, ToolCall)
        ]

    @property
    def progress(self) -> list[tuple[ToolCall, Any]]:
        """Calls with the progress values that they reported, in order."""
        return [
            (call, value)
            for what, call, value in self.events
            if what == "progress" and isinstance(call, ToolCall)
        ]

    @property
    def results(self) -> list[ToolResult]:
        """Results in the order of their completion."""
        return [value for what, _, value in self.events if what == "result"]
