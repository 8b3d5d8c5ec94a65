"""Random model scripts for runs of agents and of scenes, and their tools."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import strategies as st

import toolweave as tw
from calculator_scenes import ADD, ENTER, Calculator, call
from parser_replies import NAMES, TOOLS, replies, split_at
from toolweave import SceneManager, ToolContext
from toolweave.executor import Deferred
from toolweave.testing import ScriptedModel
from toolweave.tools import Toolset


async def echo(context: ToolContext, **arguments: Any) -> Any:
    """Return the arguments, unless they ask for an action."""
    for key in arguments:
        if key == "fail":
            raise ValueError("broke")
        if key == "later":
            return Deferred()
        if key == "slow":
            context.progress({"at": 1})
            await asyncio.sleep(0)
    return arguments


ECHOES = Toolset(TOOLS, handlers=dict.fromkeys(NAMES, echo))

texts = st.sampled_from(
    [
        " ",
        "\n\n",
        "Hello",
        " world. ",
        "\u2003",
        tw.TextDelta(""),
        tw.ReasoningDelta(""),
        tw.ReasoningDelta(" "),
        tw.ReasoningDelta("Hm. "),
        '<Any>{"a": 1}</Any>',
        '<Any>{"slow": 1}</Any>',
        '<Any>{"fail": 1}</Any>',
        '<Any>{"a": ',
        "2}</Any>",
        "<Any>{",
        "```json\n",
        tw.UsageUpdate(3, 2, 1),
    ]
)
native = st.builds(
    tw.ToolCall,
    st.sampled_from(["a", "a", "b", "c"]),
    st.sampled_from(["Any", "Nowhere"]),
    st.sampled_from([{}, {"a": 1}, {"slow": 1}, {"fail": 1}, {"later": 1}]),
)


@st.composite
def agent_scripts(draw: st.DrawFn) -> list[list[Any]]:
    """Draw replies in pieces."""
    script = []
    for _ in range(draw(st.integers(1, 3))):
        pieces: list[Any] = draw(st.lists(texts | native, max_size=8))
        if draw(st.booleans()):
            cuts = draw(st.lists(st.integers(0, 300), max_size=4))
            pieces += split_at(draw(replies), cuts)
        if draw(st.integers(0, 4)) == 0:
            pieces.append(tw.FinishUpdate(draw(st.sampled_from(["length", "content_filter"]))))
        script.append(pieces)
    return [*script, ["Done."]]


LOCATE = call("Get_Location", '{"accuracy": 5}')

scene_pieces = st.sampled_from(
    [
        ENTER,
        ADD,
        call("Add", '{"a": 1}'),
        call("Fail"),
        call("Nope"),
        LOCATE,
        "Hello. ",
        "  ",
        "\n",
        tw.ReasoningDelta("Hm. "),
        tw.UsageUpdate(3, 2, 1),
    ]
)


def calculator_manager(*replies: Any, **options: Any) -> SceneManager:
    """Return a manager of a calculator with a client tool."""
    manager = SceneManager(ScriptedModel(*replies), **options)
    manager.scene("Calculator").service(
        Calculator(), methods={"add": "Add", "fail": "Fail"}
    ).client_tool("Get Location")
    return manager
