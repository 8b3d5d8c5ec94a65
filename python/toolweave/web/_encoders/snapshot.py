"""The messages of a thread, as a client has them after reading the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .json_fields import items_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Clients keep messages of these roles, unless a snapshot has some.
_CLIENT_ROLES = ("activity", "reasoning")


class MessageSnapshot:
    """The messages that a snapshot must have.

    Args:
        history: The messages of earlier turns.
    """

    def __init__(self, history: Sequence[Mapping[str, object]]) -> None:
        self._history = [each for each in history if each.get("role") not in _CLIENT_ROLES]
        # Ids of messages, in order; results follow the message of their call.
        self._order: list[str] = []
        self._texts: dict[str, tuple[str, list[str]]] = {}
        self._calls: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        self._arguments: dict[str, list[str]] = {}
        self._results: dict[str, dict[str, object]] = {}
        self.differs = False
        """True if clients have other messages after reading the stream."""

    def known_calls(self) -> set[str]:
        """Return the ids of calls in the history."""
        calls = [call for each in self._history for call in items_of(each, "toolCalls")]
        return {id_ for call in calls if (id_ := text_of(call, "id")) is not None}

    def text(self, message: str, role: str, delta: str) -> None:
        """Add a delta of text."""
        self._add_message(message)
        self._texts.setdefault(message, (role, []))[1].append(delta)

    def call(self, message: str, call_id: str, name: str) -> None:
        """Add a call."""
        self._add_message(message)
        self._calls.setdefault(message, []).append(call_id)
        self._names[call_id] = name
        self._arguments[call_id] = []

    def arguments(self, call_id: str, delta: str) -> None:
        """Add a delta of a call's arguments."""
        self._arguments[call_id].append(delta)

    def correct(self, call_id: str, arguments: str) -> None:
        """Replace the arguments of a call, which differ from the streamed ones."""
        self._arguments[call_id] = [arguments]
        self.differs = True

    def result(self, message: str, call_id: str, content: str, error: str | None) -> None:
        """Add the result of a call, with its error code if it failed."""
        message_fields: dict[str, object] = {
            "id": message,
            "role": "tool",
            "toolCallId": call_id,
            "content": content,
        }
        if error is not None:
            # Some clients show only this field.
            message_fields["error"] = content or error
            message_fields["metadata"] = {"error": error}
            self.differs = True
        self._results[call_id] = message_fields

    def messages(self) -> list[Mapping[str, object]]:
        """Return all messages in the format of AG-UI."""
        known = {each.get("id") for each in self._history}
        written: list[Mapping[str, object]] = list(self._history)
        written += [each for id_, each in self._results.items() if id_ not in self._names]
        for message in self._order:
            if message in known:
                continue
            role, pieces = self._texts.get(message, ("assistant", []))
            entry: dict[str, object] = {"id": message, "role": role}
            if pieces:
                entry["content"] = "".join(pieces)
            calls = self._calls.get(message, ())
            if calls:
                entry["toolCalls"] = [self._call(each) for each in calls]
            written.append(entry)
            written += [self._results[each] for each in calls if each in self._results]
        return written

    def _add_message(self, message: str) -> None:
        if message not in self._texts and message not in self._calls:
            self._order.append(message)

    def _call(self, call_id: str) -> dict[str, object]:
        arguments = "".join(self._arguments[call_id]) or "{}"
        function = {"name": self._names[call_id], "arguments": arguments}
        return {"id": call_id, "type": "function", "function": function}
