"""Invalid arguments are refused immediately, and named."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, is_typeddict

import pytest

import toolweave
from toolweave import (
    Agent,
    FunctionContract,
    TextMessage,
    ToolCall,
    ToolRegistry,
)
from toolweave._options import ParserOptions
from toolweave.costs import Price, PriceTable
from toolweave.evaluation import ReplyFile
from toolweave.limits import RateLimit
from toolweave.models._clients import ClientOptions
from toolweave.models.recording import RecordedReply
from toolweave.natural import FunctionCalling, NaturalToolUse
from toolweave.natural._options import ExecutorOptions, ToolUseOptions
from toolweave.scenes import SceneManager
from toolweave.store import MessageStore
from toolweave.testing import ScriptedModel
from toolweave.tools import ToolOptions
from toolweave.web import AgentResponder, Page, chat_app

MADE_HERE = frozenset(
    """
    AgUiRequest AgentResult AgentRun AiSdkRequest AsyncChatEvents CallMatcher CapturedModel
    CaseResult Chat ChatEvents CostDelta ExecutedTool HandlerRun HandoffEvent History HttpError
    InvalidOutput MCPTools MadeCall MessageCollector MessageReceipt ModelRequest Outbox
    ParsedReply PendingResult Progress PurgeResult RawText ReadOutput ReadReply RecordedReply
    RegistryWatch Reload ReplyRun Request ResponderRun RoutedTool RunRecord SceneContext
    SceneOutcome SceneResult SceneRun SceneStep Score ScorerReply ScorerRequest Selection
    ShortenedConversation StoreProblem StoredMessage StoredPendingInput SubmittedAnswer Tool
    ToolApproval ToolApprovalRequested ToolContext ToolDeferred ToolProblem ToolProgress
    ToolQuestion ToolRun ToolRunner ToolStarted Turn Watch WriteResult
    """.split()  # noqa: SIM905 - shorter than a list
)
"""Records, events and handles that the package creates itself, many of them for each call: checks
would cost time in every run, and could only find faults of the package."""

ANYTHING = {
    ("ClientResult", "result"),
    ("Repair", "after"),
    ("Repair", "before"),
    ("RunContext", "deps"),
    ("SceneRequest", "deps"),
    ("ScriptedModel", "replies"),
    ("ToolResult", "value"),
    ("Violation", "actual"),
    ("Violation", "expected"),
    ("run_handler", "deps"),
    ("run_handler", "handler"),
}
"""Parameters that take any object."""

ONE_ARGUMENT = frozenset(
    """
    as_messages as_model check_stream_event closing estimate_tokens from_langchain from_openai
    message_from_dict message_from_json read_ag_ui_request read_ai_sdk_request
    read_ai_sdk_version repair_json structure_schema supertypes to_langchain type_name
    """.split()  # noqa: SIM905 - as above
)
"""Functions of a single argument, so that an error cannot be about another one."""

ELSEWHERE = frozenset(
    """
    LangChainModel NaturalChatModel NaturalToolUseModel ToolSelector capture_content configure
    connect_http connect_stdio load load_handler main make_selector save serve_http serve_stdio
    """.split()  # noqa: SIM905 - as above
)
"""Callables that take objects of other packages, open resources, or only pass their arguments on;
their own tests check what they refuse. (`ToolSelector` is that of `toolweave.nlweb` here.)"""

CHECKED_BY_THE_CORE = {
    ("EventStream", "chunks"),
    ("JsonStream", "schema"),
    ("Origin", "owner"),
    ("Origin", "replaces"),
    ("Origin", "site"),
    ("Ranking", "names"),
    ("Ranking", "specificity"),
    ("ReplyReader", "schema"),
    ("SearchIndex", "documents"),
    ("ToolCall", "arguments"),
    ("ToolEntry", "examples"),
    ("ToolEntry", "return_struc"),
    ("Validator", "resources"),
    ("Validator", "schema"),
    ("find_simplifications", "contracts"),
    ("from_anthropic", "system"),
    ("parse_history", "transcript"),
    ("parse_stream", "chunks"),
    ("render_contracts", "contracts"),
    ("system_prompt", "contracts"),
}
"""Parameters that the core reads as a whole: its error gives the location in the value, such as
``not JSON at /a/0``, instead of the name of the parameter."""

OPTIONS: dict[str, Any] = {
    each.__name__: each
    for each in (ClientOptions, ExecutorOptions, ParserOptions, ToolOptions, ToolUseOptions)
}


def public() -> Iterator[tuple[str, str, Any]]:
    """Yield all public classes and functions, with their modules and names."""
    found = [each.name for each in pkgutil.walk_packages(toolweave.__path__, "toolweave.")]
    modules = [name for name in found if not any(part.startswith("_") for part in name.split("."))]
    modules.remove("toolweave.integrations.litellm")  # in an environment of its own
    seen: set[int] = set()
    for module in sorted(["toolweave", *modules], key=lambda name: (name.count("."), name)):
        place = importlib.import_module(module)
        for name in place.__all__:
            value = getattr(place, name)
            if id(value) not in seen and (inspect.isclass(value) or inspect.isroutine(value)):
                seen.add(id(value))
                yield module, name, value


@cache
def samples() -> dict[str, dict[str, Any]]:
    """Return valid arguments for the required parameters, by class or function."""

    async def model(messages: list[TextMessage]) -> str:
        return messages[0].text

    call = ToolCall("c", "f", {})
    contract = FunctionContract("f")
    registry = ToolRegistry()
    store = MessageStore("sqlite://")
    scripted = ScriptedModel()
    price = Price(1, 1)
    url = "http://localhost"
    text = TextMessage("Hi.")
    user = {"role": "user", "content": "Hi."}
    recorded = RecordedReply((text,), ())
    return {
        "Agent": {"model": model},
        "AgentResponder": {"agent": Agent(model)},
        "AnthropicModel": {"model": "m", "api_key": "k"},
        "Approval": {"allowed": True},
        "Answer": {"text": "a"},
        "Append": {"text": "a"},
        "AsyncChatClient": {"base_url": url},
        "PendingInput": {"key": "k", "kind": "deferred", "call": call},
        "Budget": {"limit": 1},
        "CallLimiter": {"limit": 1},
        "Case": {"id": "c", "messages": (user,), "tools": (), "expected": ()},
        "ChatClient": {"base_url": url},
        "ClientResult": {"interaction_id": "i"},
        "Conversation": {"key": "k"},
        "CostMeter": {"prices": PriceTable({"m": price})},
        "Diagnostic": {"code": "c", "severity": "error", "message": "m"},
        "Discarded": {"raw": "r", "reason": "made up"},
        "EventStream": {"chunks": [], "tools": ["f"]},
        "ExpectedCall": {"name": "f", "arguments": {}},
        "call": {"name": "f"},
        "expect_calls": {"source": [text]},
        "expect_trajectory": {"source": [text]},
        "FabricatedResult": {"name": "f", "raw": "r"},
        "FallbackModel": {"models": scripted},
        "FinishUpdate": {"reason": "stop"},
        "FunctionCalling": {"model": scripted},
        "FunctionContract": {"name": "f"},
        "FunctionModel": {"function": model},
        "Handoff": {"agent": Agent(model, name="a")},
        "HttpModel": {"base_url": url, "model": "m"},
        "Interaction": {
            "interaction_id": "i",
            "call_id": "c",
            "scene": "s",
            "function": "f",
            "arguments": {},
        },
        "InvalidToolCall": {
            "index": 0,
            "id": "c",
            "name": "f",
            "kind": "unknown_tool",
            "raw": "",
            "violations": (),
        },
        "JoinProblem": {"kind": "k", "message": "m"},
        "JoinedReply": {"messages": (), "finish_reason": "stop", "missing": (), "problems": ()},
        "NativeCall": {"name": "f", "arguments": "{}"},
        "NaturalToolUse": {"model": model},
        "NaturalToolUseParser": {"model": model},
        "OpenAIModel": {"model": "m", "api_key": "k"},
        "Origin": {"tool": "f", "owner": "Thing"},
        "Parser": {"tools": ["f"]},
        "Price": {"input": 1, "output": 1},
        "PriceTable": {"prices": {"m": price}},
        "Profile": {"model": "m"},
        "PromptTemplate": {"text": "t"},
        "Ranking": {"names": ["f"]},
        "RankingResult": {"winner": None, "order": (), "reason": "", "ties": ()},
        "RateLimit": {"calls": 1},
        "RateLimiter": {"limit": RateLimit(1)},
        "RawReply": {"case": "c", "way": "natural"},
        "ReasoningDelta": {"text": "t"},
        "ReasoningMessage": {"text": "t"},
        "Repair": {"path": "", "kind": "syntax", "before": None, "after": None},
        "ReplayModel": {"recordings": [recorded]},
        "Report": {"model": "m", "cases": (), "ways": (), "results": {}},
        "RetryPolicy": {"attempts": 1},
        "RunContext": {"deps": None},
        "Scene": {"name": "s"},
        "SceneManager": {"model": model},
        "SceneResponder": {"manager": SceneManager(model)},
        "SearchIndex": {"documents": ["d"]},
        "Simplification": {"tool": "f", "place": "", "what": "w"},
        "StoreConversations": {"store": store},
        "StreamRecorder": {"model": model},
        "Suggestion": {"label": "l", "text": "t"},
        "Summarizer": {"model": model},
        "TextDelta": {"text": "t"},
        "TextMessage": {"text": "t"},
        "ToolAggregateMessage": {"tool_calls": [], "tool_results": []},
        "ToolCall": {"id": "c", "name": "f", "arguments": {}},
        "ToolCallDelta": {"index": 0, "fragment": ""},
        "ToolCallMessage": {"tool_calls": []},
        "ToolCallStart": {"index": 0, "id": "c", "name": "f"},
        "ToolEntry": {"name": "f"},
        "ToolResult": {"tool_call_id": "c", "name": "f", "result": "r"},
        "ToolResultMessage": {"tool_results": []},
        "ToolSelector": {"registry": registry},
        "StreamEventMapper": {"chat_id": "c", "run_id": "r"},
        "UnknownMessage": {"kind": "k"},
        "UpdateReader": {"parser": toolweave.Parser(["f"])},
        "Validator": {"schema": {}},
        "Violation": {"path": "", "keyword": "k", "message": "m", "expected": "", "actual": ""},
        "Way": {"name": "natural"},
        "WayTotals": {"way": "natural", "cases": 0, "right": 0},
        "as_scorer": {"scorer": model},
        "find_simplifications": {"contracts": ["f"], "dialect": "hermes"},
        "ask_in_chat": {"call": call, "contract": contract},
        "chat_app": {"store": store, "responder": AgentResponder(Agent(model))},
        "complete": {"model": model, "messages": "Hi."},
        "consolidate": {"messages": [text]},
        "estimate_usage": {"prompt": [text], "reply": [text]},
        "evaluate": {
            "model": scripted,
            "cases": (),
            "ways": (),
            "replies": ReplyFile("replies.jsonl"),
        },
        "find_handler": {"registry": registry, "entry": toolweave.ToolEntry("f")},
        "from_anthropic": {"messages": []},
        "http_app": {"tools": []},
        "mcp_server": {"tools": []},
        "parse": {"text": "", "tools": ["f"]},
        "parse_history": {"transcript": ""},
        "parse_stream": {"chunks": [], "tools": ["f"]},
        "render_contracts": {"contracts": [contract]},
        "run_handler": {"registry": registry, "chosen": toolweave.ToolEntry("f")},
        "score": {"cases": (), "ways": (), "replies": ()},
        "system_prompt": {"contracts": [contract]},
        "to_anthropic": {"messages": []},
        "to_openai": {"messages": []},
        "tool": {"subject": model},
    }


def is_checked(name: str, value: Any) -> bool:
    """Return True if the arguments of a public class or function must be checked."""
    if name in MADE_HERE | ONE_ARGUMENT or is_typeddict(value):
        return False
    if name in ELSEWHERE and value is not toolweave.ToolSelector:
        return False
    if not inspect.isclass(value):
        return True
    is_protocol = getattr(value, "_is_protocol", False)
    return not (is_protocol or issubclass(value, (BaseException, Enum)))


def parameters_of(value: Any) -> Iterator[str]:
    """Yield the parameters of a class or function, including keyword options."""
    for each in inspect.signature(value).parameters.values():
        options = re.fullmatch(r"Unpack\[(\w+)\]", str(each.annotation))
        if each.kind is not each.VAR_KEYWORD:
            yield each.name
        elif options is not None:
            yield from OPTIONS[options[1]].__annotations__


def given(value: Any, arguments: dict[str, Any]) -> object:
    """Call a class or function with keyword arguments, where possible, and return the result."""
    rest = dict(arguments)
    first = [
        rest.pop(each.name)
        for each in inspect.signature(value).parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.VAR_POSITIONAL) and each.name in rest
    ]
    made = value(*first, **rest)
    return asyncio.run(made) if inspect.iscoroutine(made) else made


def text_with_notes(error: BaseException) -> str:
    """Return the text of an error with its notes, in which the core names the parameter."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


