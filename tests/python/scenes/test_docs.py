"""Agreement of docs/explanation/scenes.md with the code."""

from __future__ import annotations

import inspect
import re

from paths import DOCS
from toolweave import SceneManager, SceneStatus, SceneStopReason
from toolweave.scenes._hooks import Hooks

PAGE = (DOCS / "explanation/scenes.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """Return the rows of the table under a heading, without its header."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_options_are_those_of_the_manager_with_their_defaults() -> None:
    documented = {
        option.strip("`"): default.strip("`") for option, default, *_ in rows("Options") if default
    }
    parameters = inspect.signature(SceneManager).parameters.values()
    actual = {
        each.name: repr(each.default) for each in parameters if each.kind is each.KEYWORD_ONLY
    }
    assert documented == actual


def test_all_stop_reasons_are_explained() -> None:
    assert {row[0].strip("`") for row in rows("Stop reasons")} == {
        reason.value for reason in SceneStopReason
    }


def test_all_hooks_are_explained() -> None:
    documented = {re.sub(r"\(.*", "", row[0].strip("`")) for row in rows("Hooks")}
    assert documented == set(vars(Hooks()))


def test_all_statuses_are_explained() -> None:
    documented = {name for row in rows("Statuses") for name in re.findall(r"`([A-Z]\w+)`", row[0])}
    assert documented == {status.value for status in SceneStatus}
