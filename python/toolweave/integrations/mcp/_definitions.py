"""Conversion of a server's tool definitions to tools."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import mcp_types

from ..._core import Validator
from ..._slices import has_many_parts, in_slices
from ...exceptions import ContractError, SchemaError, ToolDefinitionError
from ...tools import Tool, ToolContext
from ...tools._names import valid_tool_name
from ._conversion import object_fields, tool_output, unwrap_result
from ._listing_filter import OUTPUT_SCHEMA, ToolProblem

if TYPE_CHECKING:
    from ...tools._options import ToolOptions

MAX_DESCRIPTION_CHARS = 4096
"""Maximum length of a description. Longer ones are truncated, since every prompt has them."""

MAX_TOOLS = 1000
"""Maximum number of tools of a server. Further ones are omitted."""

ToolSender = Callable[
    [str, Mapping[str, Any], ToolContext, bool], Awaitable[mcp_types.CallToolResult]
]
"""Function that calls a tool by the server's name for it. The flag is true for a call that may be
sent twice."""


# The rules for confusable names are those of the level "highly restrictive" of UTS 39: a user who
# approves a `pay` in Cyrillic letters reads "pay". Scripts are derived from character names, and
# the table of confusable characters is reduced to those that resemble lower-case Latin letters.
_COMPATIBLE_SCRIPTS = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)
"""Scripts that may be mixed, as sets; any other script stands alone."""

_SCRIPTLESS_PREFIXES = frozenset(
    {"FULLWIDTH", "HALFWIDTH", "MODIFIER", "MASCULINE", "FEMININE", "MICRO"}
)
"""First words of character names that are not the name of a script."""

_LATIN_LOOKALIKES = str.maketrans(
    # Cyrillic, Greek, Armenian, and other Latin letters.
    "авԁеһіїјкӏмнорԛгѕтцѵѡԝхуүпαβγεηικνοπρτυωχϲϳհոսցքօյıɑɡʟс",
    "abdehiijklmhopqrstuvwwxyynabyenikvonptuwxcjhnugqojiaglc",
)
"""Lower-case letters, and the Latin letters that they resemble."""


async def build_tools(
    listing: Sequence[mcp_types.Tool],
    send: ToolSender,
    *,
    server: str,
    prefix: str = "",
    options: ToolOptions | None = None,
    others: Collection[str] = (),
) -> tuple[dict[str, Tool[..., Any]], list[ToolProblem]]:
    """Return the valid tools, by the server's names, and the problems of the others.

    Args:
        listing: Definitions of the server.
        send: Function that calls a tool of the server.
        server: Name of the server.
        prefix: Prefix of the names of the tools, joined with ``_``.
        options: Options of the tools.
        others: Names of further tools that the model is shown.
    """
    tools: dict[str, Tool[..., Any]] = {}
    problems: list[ToolProblem] = []
    taken: set[str] = set()
    async for definition in in_slices(listing):
        if definition.name in tools:
            problems.append(ToolProblem(definition.name, "it is listed twice; the first counts"))
        elif len(tools) == MAX_TOOLS:
            problems.append(
                ToolProblem(definition.name, f"the server has more than {MAX_TOOLS} tools")
            )
        elif problem := _confusable_problem(definition.name, (*others, *tools)):
            problems.append(ToolProblem(definition.name, problem))
        else:
            name = valid_tool_name(definition.name, prefix, taken)
            try:
                tool = _tool(definition, name, send, server, options or {})
            except (ContractError, SchemaError, ToolDefinitionError) as err:
                problems.append(ToolProblem(definition.name, str(err)))
            else:
                tools[definition.name] = tool
                taken.add(name)
    return tools, problems


def _confusable_problem(name: str, others: Iterable[str]) -> str | None:
    """Return the problem of a name that resembles another; None if there is none."""
    if name.isascii():
        others = (other for other in others if not other.isascii())
    if scripts := mixed_scripts(name):
        return f"its name {name!a} mixes letters of {scripts}"
    for other in others:
        if other != name and is_confusable(name, other):
            return f"its name {name!a} looks like {other!a}"
    return None


def _tool(
    definition: mcp_types.Tool, name: str, send: ToolSender, server: str, options: ToolOptions
) -> Tool[..., Any]:
    hints = definition.annotations or mcp_types.ToolAnnotations()
    # A read-only or idempotent tool: its calls may be shared, and sent twice.
    repeatable = bool(hints.read_only_hint or hints.idempotent_hint)
    schema = object_fields((definition.meta or {}).get(OUTPUT_SCHEMA))
    output = Validator(schema) if schema else None

    async def call(_toolweave_context: ToolContext, **arguments: Any) -> Any:
        result = await send(definition.name, arguments, _toolweave_context, repeatable)
        if output is not None and has_many_parts(result.structured_content):
            value = await asyncio.to_thread(tool_output, name, result, output)
        else:
            value = tool_output(name, result, output)
        return value if output is None else unwrap_result(schema, value)

    call.__name__ = call.__qualname__ = name
    given: ToolOptions = {"idempotent": repeatable, **options}
    given["metadata"] = {
        **(options.get("metadata") or {}),
        "mcp": {
            "server": server,
            "tool": definition.name,
            "title": definition.title or hints.title,
            "annotations": hints.model_dump(by_alias=True, exclude_none=True),
        },
    }
    return Tool[..., Any].from_schema(
        name, definition.input_schema, call, description=_description(definition), **given
    )


def _description(definition: mcp_types.Tool) -> str | None:
    text = definition.description or definition.title
    if text is not None and len(text) > MAX_DESCRIPTION_CHARS:
        return text[:MAX_DESCRIPTION_CHARS].rstrip() + "…"
    return text


def mixed_scripts(name: str) -> str | None:
    """Return the incompatible scripts of a name as text, such as "Cyrillic and Latin"."""
    scripts = {script for ch in name if (script := _script(ch))}
    if len(scripts) < 2 or any(scripts <= together for together in _COMPATIBLE_SCRIPTS):
        return None
    *rest, last = sorted(script.capitalize() for script in scripts)
    return f"{', '.join(rest)} and {last}"


def is_confusable(name: str, other: str) -> bool:
    """Return True if two names look the same. ASCII names never do."""
    return not (name.isascii() and other.isascii()) and _skeleton(name) == _skeleton(other)


def _skeleton(name: str) -> str:
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    visible = "".join(ch for ch in plain if unicodedata.category(ch) not in {"Mn", "Me", "Cf"})
    return visible.translate(_LATIN_LOOKALIKES)


def _script(ch: str) -> str | None:
    if not ch.isalpha():
        return None
    first = unicodedata.name(ch, "UNKNOWN").partition(" ")[0].partition("-")[0]
    return None if first in _SCRIPTLESS_PREFIXES else first