PUBLIC = {name: value for _, name, value in public() if is_checked(name, value)}


@pytest.mark.parametrize("name", PUBLIC)
def test_an_object_that_no_parameter_can_take_is_refused_by_the_name_of_the_parameter(
    name: str,
) -> None:
    value = PUBLIC[name]
    of_the_core = value.__module__ in ("toolweave", "toolweave._core")
    faults: list[str] = []
    for parameter in parameters_of(value):
        if (name, parameter) in ANYTHING:
            continue
        try:
            given(value, {**samples().get(name, {}), parameter: object()})
        except (TypeError, ValueError) as error:
            # Where there are no notes, before Python 3.11, the core names no parameter.
            if of_the_core and sys.version_info < (3, 11):
                continue
            if (name, parameter) in CHECKED_BY_THE_CORE:
                continue
            if not re.search(rf"\b{parameter}\b", text_with_notes(error)):
                faults.append(f"{parameter}: {error}")
        else:
            faults.append(f"{parameter} is accepted")
    assert faults == []


async def model(messages: list[TextMessage]) -> str:
    return messages[0].text


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def ask(call: ToolCall) -> bool:
    return call.name == "add"


STORE = MessageStore("sqlite://")


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (
            lambda: toolweave.ToolExecutor([], error_detail="mesage"),
            "error_detail must be 'none', 'message' or 'full', got 'mesage'",
        ),
        (
            lambda: Agent(model, options={"temperature": 0}),
            "options must be a ModelOptions or None, got an object of the type dict",
        ),
        (
            lambda: SceneManager(model, options={"temperature": 0}),
            "options must be a ModelOptions or None, got an object of the type dict",
        ),
        (
            lambda: chat_app(STORE, Agent(model)),
            (
                "responder must be a function of a turn, such as an AgentResponder or a "
                "SceneResponder, got an object of the type Agent"
            ),
        ),
        (
            lambda: chat_app(AgentResponder(Agent(model)), STORE),
            "store must be a MessageStore, got an object of the type AgentResponder",
        ),
        (
            lambda: AgentResponder(model),
            (
                "agent must be an Agent or a function of a turn that returns one, got an async "
                "function; pass a model to an Agent"
            ),
        ),
        (
            lambda: Page(directory="."),
            "directory must be a folder with an index.html, got '.'",
        ),
        (
            lambda: Agent(model, [add], approver=ask),
            (
                "approver must be a function of a call and the contract of its tool or None, "
                "called with (call, contract); this one takes (call: 'ToolCall') -> 'bool'"
            ),
        ),
        (
            lambda: Agent([add], model),
            (
                "model must have a method `stream`, be an async function of the messages that "
                "returns a str, or an async generator function of strs; got list"
            ),
        ),
        (
            lambda: Agent(model, [add], timout=3),
            "unknown option 'timout'; did you mean 'timeout'?",
        ),
        (
            lambda: Agent(model, [add], system_prompt="Be brief."),
            "unknown option 'system_prompt'; the options are accept, answer_at_limit, approval_",
        ),
        (
            lambda: toolweave.ToolExecutor([], timeout="60"),
            "timeout must be a number above 0, or None, got '60'",
        ),
        (
            lambda: SceneManager(model, error_detail="ful"),
            "error_detail must be 'none', 'message' or 'full', got 'ful'",
        ),
    ],
)
def test_a_mistake_raises_where_it_is_made(make: Callable[[], object], error: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        make()
    assert str(caught.value).startswith(error)


@pytest.mark.parametrize(
    "function",
    [
        Agent,
        FunctionCalling,
        NaturalToolUse,
        SceneManager,
        Agent(model).run_sync,
        SceneManager(model).run_sync,
    ],
    ids=lambda function: function.__qualname__,
)
def test_a_misspelled_option_is_named_with_the_right_one(function: Callable[..., Any]) -> None:
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.KEYWORD_ONLY:
            continue
        with pytest.raises(TypeError) as caught:
            function(model, **{name[0] + name: None})
        assert str(caught.value) == f"unknown option '{name[0]}{name}'; did you mean {name!r}?"


def test_a_page_may_be_named_by_a_string(tmp_path: Path) -> None:
    (tmp_path / "index.html").touch()
    assert Page(directory=str(tmp_path)).directory == tmp_path
