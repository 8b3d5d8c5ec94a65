"""Formatting of a chat's events as readable lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .screens import Line, LineKind, Screen, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

BAR = 20
"""Width of the bar of a score of 100, in characters."""

MAX_SHOWN = 200
"""Maximum number of characters of a shown value."""

_STATES = {
    "awaiting_approval": "waits for approval",
    "approved": "is approved",
    "denied": "is denied",
    "awaiting_answer": "asks",
    "deferred": "is deferred",
}


class View:
    """A view that shows the events of a chat on a screen.

    Args:
        screen: Screen for the lines.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._text = ""
        self._kind = LineKind.TEXT
        self._names: dict[str, str] = {}

    def write(self, kind: LineKind, text: str) -> None:
        """Show lines of text."""
        if kind in (LineKind.TITLE, LineKind.END):
            self._end_line()
        for line in text.split("\n"):
            self._screen.show(Line(kind, line))

    def show_event(self, event: Mapping[str, Any]) -> None:
        """Show an event; unknown kinds are ignored."""
        match event["kind"]:
            case "text" | "reasoning":
                self._show_text(event)
            case "tools_call":
                for call in event["toolCalls"]:
                    self._show_call(call)
            case "tool_state":
                self._show_state(event)
            case "tool_result":
                self._show_result(event)
            case "tools_aggregate":
                self._show_aggregate(event)
            case "selection":
                self._show_selection(event)
            case "scene":
                self._show_scene(event["step"])
            case "usage":
                tokens = f"{event['inputTokens']} tokens read, {event['outputTokens']} written"
                self.write(LineKind.NOTE, tokens)
            case "error":
                self.write(LineKind.FAILED, event["message"])
            case "run":
                self._show_run(event)
            case _:
                pass

    def _show_text(self, event: Mapping[str, Any]) -> None:
        kind = LineKind.THINKS if event["kind"] == "reasoning" else LineKind.TEXT
        kind = LineKind.USER if event.get("role") == "user" else kind
        if kind is not self._kind:
            self._end_line()
            self._kind = kind
        *lines, self._text = (self._text + event.get("delta", "")).split("\n")
        for line in lines:
            if line.strip():
                self._screen.show(Line(kind, line))
        if event.get("done"):
            self._end_line()

    def _end_line(self) -> None:
        text, self._text = self._text, ""
        if text.strip():
            self._screen.show(Line(self._kind, text))

    def _show_call(self, call: Mapping[str, Any]) -> None:
        self._end_line()
        name = self._names[call["toolCallId"]] = f"{call['name']} {len(self._names) + 1}"
        arguments = call.get("arguments", call.get("raw", ""))
        self.write(LineKind.CALL, f"{name}  {_short(json.dumps(arguments, ensure_ascii=False))}")
        for repair in call.get("repairs", ()):
            self.write(
                LineKind.REPAIRED, f"{name}  {repair['kind']} {repair.get('path', '')}".rstrip()
            )
        if "invalid" in call:
            self.write(LineKind.INVALID, f"{name}  {call['invalid']['message']}")

    def _show_state(self, event: Mapping[str, Any]) -> None:
        name = self._name(event)
        if event["state"] == "running":
            self.write(LineKind.STARTS, name)
            return
        if event["state"] == "awaiting_approval" and "key" not in event:
            # The event with the key of the approval follows.
            return
        parts: list[str] = [_STATES.get(event["state"]) or event["state"]]
        parts += [str(event[key]) for key in ("question", "reason") if key in event]
        self.write(LineKind.NOTE, f"{name} {': '.join(parts)}")

    def _show_result(self, event: Mapping[str, Any]) -> None:
        kind = (
            LineKind.FAILED
            if event["isError"]
            else LineKind.RESULT
            if event["done"]
            else LineKind.WORKS
        )
        self.write(kind, f"{self._name(event)}  {_short(event['result'])}")

    def _show_aggregate(self, event: Mapping[str, Any]) -> None:
        done = {result["toolCallId"] for result in event["toolResults"]}
        names = [self._name(call) for call in event["toolCalls"]]
        self.write(LineKind.ALL, f"{len(done)} of {len(names)}  {', '.join(names)}")

    def _show_selection(self, event: Mapping[str, Any]) -> None:
        for one in event["ranking"]:
            score = one.get("score")
            bar = "" if score is None else "#" * round(score * BAR / 100)
            shown = one.get("error", "-") if score is None else f"{score:g}"
            self.write(LineKind.NOTE, f"{bar:>{BAR}} {shown:>5}  {one['tool']}")
        self.write(LineKind.NOTE, f"selected: {event.get('tool', 'no tool')}")

    def _show_scene(self, step: Mapping[str, Any]) -> None:
        if step["status"] == "Streaming":
            return
        cost = f"  {step['cost']} USD" if "cost" in step else ""
        self.write(LineKind.NOTE, f"{step['status']}: {_short(step.get('message', ''))}{cost}")

    def _show_run(self, event: Mapping[str, Any]) -> None:
        if event["status"] == "finished":
            self._end_line()
            why = f": {event['error']}" if "error" in event else ""
            self.write(
                LineKind.NOTE, f"the run has ended, {event.get('stopReason', 'completed')}{why}"
            )

    def _name(self, event: Mapping[str, Any]) -> str:
        call_id: str = event["toolCallId"]
        return self._names.get(call_id, call_id)


def _short(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= MAX_SHOWN else f"{shown[: MAX_SHOWN - 1]}…"
