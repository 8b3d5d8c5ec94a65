"""The events of a chat as lines to read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..play.screens import Kind, Line, Screen, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

BAR = 20
"""How many cells the bar of a score of 100 has."""

MAX_SHOWN = 200
"""Characters of a value that is only mentioned."""

_STATES = {
    "awaiting_approval": "waits for somebody to approve it",
    "approved": "is approved",
    "denied": "is denied",
    "awaiting_answer": "asks",
    "deferred": "answers later",
}


class View:
    """Tells what happens in a chat to a screen.

    Args:
        screen: Where the lines go.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._text = ""
        self._kind = Kind.TEXT
        self._names: dict[str, str] = {}

    def say(self, kind: Kind, text: str) -> None:
        """Shows lines that no event tells of."""
        if kind in (Kind.TITLE, Kind.END):
            self._rest()
        for line in text.split("\n"):
            self._screen.show(Line(kind, line))

    def tell(self, event: Mapping[str, Any]) -> None:
        """Tells one event; kinds that it does not know are not told."""
        match event["kind"]:
            case "text" | "reasoning":
                self._said(event)
            case "tools_call":
                for call in event["toolCalls"]:
                    self._called(call)
            case "tool_state":
                self._state(event)
            case "tool_result":
                self._result(event)
            case "tools_aggregate":
                self._aggregate(event)
            case "selection":
                self._selection(event)
            case "scene":
                self._scene(event["step"])
            case "usage":
                tokens = f"{event['inputTokens']} tokens read, {event['outputTokens']} written"
                self.say(Kind.NOTE, tokens)
            case "error":
                self.say(Kind.FAILED, event["message"])
            case "run":
                self._ran(event)
            case _:
                pass

    def _said(self, event: Mapping[str, Any]) -> None:
        kind = Kind.THINKS if event["kind"] == "reasoning" else Kind.TEXT
        kind = Kind.USER if event.get("role") == "user" else kind
        if kind is not self._kind:
            self._rest()
            self._kind = kind
        *lines, self._text = (self._text + event.get("delta", "")).split("\n")
        for line in lines:
            if line.strip():
                self._screen.show(Line(kind, line))
        if event.get("done"):
            self._rest()

    def _rest(self) -> None:
        text, self._text = self._text, ""
        if text.strip():
            self._screen.show(Line(self._kind, text))

    def _called(self, call: Mapping[str, Any]) -> None:
        self._rest()
        name = self._names[call["toolCallId"]] = f"{call['name']} {len(self._names) + 1}"
        arguments = call.get("arguments", call.get("raw", ""))
        self.say(Kind.CALL, f"{name}  {_short(json.dumps(arguments, ensure_ascii=False))}")
        for repair in call.get("repairs", ()):
            self.say(Kind.MENDED, f"{name}  {repair['kind']} {repair.get('path', '')}".rstrip())
        if "invalid" in call:
            self.say(Kind.INVALID, f"{name}  {call['invalid']['message']}")

    def _state(self, event: Mapping[str, Any]) -> None:
        name = self._name(event)
        if event["state"] == "running":
            self.say(Kind.STARTS, name)
            return
        if event["state"] == "awaiting_approval" and "key" not in event:
            # Who is asked has not been told yet.
            return
        told: list[str] = [_STATES.get(event["state"]) or event["state"]]
        told += [str(event[key]) for key in ("question", "reason") if key in event]
        self.say(Kind.NOTE, f"{name} {': '.join(told)}")

    def _result(self, event: Mapping[str, Any]) -> None:
        kind = Kind.FAILED if event["isError"] else Kind.RESULT if event["done"] else Kind.WORKS
        self.say(kind, f"{self._name(event)}  {_short(event['result'])}")

    def _aggregate(self, event: Mapping[str, Any]) -> None:
        done = {result["toolCallId"] for result in event["toolResults"]}
        names = [self._name(call) for call in event["toolCalls"]]
        self.say(Kind.ALL, f"{len(done)} of {len(names)}  {', '.join(names)}")

    def _selection(self, event: Mapping[str, Any]) -> None:
        for one in event["ranking"]:
            score = one.get("score")
            bar = "" if score is None else "#" * round(score * BAR / 100)
            shown = one.get("error", "-") if score is None else f"{score:g}"
            self.say(Kind.NOTE, f"{bar:>{BAR}} {shown:>5}  {one['tool']}")
        self.say(Kind.NOTE, f"selected: {event.get('tool', 'no tool')}")

    def _scene(self, step: Mapping[str, Any]) -> None:
        if step["status"] == "Streaming":
            return
        cost = f"  {step['cost']} USD" if "cost" in step else ""
        self.say(Kind.NOTE, f"{step['status']}: {_short(step.get('message', ''))}{cost}")

    def _ran(self, event: Mapping[str, Any]) -> None:
        if event["status"] == "finished":
            self._rest()
            why = f": {event['error']}" if "error" in event else ""
            self.say(Kind.NOTE, f"the run has ended, {event.get('stopReason', 'completed')}{why}")

    def _name(self, event: Mapping[str, Any]) -> str:
        call_id: str = event["toolCallId"]
        return self._names.get(call_id, call_id)


def _short(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= MAX_SHOWN else f"{shown[: MAX_SHOWN - 1]}…"
