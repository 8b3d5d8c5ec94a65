"""Deferred tools, which are described after the model has found them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import toolweave as tw
from sample_natural_tools import add, call, ping
from toolweave.models import as_messages
from toolweave.natural import FunctionCalling, NaturalToolUse, NaturalToolUseParser
from toolweave.natural._prepared_tools import PreparedToolsCache
from toolweave.natural._style import Style
from toolweave.testing import RecordingObserver, ScriptedModel, expect_calls


@tw.tool(defer_loading=True)
def get_weather(city: str) -> str:
    """Look up the weather."""
    return f"8 degrees in {city}"


@tw.tool(defer_loading=True)
def send_mail(to: str, body: str) -> str:
    """Send a letter."""
    return f"sent to {to}: {body}"


ADD = tw.tool(add)
TOOLS = [get_weather, ADD, send_mail]
SEARCH = call("find_tools", '{"query": "weather"}')
WEATHER = call("get_weather", '{"city": "Oslo"}')
ASKED = tw.TextMessage("Is it cold?")


def found(*names: str, by: str = "find_tools", error: bool = False) -> tw.ToolAggregateMessage:
    """Return the history of a search."""
    text = f"Found {', '.join(f'`{name}`' for name in names)}. Call them as any other tool."
    return tw.ToolAggregateMessage(
        [tw.ToolCall("c1", by, {"query": "x"})],
        [tw.ToolResult("c1", by, text, is_error=error)],
    )


def asked(messages: Any, tools: Any = TOOLS, **options: Any) -> tuple[str, list[str]]:
    """Return the system prompt of a request, and the names of its native tools."""
    model = ScriptedModel("Yes.")
    asyncio.run(NaturalToolUseParser(model, tools, **options).complete(messages))
    [request] = model.requests
    system = [m.text for m in request.messages if isinstance(m, tw.TextMessage)]
    return system[0], [tool.name for tool in request.tools]


def headings(prompt: str) -> list[str]:
    return [line[3:] for line in prompt.splitlines() if line.startswith("## ")]


def test_the_prompt_describes_the_search_and_not_what_it_finds() -> None:
    prompt, native = asked([ASKED])
    assert headings(prompt) == ["add", "find_tools"]
    assert "There are 2 more tools" in prompt
    assert "weather" not in prompt
    assert native == []


def test_native_mode_offers_a_search_and_not_what_it_finds() -> None:
    assert asked([ASKED], tool_mode="native")[1] == ["add", "find_tools"]


@pytest.mark.parametrize(
    ("history", "described"),
    [
        ([], []),
        ([found("get_weather")], ["get_weather"]),
        ([found("send_mail", "get_weather")], ["send_mail", "get_weather"]),
        ([found("send_mail"), found("get_weather", "send_mail")], ["send_mail", "get_weather"]),
        ([found("gone", "add", "find_tools")], []),
        ([found("get_weather", error=True)], []),
        ([found("get_weather", by="ping")], []),
        ([tw.TextMessage("Found `get_weather`.")], []),
        # A model that calls a tool knows it.
        ([tw.ToolAggregateMessage([tw.ToolCall("c", "send_mail", {})], [
            tw.ToolResult("c", "send_mail", "no", is_error=True)])], ["send_mail"]),
        ([tw.ToolCallMessage([tw.ToolCall("c", "find_tools", {})]), tw.ToolResultMessage(
            [tw.ToolResult("c", "find_tools", "Found `send_mail`.")])], ["send_mail"]),
    ],
)  # fmt: skip
def test_the_history_alone_decides_what_is_described(
    history: list[tw.Message], described: list[str]
) -> None:
    messages = [ASKED, *history, tw.TextMessage("And?")]
    # Found tools come last, so that the prompt before them does not change.
    assert headings(asked(messages)[0]) == ["add", "find_tools", *described]
    assert asked(messages, tool_mode="native")[1] == ["add", "find_tools", *described]


def test_a_history_stored_as_openai_dicts_has_the_found_tools() -> None:
    saved = tw.to_openai([ASKED, found("get_weather")])
    assert "get_weather" in headings(asked([*saved, tw.TextMessage("And?")])[0])


def test_one_object_serves_conversations_that_have_found_different_tools() -> None:
    model = ScriptedModel(*["Yes."] * 4)
    parser = NaturalToolUseParser(model, TOOLS)
    histories = [[ASKED], [ASKED, found("get_weather")], [ASKED, found("send_mail")], [ASKED]]

    async def main() -> None:
        await asyncio.gather(*(parser.complete(history) for history in histories))

    asyncio.run(main())
    prompts = [request.messages[0] for request in model.requests]
    assert [headings(m.text)[2:] for m in prompts if isinstance(m, tw.TextMessage)] == [
        [], ["get_weather"], ["send_mail"], [],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "described"),
    [
        ({}, "## get_weather\n"),
        ({"style": "full", "fenced": True}, "<get_weather>\n```json\n"),
        ({"style": "full", "tag": "tool_call"}, '<tool_call name="get_weather">\n{'),
    ],
)
def test_a_natural_agent_finds_a_tool_and_calls_it(form: dict[str, Any], described: str) -> None:
    model = ScriptedModel(SEARCH, WEATHER, "It is cold.")
    observer = RecordingObserver()
    agent = tw.Agent(model, TOOLS, observer=observer, tool_mode="natural", **form)
    result = asyncio.run(agent.run("Is it cold in Oslo?"))
    assert result.text == "It is cold."
    expect_calls(observer, "find_tools", "get_weather")
    assert observer.results[1].result == "8 degrees in Oslo"
    # Both the result and the prompt describe it.
    assert described in observer.results[0].result
    first, second, third = (str(request.messages[0]) for request in model.requests)
    assert "get_weather" not in first
    assert repr(described)[1:-1] in second
    assert second == third
    # The result is valid input for a later run, also of another agent.
    other = ScriptedModel("Yes.")
    again = tw.Agent(other, TOOLS, tool_mode="natural")
    asyncio.run(again.run("Sure?", history=result.messages))
    assert "get_weather" in str(other.requests[0].messages[0])


def test_a_native_agent_finds_a_tool_and_calls_it() -> None:
    model = ScriptedModel(
        [tw.ToolCall("c1", "find_tools", {"query": "weather"})],
        [tw.ToolCall("c2", "get_weather", {"city": "Oslo"})],
        "It is cold.",
        native_tools=True,
    )
    observer = RecordingObserver()
    result = asyncio.run(tw.Agent(model, TOOLS, observer=observer).run("Is it cold in Oslo?"))
    assert result.text == "It is cold."
    assert [result.result for result in observer.results] == [
        "Found `get_weather`. Call them as any other tool.\n\n- get_weather: Look up the weather.",
        "8 degrees in Oslo",
    ]
    assert [[tool.name for tool in request.tools] for request in model.requests] == [
        ["add", "find_tools"],
        ["add", "find_tools", "get_weather"],
        ["add", "find_tools", "get_weather"],
    ]


def test_a_tool_that_was_not_searched_for_is_validated_and_runs() -> None:
    wrong = call("get_weather", '{"town": "Oslo"}')
    use = NaturalToolUse(ScriptedModel([WEATHER, wrong]), TOOLS)
    [message] = asyncio.run(use.complete("Is it cold?"))
    assert isinstance(message, tw.ToolAggregateMessage)
    assert message.tool_results[0].result == "8 degrees in Oslo"
    assert message.tool_results[1].error_code is tw.ErrorCode.INVALID_ARGUMENTS


def test_a_native_tool_that_is_to_be_called_is_offered() -> None:
    model = ScriptedModel([tw.ToolCall("c1", "get_weather", {"city": "Oslo"})])
    options = tw.ModelOptions(tool_choice="get_weather")
    asyncio.run(FunctionCalling(model, TOOLS).complete("Is it cold?", options=options))
    assert [tool.name for tool in model.requests[0].tools] == ["add", "find_tools", "get_weather"]


def test_a_tool_of_the_users_keeps_the_name_of_the_search() -> None:
    def find_tools(query: str) -> str:
        return f"Found `get_weather` in the shed, by {query}"

    model = ScriptedModel(
        call("find_tools", '{"query": "spade"}'),
        call("find_tools_2", '{"query": "mail"}'),
        "Done.",
    )
    agent = tw.Agent(model, [*TOOLS, find_tools], tool_mode="natural")
    asyncio.run(agent.run("Hi!"))
    prompts = [m.text for r in model.requests if isinstance(m := r.messages[0], tw.TextMessage)]
    assert [headings(prompt)[2:] for prompt in prompts] == [
        ["find_tools_2"],
        ["find_tools_2"],
        ["find_tools_2", "send_mail"],
    ]


def test_many_deferred_tools_keep_the_prompt_small() -> None:
    def deferred(number: int) -> Any:
        def serve(**_: Any) -> int:
            return number

        fields = {f"field_{at}": {"type": "string", "description": "x" * 80} for at in range(5)}
        schema = {"type": "object", "properties": fields}
        return tw.Tool.from_schema(
            f"service.tool_{number}", schema, serve, description="y" * 200, defer_loading=True
        )

    many = [deferred(number) for number in range(40)]
    small, _ = asked([ASKED], [ADD, *many])
    with_one, _ = asked([ASKED, found("service.tool_7")], [ADD, *many])
    large, _ = asked([ASKED], [ADD, *(tool.replace(defer_loading=False) for tool in many)])
    alone, _ = asked([ASKED], [ADD])
    assert len(small) - len(alone) < 800
    assert len(with_one) - len(small) < 2000
    assert len(large) > 30_000


def test_without_deferred_tools_nothing_changes() -> None:
    tools = [tool.replace(defer_loading=False) for tool in (get_weather, send_mail)]
    prompt, _ = asked([ASKED, found("get_weather")], tools)
    assert prompt == tw.system_prompt(tools)
    assert asked([ASKED], tools, tool_mode="native")[1] == ["get_weather", "send_mail"]
    use = NaturalToolUse(ScriptedModel(SEARCH), tools)
    [message] = asyncio.run(use.complete("Hi!"))
    assert isinstance(message, tw.TextMessage)


def test_tools_are_compiled_once_whatever_was_found() -> None:
    tools, cache = tw.Toolset([*TOOLS, ping]), PreparedToolsCache()
    prepared = cache.get(tools)
    assert cache.get(tools) is cache.get([*TOOLS, tools.get("ping")]) is prepared
    history = as_messages([ASKED, found("get_weather")])
    names = prepared.found(history)
    first = prepared.prompt("Be brief.", Style(), names)
    assert prepared.prompt("Be brief.", Style(), prepared.found(history)) is first
    assert prepared.prompt("Be brief.", Style()) != first
    tools.remove("get_weather")
    tools.add(get_weather.replace(defer_loading=False))
    assert cache.get(tools) is not prepared
    assert "get_weather" in [tool.name for tool in cache.get(tools).visible()]


def test_definitions_of_providers_can_be_deferred() -> None:
    late = {"name": "late", "input_schema": {"type": "object"}, "defer_loading": True}
    early = {"name": "early", "input_schema": {"type": "object"}}
    for tools in ([late, early], {"late": late, "early": early}):
        assert headings(asked([ASKED], tools)[0]) == ["early", "find_tools"]


def test_a_fallback_is_asked_only_of_tools_that_the_model_knows() -> None:
    def rewritten(*history: tw.Message) -> str:
        fallback = ScriptedModel('{"name": null}')
        parser = NaturalToolUseParser(
            ScriptedModel("I look."), TOOLS, fallback=fallback, rewrite_plain_replies=True
        )
        asyncio.run(parser.complete([ASKED, *history]))
        return str(fallback.requests)

    assert "send_mail" not in rewritten()
    assert "send_mail" in rewritten(found("send_mail"))


def test_a_last_answer_without_tools_has_no_search_either() -> None:
    model = ScriptedModel(SEARCH, "I cannot tell.")
    agent = tw.Agent(model, TOOLS, max_iterations=1, answer_at_limit=True, tool_mode="natural")
    assert asyncio.run(agent.run("Is it cold?")).text == "I cannot tell."
    assert "## find_tools" not in str(model.requests[1].messages)
