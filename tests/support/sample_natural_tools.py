"""Small tools, replies that call them in text, and `NaturalToolUse` objects for both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import toolweave as tw
from toolweave.natural import NaturalToolUse
from toolweave.testing import ScriptedModel


def add(a: int, b: int) -> int:
    return a + b


async def ping() -> str:
    return "pong"


def boom() -> None:
    raise ValueError("it broke")


def call(name: str, arguments: str = "{}") -> str:
    return f"<{name}>{arguments}</{name}>"


ADD = call("add", '{"a": 2, "b": 3}')
REPLY = ["Let me see. ", ADD, " And ", call("ping"), call("boom"), " Done.", tw.UsageUpdate(9, 8)]


def natural_use(
    *replies: Any, tools: Iterable[Any] = (add, ping, boom), **options: Any
) -> NaturalToolUse:
    return NaturalToolUse(ScriptedModel(*replies), tools, **options)
