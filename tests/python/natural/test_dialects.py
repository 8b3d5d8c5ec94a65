"""The choice of a model's dialect, and what depends on it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

import toolweave as tw
from coroutine_tests import on_a_loop
from sample_natural_tools import add, ping
from toolweave.agent import Agent
from toolweave.exceptions import ContractError, ModelError
from toolweave.natural import NaturalToolUse, NaturalToolUseParser
from toolweave.natural._dialects import can_teach
from toolweave.profiles import Profile
from toolweave.protocols import ModelOptions
from toolweave.scenes import SceneManager
from toolweave.testing import ScriptedModel

TAUGHT = [name for name in tw.Dialect.names() if can_teach(tw.Dialect.named(name))]
READ_ONLY = [name for name in tw.Dialect.names() if name not in TAUGHT]

LLAMA = "{%- if custom_tools %}<|python_tag|>{{ ipython }}{%- endif %}"
QWEN_CODER = "<tool_call>\n<function=example_function_name>\n<parameter=x>"


def parser_of(name: str = "my-model", tools: Any = (add,), **options: Any) -> NaturalToolUseParser:
    """Return a parser for a scripted model of this name."""
    return NaturalToolUseParser(ScriptedModel(name=name), tuple(map(tw.tool, tools)), **options)


def parser_within(maker: NaturalToolUse | Agent | SceneManager) -> NaturalToolUseParser:
    """Return the parser that an object made."""
    if isinstance(maker, NaturalToolUse):
        return maker.parser
    if isinstance(maker, Agent):
        return maker._use.parser
    return maker._settings.scenes.plain.parser


def prompt_of(parser: NaturalToolUseParser) -> str:
    """Return the system prompt of a request."""
    [system, _] = parser.request("Hi!").messages
    assert isinstance(system, tw.TextMessage)
    return system.text


def taught_by(parser: NaturalToolUseParser, tools: Any = (add,)) -> str:
    """Return the name of the dialect that a prompt teaches."""
    prompt, contracts = prompt_of(parser), tuple(map(tw.tool, tools))
    [name] = [name for name in TAUGHT if tw.system_prompt(contracts, dialect=name) == prompt]
    return name


GEMMA = Profile("gemma", dialect="gemma4")
CHOICES: list[tuple[str, dict[str, Any], str]] = [
    ("my-model", {}, "natural"),
    ("qwen3:8b", {}, "hermes"),
    ("qwen3:8b", {"dialect": "auto"}, "hermes"),
    ("qwen3:8b", {"dialect": "natural"}, "natural"),
    ("qwen3:8b", {"dialect": tw.Dialect.named("glm47")}, "glm47"),
    ("qwen3:8b", {"template": QWEN_CODER}, "qwen3_coder"),
    ("qwen3:8b", {"template": "no calls"}, "natural"),
    ("qwen3:8b", {"template": QWEN_CODER, "profile": GEMMA}, "gemma4"),
    ("qwen3:8b", {"profile": Profile("qwen3")}, "natural"),
    ("qwen3:8b", {"profile": GEMMA, "dialect": "kimi_k2"}, "kimi_k2"),
    ("granite-3.3-8b-instruct", {}, "natural"),
    ("my-model", {"dialect": "react"}, "natural"),
    ("qwen3:8b", {"dialects": ("natural",)}, "natural"),
    ("qwen3:8b", {"dialects": ("natural", "hermes")}, "hermes"),
    ("qwen3:8b", {"dialects": ("auto", "json")}, "hermes"),
    ("my-model", {"dialects": ("glm45", "natural")}, "glm45"),
    ("my-model", {"dialects": tw.Dialect.named("harmony")}, "harmony"),
]


@pytest.mark.parametrize(("name", "options", "taught"), CHOICES)
def test_the_nearest_statement_about_a_model_decides(
    name: str, options: dict[str, Any], taught: str
) -> None:
    assert taught_by(parser_of(name, **options)) == taught


def test_an_unknown_model_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "toolweave"):
        for _ in range(3):
            parser_of("a-model-that-is-logged-once").request("Hi!")
    records = [each for each in caplog.records if "dialect of a model" in each.getMessage()]
    assert [vars(each)["model"] for each in records] == ["a-model-that-is-logged-once"]


INVALID: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"dialect": "hermess"}, ValueError, r"dialect: \"hermess\" is not a dialect; known ones:\n"),
    (
        {"dialect": 3},
        TypeError,
        "dialect must be a dialect or its name, got 3",
    ),
    ({"dialect": None}, TypeError, "dialect must be a dialect or its name, got None"),
    (
        {"dialect": "hermes", "dialects": ("natural", "glm45")},
        ValueError,
        "dialect 'hermes' must be one of the dialects that are read, got natural, glm45",
    ),
    (
        {"template": b"x"},
        TypeError,
        "template must be a string or None, got an",
    ),
    ({"profile": "qwen3"}, TypeError, "profile must be a Profile"),
    ({"tag": "name_of_tag"}, ValueError, "tag must be"),
    ({"stop": "END"}, TypeError, "stop must be"),
]


@pytest.mark.parametrize(("options", "kind", "message"), INVALID)
@pytest.mark.parametrize("make", [parser_of, lambda **more: Agent(ScriptedModel(), [add], **more)])
def test_an_invalid_choice_is_an_error(
    make: Any, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        make(**options)


def test_the_defaults_of_a_profile_are_those_of_the_options() -> None:
    known = parser_of(profile=Profile("m")).request("Hi!")
    assert known == parser_of().request("Hi!")


def test_a_profile_has_the_defaults_of_other_options() -> None:
    profile = Profile(
        "m",
        style="full",
        tag="tool_call",
        fenced=True,
        stop=False,
        reminder="Call!",
        tool_mode="native",
    )
    use = NaturalToolUse(ScriptedModel(), [add], profile=profile)
    assert use.parser.native
    text = parser_of(profile=profile, tool_mode="natural")
    full: dict[str, Any] = {"style": "full", "tag": "tool_call", "fenced": True}
    assert prompt_of(text) == tw.system_prompt([tw.tool(add)], **full)
    assert text.request("Hi!").options is None
    [_, asked] = text.request("Hi!").messages
    assert isinstance(asked, tw.TextMessage)
    assert asked.text == "Hi!\n\nCall!"
    given: dict[str, Any] = {"style": "compact", "tag": "name", "fenced": False}
    own = parser_of(profile=profile, tool_mode="natural", stop=True, reminder=False, **given)
    assert prompt_of(own) == tw.system_prompt([tw.tool(add)], **given)
    assert own.request("Hi!").options == ModelOptions(stop=("<tool_response",))
    assert own.request("Hi!").messages[1] == tw.TextMessage("Hi!", natural=True)


@pytest.mark.parametrize("mode", ["natural", "native"])
def test_an_agent_takes_the_mode_of_its_profile(mode: Any) -> None:
    model = ScriptedModel("Hi.", native_tools=True)
    asyncio.run(Agent(model, [add], profile=Profile("m", tool_mode=mode)).run("Hi!"))
    [request] = model.requests
    assert bool(request.tools) == (mode == "native")


NAMES = [(name, known) for known in Profile.shipped() for name in (known.model, *known.aliases)]


@pytest.mark.parametrize(("name", "known"), NAMES)
@pytest.mark.parametrize("make", [NaturalToolUse, Agent, SceneManager])
def test_a_model_that_was_measured_is_asked_in_the_way_that_was_best(
    make: Any, name: str, known: Profile
) -> None:
    for native_tools in (False, True):
        model = ScriptedModel(name=name, native_tools=native_tools)
        parser = parser_within(make(model))
        assert parser.native == (native_tools and known.tool_mode == "native")
        in_text = parser_within(make(model, tool_mode="natural"))
        assert not in_text.native
        assert in_text._dialects.taught.name == known.dialect


def test_a_server_without_tools_is_asked_in_the_text() -> None:
    reply = '<add>{"a": 2, "b": 3}</add>'
    known = next(each for each in Profile.shipped() if each.tool_mode == "native")
    model = ScriptedModel(
        ModelError("tools are not supported", status=400),
        reply,
        name=known.model,
        native_tools=True,
    )
    [message] = asyncio.run(NaturalToolUse(model, [add]).complete("What is 2 + 3?"))
    assert isinstance(message, tw.ToolAggregateMessage)
    assert [bool(request.tools) for request in model.requests] == [True, False]


@pytest.mark.parametrize("make", [NaturalToolUse, Agent, SceneManager])
def test_a_caller_who_says_more_about_a_model_is_not_given_a_profile(make: Any) -> None:
    for known in Profile.shipped():
        model = ScriptedModel(name=known.model, native_tools=True)
        for options in ({"profile": None}, {"dialect": "natural"}, {"template": "no calls"}):
            assert parser_within(make(model, **options)).native == (make is not NaturalToolUse)


# Tools that a dialect cannot present.


DASHED = tw.FunctionContract("math-add", "Add.", {"type": "object", "properties": {}})


def test_natural_is_taught_if_the_dialect_of_the_model_cannot_present_a_tool(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "toolweave.natural"):
        model = ScriptedModel(name="Llama-4-Scout")
        parser = NaturalToolUseParser(model, [DASHED, tw.tool(add)])
        prompts = [prompt_of(parser) for _ in range(2)]
    assert prompts == [tw.system_prompt([DASHED, tw.tool(add)])] * 2
    [record] = caplog.records
    assert (vars(record)["tool"], vars(record)["dialect"]) == ("math-add", "pythonic")


def test_a_named_dialect_that_cannot_present_a_tool_is_an_error() -> None:
    with pytest.raises(ContractError, match="math-add"):
        NaturalToolUseParser(ScriptedModel(), [DASHED], dialect="pythonic")
    # In native mode nothing is presented.
    NaturalToolUseParser(ScriptedModel(), [DASHED], dialect="pythonic", tool_mode="native")


# Forms without a marker.

STRIPPED = {
    "gemma4": "call:add{a:2,b:3}",
    "mistral_v11": 'add{"a": 2, "b": 3}',
    "kimi_k2": 'functions.add:0{"a": 2, "b": 3}',
    "lfm2": "[add(a=2, b=3)]",
    "granite": '[{"name": "add", "arguments": {"a": 2, "b": 3}}]',
}


@on_a_loop
@pytest.mark.parametrize("dialect", STRIPPED)
async def test_a_dialect_that_is_known_is_read_without_its_markers(dialect: str) -> None:
    use = NaturalToolUse(ScriptedModel(STRIPPED[dialect]), [add], dialect=dialect)
    [message] = await use.complete("2 + 3?")
    assert isinstance(message, tw.ToolAggregateMessage)
    assert [result.result for result in message.tool_results] == ["5"]
    assert message.tool_calls[0].dialect == dialect


@on_a_loop
async def test_all_dialects_are_read_whatever_is_taught() -> None:
    replies = ['<add>{"a": 2, "b": 3}</add>', '[TOOL_CALLS]add[ARGS]{"a": 2, "b": 3}']
    use = NaturalToolUse(ScriptedModel(*replies), [add], dialect="hermes")
    messages = [message for _ in replies for message in await use.complete("2 + 3?")]
    calls = [call for message in messages for call in getattr(message, "tool_calls", ())]
    assert [call.dialect for call in calls] == ["natural", "mistral_v11"]


# Learning.


class Changing:
    """A model whose server accepts tools once, and then rejects them."""

    native_tools = True

    def __init__(self, first: str, *more: str, name: str = "my-model") -> None:
        self.name = name
        self._first = first
        self._more = list(more)
        self.requests: list[Sequence[tw.Message]] = []

    async def stream(
        self,
        messages: Sequence[tw.Message],
        *,
        tools: Sequence[tw.FunctionContract] = (),
        options: ModelOptions | None = None,  # noqa: ARG002 - of the protocol
    ) -> AsyncIterator[Any]:
        self.requests.append(messages)
        if tools and not self._first:
            raise ModelError("this model does not support tools", "p", 400)
        text, self._first = self._first or self._more.pop(0), ""
        yield tw.TextDelta(text)
        yield tw.FinishUpdate("stop")


HERMES = '<tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n</tool_call>'


@on_a_loop
@pytest.mark.parametrize(
    ("name", "first", "taught"),
    [
        ("my-model", HERMES, "hermes"),
        ("my-model", '{"name": "add", "parameters": {"a": 2, "b": 3}}', "llama3_json"),
        ("my-model", 'functools[{"name": "add", "arguments": {"a": 2, "b": 3}}]', "natural"),
        ("glm-4.7", HERMES, "glm47"),
    ],
)
async def test_the_dialect_of_recovered_calls_is_taught_to_an_unknown_model(
    name: str, first: str, taught: str
) -> None:
    model = Changing(first, "It is 5.", name=name)
    result = await Agent(model, [add]).run("2 + 3?")
    assert result.text == "It is 5."
    system, *_ = model.requests[-1]
    assert isinstance(system, tw.TextMessage)
    assert system.text == tw.system_prompt([tw.tool(add)], dialect=taught)
    history = tw.consolidate(
        result.messages[:-1],
        form="turn",
        dialect=taught,
        tag="name",
        fenced=False,
        provenance=False,
        tools=[tw.tool(add)],
    )
    sent = [message for message in model.requests[-1] if isinstance(message, tw.TextMessage)]
    assert [message.text for message in sent[1:]] == [message.text for message in history]


# Stop sequences.


@pytest.mark.parametrize("dialect", TAUGHT)
def test_a_stop_sequence_is_the_beginning_of_results_only(dialect: str) -> None:
    sequence = tw.Dialect.named(dialect).stop_sequence
    contract = tw.tool(add)
    calls = [tw.ToolCall(f"call_{n}", "add", {"a": n, "b": 2}) for n in range(2)]
    results = [tw.ToolResult(call.id, "add", "5") for call in calls]
    history = [tw.TextMessage("2 + 3?"), tw.ToolAggregateMessage(calls, results)]
    _, asked, given = tw.consolidate(history, tools=[contract], form="turn", dialect=dialect)
    stops = parser_of(dialect=dialect).request("Hi!").options
    if sequence is None:
        assert stops is None
        return
    assert stops == ModelOptions(stop=(sequence,))
    assert sequence in given.text
    # A model copies what its prompt shows.
    assert sequence not in tw.system_prompt([contract], dialect=dialect)
    assert sequence not in asked.text


# What else takes a dialect.


@on_a_loop
async def test_found_tools_are_described_in_the_dialect_of_the_prompt() -> None:
    tools = tw.Toolset([add, tw.tool(ping, defer_loading=True)])
    search = '<tool_call>\n{"name": "find_tools", "arguments": {"query": "ping"}}\n</tool_call>'
    use = NaturalToolUse(ScriptedModel(search), tools, dialect="hermes")
    [message] = await use.complete("Hi!")
    assert isinstance(message, tw.ToolAggregateMessage)
    assert tw.render_contracts([tw.tool(ping)], dialect="hermes") in message.tool_results[0].result


@on_a_loop
async def test_scenes_take_the_dialect_of_the_model() -> None:
    replies = [
        '<tool_call>\n{"name": "Maths", "arguments": {}}\n</tool_call>',
        HERMES,
        "It is 5.",
    ]
    for options in ({"dialect": "hermes"}, {"profile": Profile("m", dialect="hermes")}):
        model = ScriptedModel(*replies)
        manager = SceneManager(model, **options)
        manager.scene("Maths", "Works with numbers").tool(add)
        assert (await manager.run("2 + 3?")).text == "It is 5."
        for request in model.requests:
            assert "<tools>" in request.messages[0].text
            assert "### Maths" not in request.messages[0].text
