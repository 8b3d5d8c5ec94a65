"""Statements of docs/explanation/clients.md."""

from __future__ import annotations

import json
import re

from paths import DOCS
from toolweave.web.encoders._requests import VERSION_HEADER
from web_clients import AG_UI, AI_SDK, PROJECT

PAGE = (DOCS / "explanation/clients.md").read_text("utf-8")
DEPENDENCIES: dict[str, str] = json.loads((PROJECT / "package.json").read_text())["dependencies"]


def versions(package: str) -> list[str]:
    """Return the versions of a package that the tests install."""
    wanted = f"npm:{package}@"
    return [each.removeprefix(wanted) for each in DEPENDENCIES.values() if each.startswith(wanted)]


def test_documented_versions_are_installed_by_the_tests() -> None:
    (row,) = re.findall(r"^\| `useChat` \| (.*?) \|", PAGE, re.MULTILINE)
    assert re.findall(r"\d+\.\d+\.\d+", row) == sorted(versions("ai"))
    (row,) = re.findall(r"^\| CopilotKit .*? \| (.*?) \|", PAGE, re.MULTILINE)
    assert re.findall(r"\d+\.\d+\.\d+", row) == sorted(versions("@ag-ui/client"))


def test_every_installed_version_is_tested() -> None:
    assert sorted(each.partition(".")[0] for each in versions("ai")) == list(AI_SDK)
    assert sorted(versions("@ag-ui/client")) == list(AG_UI)


def test_the_lock_file_names_no_registry_and_pins_every_package() -> None:
    lock = json.loads((PROJECT / "package-lock.json").read_text())
    packages = [each for name, each in lock["packages"].items() if name]
    assert packages
    assert all("resolved" not in each and each["integrity"] for each in packages)


def test_the_documented_header_is_read() -> None:
    assert PAGE.count(VERSION_HEADER) >= 2
