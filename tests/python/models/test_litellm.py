"""`LiteLLMModel`: its requests, values that LiteLLM invents, and side effects of its import."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from servers.adapters import QUIET
from servers.dialects import DONE, anthropic_text, delta, openai_calls, openai_text
from servers.model_answers import ask_once
from toolweave import (
    FinishUpdate,
    FunctionContract,
    ReasoningDelta,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallUpdate,
    ToolResult,
    UsageUpdate,
    to_openai,
)
from toolweave.integrations.litellm import LiteLLMModel
from toolweave.protocols import ModelOptions

pytestmark = [pytest.mark.filterwarnings(line) for line in QUIET]

KEY = "sk-very-secret-0123456789"
ADD = FunctionContract("Add", "Adds.", {"type": "object", "properties": {"a": {"type": "number"}}})


def model(url: str, **options: Any) -> LiteLLMModel:
    return LiteLLMModel("openai/m", base_url=f"{url}/v1", api_key=KEY, max_retries=0, **options)


def test_the_request_has_all_options() -> None:
    sum_up = ToolAggregateMessage([ToolCall("c1", "Add", {"a": 1})], [ToolResult("c1", "Add", "2")])
    messages = [TextMessage("Be brief.", role="system"), TextMessage("1 + 1?"), sum_up]
    options = ModelOptions(
        temperature=0.5,
        max_tokens=100,
        stop=("<tool_response",),
        seed=7,
        tool_choice="Add",
        extra={"presence_penalty": 0.1},
    )
    _, request = ask_once(
        lambda url: model(url, extra={"top_p": 0.9}),
        *openai_text(["2"]),
        messages=messages,
        tools=[ADD],
        options=options,
    )
    assert request["path"] == "/v1/chat/completions"
    assert request["headers"]["authorization"] == f"Bearer {KEY}"
    sent = [{k: v for k, v in entry.items() if v is not None} for entry in to_openai(messages)]
    assert request["body"] == {
        "model": "m",
        "messages": sent,
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [ADD.to_openai()],
        "tool_choice": {"type": "function", "function": {"name": "Add"}},
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 100,
        "stop": ["<tool_response"],
        "seed": 7,
        "presence_penalty": 0.1,
    }


def test_native_calls_and_reasoning_come_as_from_the_provider() -> None:
    thought = delta(reasoning_content="Hm.")
    calls = openai_calls([("c1", "Add", ['{"a"', ": 1}"]), ("c2", "Add", ["{}"])])
    came, _ = ask_once(model, thought, *calls, tools=[ADD])
    assert came.updates == [
        ReasoningDelta("Hm."),
        ToolCallUpdate("c1", 0, "Add", None),
        ToolCallUpdate("c1", 0, None, '{"a"'),
        ToolCallUpdate("c1", 0, None, ": 1}"),
        ToolCallUpdate("c2", 1, "Add", None),
        ToolCallUpdate("c2", 1, None, "{}"),
        UsageUpdate(7, 5, 2),
        FinishUpdate("tool_calls"),
    ]


def test_requests_to_another_provider_have_its_form() -> None:
    def anthropic(url: str) -> LiteLLMModel:
        return LiteLLMModel("anthropic/claude-x", base_url=url, api_key=KEY, max_retries=0)

    came, request = ask_once(anthropic, *anthropic_text(["Hel", "lo."]))
    assert request["path"] == "/v1/messages"
    assert (came.text, came.error) == ("Hello.", None)
    assert came.updates[-1] == FinishUpdate("stop")
    assert anthropic("http://h").provider == "anthropic"


@pytest.mark.parametrize("end", [[DONE], []])
def test_a_finish_reason_invented_by_litellm_is_ignored(end: list[bytes]) -> None:
    came, _ = ask_once(model, delta(content="Well"), *end)
    assert came.error is None
    assert came.updates[0] == TextDelta("Well")
    assert came.updates[-1] == FinishUpdate("missing")


def test_a_key_from_the_environment_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    body = json.dumps({"error": {"message": f"{KEY} is bad."}}).encode()
    came, request = ask_once(
        lambda url: LiteLLMModel("openai/m", base_url=f"{url}/v1", max_retries=0),
        body,
        status=401,
        kind="application/json",
    )
    assert request["headers"]["authorization"] == f"Bearer {KEY}"
    assert came.error is not None
    assert came.error.status == 401
    assert KEY not in str(came.error)


def test_native_tools_can_be_switched_off() -> None:
    with pytest.raises(
        ValueError, match=r"LiteLLMModel\('openai/m', .*\) does not support native calls"
    ):
        ask_once(lambda url: model(url, native_tools=False), tools=[ADD])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"api_key": f"{KEY}\n"}, "the API key must be printable ASCII"),
        ({"extra": {"stream": False}}, "must not set 'stream'"),
    ],
)
def test_invalid_options_of_a_model_are_rejected_at_once(options: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says) as raised:
        LiteLLMModel("openai/m", **options)
    assert KEY not in str(raised.value)


def test_the_first_model_changes_neither_logging_nor_the_environment_and_sends_no_request(
    tmp_path: Path,
) -> None:
    program = """
import logging, os, socket, sys
def state():
    loggers = [logging.getLogger(name) for name in ("", "httpx", "openai", "LiteLLM", "asyncio")]
    return dict(os.environ), [(logger.level, list(logger.handlers)) for logger in loggers]
before = state()
reached = []
sys.addaudithook(lambda event, args: event == "socket.getaddrinfo" and reached.append(args))
from toolweave.integrations.litellm import LiteLLMModel
assert "litellm" not in sys.modules
LiteLLMModel("openai/m", api_key="x")
assert "litellm" in sys.modules
assert state() == before, state()
assert reached == [], reached
"""
    (tmp_path / ".env").write_text("FROM_A_FILE=1\n")
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PATH": "", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_application_that_has_imported_it_keeps_its_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import litellm

    monkeypatch.setattr(litellm, "suppress_debug_info", False)
    handler = logging.NullHandler()
    monkeypatch.setattr(logging.getLogger("LiteLLM"), "handlers", [handler])
    model("http://h")
    assert litellm.suppress_debug_info is False
    assert logging.getLogger("LiteLLM").handlers == [handler]


def test_adapters_import_their_clients_when_the_first_model_is_made() -> None:
    program = """
import sys
import toolweave.testing, toolweave.models.openai, toolweave.models.anthropic
import toolweave.integrations.litellm, toolweave.models.replay
print(*sorted({"openai", "anthropic", "litellm", "httpx", "pydantic"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
