"""Public names of a run: its plumbing is private."""

from __future__ import annotations

from toolweave import ToolRun


def test_a_run_shows_what_its_caller_needs_and_nothing_else() -> None:
    shown = [name for name in dir(ToolRun) if not name.startswith("_")]
    assert shown == [
        "aggregate",
        "cancel",
        "caught_up",
        "close",
        "error",
        "interrupt",
        "interrupted",
        "submit",
        "wait",
    ]
