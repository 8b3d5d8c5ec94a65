"""Log records go to `toolweave.<area>`, and nowhere unless the application configures logging.

Only servers show their warnings without that.
"""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

import toolweave


def test_the_package_logger_has_a_handler_that_drops_records() -> None:
    handlers = logging.getLogger(toolweave.__name__).handlers
    assert logging.NullHandler in map(type, handlers)


def test_the_package_logger_leaves_level_and_propagation_to_the_application() -> None:
    logger = logging.getLogger(toolweave.__name__)
    assert logger.level == logging.NOTSET
    assert logger.propagate
    assert not logger.disabled


def test_a_warning_prints_nothing_where_logging_is_not_configured() -> None:
    program = "import logging, toolweave; logging.getLogger('toolweave.parser').warning('ignored')"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=True, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_a_server_shows_errors_once_whether_logging_is_configured_or_not() -> None:
    program = """
from logging import basicConfig, getLogger

from toolweave import Agent
from toolweave.store import MessageStore
from toolweave.testing import ScriptedModel
from toolweave.web import AgentResponder, chat_app

for _ in range(2):
    chat_app(MessageStore("sqlite://"), AgentResponder(Agent(ScriptedModel("Hi."))))
getLogger("toolweave.web").error("a run has failed")
getLogger("toolweave.web").info("not shown")
basicConfig(format="configured: %(message)s")
getLogger("toolweave.web").error("another one")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stderr == "a run has failed\nconfigured: another one\n"


def test_a_decision_about_a_call_is_one_record_without_its_arguments(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reply = '<Add>{"a": 1,}</Add> <tool_call name="Ask">{}</tool_call> <tool_response>5'
    with caplog.at_level(logging.INFO, "toolweave.parser"):
        toolweave.parse(reply, ["Add"])
    repaired, refused, fabricated = caplog.records
    assert {record.name for record in caplog.records} == {"toolweave.parser"}
    assert (vars(repaired)["tool"], vars(repaired)["repairs"]) == ("Add", ["trailing_comma"])
    assert (vars(refused)["tool"], vars(refused)["kind"]) == ("Ask", "unknown_tool")
    assert vars(fabricated)["tool"] is None
    assert not any("1" in record.getMessage() for record in caplog.records)


def test_a_listener_that_fails_changes_no_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    errors: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", errors.append)

    class FailingFilter(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            raise RuntimeError(record.getMessage())

    logger = logging.getLogger("toolweave.parser")
    failing = FailingFilter()
    logger.addFilter(failing)
    logger.setLevel(logging.INFO)
    try:
        events = toolweave.parse('<Add>{"a": 1,}</Add>', ["Add"])
    finally:
        logger.removeFilter(failing)
        logger.setLevel(logging.NOTSET)
    assert isinstance(events[-1], toolweave.ToolCall)
    assert len(errors) == 1
