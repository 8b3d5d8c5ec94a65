"""Preparation of requests: instructions and tools that depend on the run."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, TypeVar

from .._checks import check_callable, got
from .._core import TextMessage
from ..exceptions import ToolDefinitionError
from ..executor._invocation import call
from ..kinds import Role
from ..models import as_messages
from ..tools import RunContext, Toolset
from ..tools._deps_type import check_deps
from ..tools._function import is_tool
from ..tools._signature import name_of

if TYPE_CHECKING:
    from ..protocols import Messages
    from ..tools._function import AnyTool
    from ..tools._options import Prepare
    from ..tools._toolset import ToolLike

D = TypeVar("D")

Instruction: TypeAlias = "str | Callable[[RunContext[D]], str | Awaitable[str | None] | None]"
"""A text, or a function of the context that returns one; None or an empty text for nothing."""

Instructions: TypeAlias = "Instruction[D] | Sequence[Instruction[D]]"
"""Instructions of an agent: one, or several that are joined by empty lines."""

ToolList: TypeAlias = "Iterable[ToolLike]"

PrepareTools: TypeAlias = "Callable[[RunContext[D], list[AnyTool]], ToolList | Awaitable[ToolList]]"
"""Function that returns the tools of a request. It gets the context and all tools, in order."""


def checked_instructions(instructions: Any) -> tuple[Instruction[Any], ...]:
    """Return instructions in any form as a tuple.

    Raises:
        TypeError: A value is neither a string nor a function of the context.
    """
    if instructions is None:
        return ()
    parts: Sequence[Any] = instructions if _is_list(instructions) else (instructions,)
    for part in parts:
        if not isinstance(part, str):
            wanted = "a string, a function of a RunContext, or a list of these"
            check_callable("instructions", part, wanted, "context")
    return tuple(parts)


async def instructions_text(
    instructions: Iterable[Instruction[Any]], context: RunContext[Any]
) -> str:
    """Return the text of instructions, in order and without empty ones.

    Raises:
        TypeError: A function returned something other than a string or None.
        Exception: Any exception of a function.
    """
    texts: list[str] = []
    for part in instructions:
        text: object = part
        if not isinstance(part, str):
            text = await _call(part, f"instructions function {name_of(part)!r}", context)
            if text is not None and not isinstance(text, str):
                raise TypeError(
                    f"instructions function {name_of(part)!r} must return a string or None, got "
                    f"{got(text)}"
                )
        if isinstance(text, str) and text.strip():
            texts.append(text)
    return "\n\n".join(texts)


async def with_instructions(
    instructions: Iterable[Instruction[Any]], context: RunContext[Any], messages: Messages
) -> Messages:
    """Return a conversation with instructions before the text of its first system message.

    Raises:
        Exception: Any exception of `instructions_text`.
    """
    text = await instructions_text(instructions, context)
    if not text:
        return messages
    given = as_messages(messages)
    first = given[0] if given else None
    if isinstance(first, TextMessage) and first.role is Role.SYSTEM:
        return [first.__replace__(text=f"{text}\n\n{first.text}"), *given[1:]]
    return [TextMessage(text, role=Role.SYSTEM), *given]


async def offered_tools(
    tools: Toolset, prepare_tools: PrepareTools[Any] | None, context: RunContext[Any]
) -> Toolset:
    """Return the tools that a request offers to the model.

    Args:
        tools: All tools.
        prepare_tools: Function that selects among those that their own `prepare` offers.
        context: Context of the request.

    Raises:
        ContractError: Two tools have one name.
        ToolDefinitionError: A function returned something else than it may.
        TypeError: The dependencies are not those that a tool needs.
        Exception: Any exception of a function.
    """
    now = tools.snapshot()
    offered: list[AnyTool] = []
    is_changed = False
    for tool in now:
        prepared: AnyTool | None = tool
        if tool.prepare is not None:
            prepared = await _prepare(tool, tool.prepare, context)
        is_changed |= prepared is not tool
        if prepared is not None:
            offered.append(prepared)
    if prepare_tools is not None:
        selected = await _call(prepare_tools, "prepare_tools", context, list(offered))
        if not _is_list(selected):
            raise TypeError(f"prepare_tools must return a list of tools, got {got(selected)}")
        chosen = Toolset(selected)
        is_changed |= list(chosen) != list(now)
    else:
        chosen = Toolset.from_tools(offered) if is_changed else now
    for tool in chosen:
        check_deps(context.deps, tool.deps_type, f"tool {tool.name!r}")
    return chosen if is_changed else tools


async def _prepare(tool: AnyTool, prepare: Prepare, context: RunContext[Any]) -> AnyTool | None:
    """Return a tool as its `prepare` offers it; None if it does not."""
    offer = await _call(prepare, f"prepare of tool {tool.name!r}", context)
    if offer is None or offer is False:
        return None
    if offer is True:
        return tool
    if is_tool(offer) and offer.name == tool.name:
        return offer
    given = repr(offer) if is_tool(offer) else got(offer)
    raise ToolDefinitionError(
        f"tool {tool.name!r}: prepare must return True, False, None or a tool of this name, got "
        f"{given}",
        tool.name,
    )


async def _call(function: Callable[..., Any], owner: str, *arguments: object) -> Any:
    """Call a function of the application, in a thread if it is not async."""
    try:
        return await call(functools.partial(function, *arguments))
    except Exception as error:
        add_note = getattr(error, "add_note", None)  # from Python 3.11 on
        if add_note is not None:
            add_note(f"raised by {owner}")
        raise


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str)
