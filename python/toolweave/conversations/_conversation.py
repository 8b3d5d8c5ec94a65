"""Conversations as data."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from .._checks import check_items, check_mapping, check_text, check_type
from .._core import MessageBase
from ..costs import Cost
from ..models._conversation import stored_messages

if TYPE_CHECKING:
    from typing_extensions import Self

    from .._messages import Message

_USER_KEY = "toolweave.user"
"""Metadata key of the user."""


@dataclass(frozen=True)
class Interaction:
    """A call that waits for the client to run it."""

    interaction_id: str
    """The id that the client uses for the call."""
    call_id: str
    """The id of the call in the conversation."""
    scene: str
    """The scene of the call."""
    function: str
    """The name of the tool."""
    arguments: Mapping[str, Any]
    """The arguments of the call."""

    def __post_init__(self) -> None:
        for name in ("interaction_id", "call_id", "scene", "function"):
            check_text(name, getattr(self, name))
        check_mapping("arguments", self.arguments)

    def to_dict(self) -> dict[str, Any]:
        """Return the call as a JSON object."""
        return {
            "interactionId": self.interaction_id,
            "callId": self.call_id,
            "scene": self.scene,
            "function": self.function,
            "arguments": dict(self.arguments),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Create a call from the output of `to_dict`.

        Raises:
            ValueError: A field is missing or invalid. The message names the field.
        """
        return cls(
            _text(fields, "interactionId"),
            _text(fields, "callId"),
            _text(fields, "scene"),
            _text(fields, "function"),
            _object(fields, "arguments"),
        )


@dataclass
class Conversation:
    """The stored data of one conversation.

    Example:
        >>> conversation = Conversation("ann-1", [TextMessage("Hi!")], metadata={"tenant": 7})
        >>> Conversation.from_dict(conversation.to_dict()) == conversation
        True
    """

    key: str
    """The key of the conversation."""
    messages: list[Message] = field(default_factory=list["Message"])
    """All texts, calls and results, and summaries of removed messages."""
    summary: str | None = None
    """The last summary of removed messages."""
    cost: Cost = field(default_factory=Cost)
    """The cost so far."""
    pending: list[Interaction] = field(default_factory=list[Interaction])
    """The calls that wait for the client."""
    scene: str | None = None
    """The scene of the pending calls; None if there are none."""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """Other data as a JSON object."""

    def __post_init__(self) -> None:
        check_text("key", self.key)
        check_items("messages", self.messages, MessageBase, "a list of messages")
        check_text("summary", self.summary, none=True)
        check_type("cost", self.cost, Cost, "a Cost")
        check_items("pending", self.pending, Interaction, "a list of interactions")
        check_text("scene", self.scene, none=True)
        check_mapping("metadata", self.metadata)

    @property
    def user(self) -> str | None:
        """The user that the conversation belongs to; None if it is not bound to one."""
        user: object = self.metadata.get(_USER_KEY)
        return user if isinstance(user, str) else None

    @user.setter
    def user(self, user: str | None) -> None:
        self.metadata.pop(_USER_KEY, None)
        if user is not None:
            self.metadata[_USER_KEY] = user

    def copy(self) -> Conversation:
        """Return an independent copy."""
        return replace(
            self,
            messages=list(self.messages),  # messages are immutable
            pending=copy.deepcopy(self.pending),
            metadata=copy.deepcopy(self.metadata),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the conversation as a JSON object: camelCase names, messages as on the wire."""
        return {
            "key": self.key,
            "messages": [message.to_dict() for message in self.messages],
            "summary": self.summary,
            "cost": self.cost.to_dict(),
            "pending": [call.to_dict() for call in self.pending],
            "scene": self.scene,
            "metadata": copy.deepcopy(self.metadata),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Create a conversation from the output of `to_dict`; all fields but the key are optional.

        Raises:
            MessageError: A message is invalid. The message says which one and where.
            TypeError: An amount is not a number.
            ValueError: Another field is missing or invalid. The message names the field.
        """
        return cls(
            _text(fields, "key"),
            stored_messages(_objects(fields, "messages")),
            _text(fields, "summary", optional=True),
            Cost.from_dict(_object(fields, "cost", optional=True)),
            [Interaction.from_dict(call) for call in _objects(fields, "pending")],
            _text(fields, "scene", optional=True),
            copy.deepcopy(dict(_object(fields, "metadata", optional=True))),
        )


def _text(fields: Mapping[str, Any], name: str, *, optional: bool = False) -> Any:
    value: object = fields.get(name)
    if value is None and optional:
        return None
    if not isinstance(value, str):
        raise ValueError(f"`{name}` of a conversation must be a string, got {type(value).__name__}")
    return value


def _object(fields: Mapping[str, Any], name: str, *, optional: bool = False) -> Mapping[str, Any]:
    value: object = fields.get(name)
    if value is None and optional:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(
            f"`{name}` of a conversation must be an object, got {type(value).__name__}"
        )
    return cast("Mapping[str, Any]", value)


def _objects(fields: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value: object = fields.get(name, [])
    if not isinstance(value, (list, tuple)) or not all(
        isinstance(each, Mapping) for each in cast("list[object]", value)
    ):
        raise ValueError(f"`{name}` of a conversation must be a list of objects, got {value!r}")
    return list(cast("list[Mapping[str, Any]]", value))
