"""The preparation of releases, and the workflow that publishes them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from paths import README, ROOT

WORKFLOW = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
ADDRESS = "https://git.example/o/r"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"release_{name}", ROOT / f"release/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


prepare, check = load("prepare"), load("check")


def test_the_readme_of_a_package_has_only_absolute_links() -> None:
    text = prepare.absolute(README.read_text("utf-8"), ADDRESS, "v1")
    outside = re.sub(r"(?ms)^```.*?^```$|`[^`\n]+`", "", text)
    links = re.findall(r"(!?)\[[^]]*\]\(([^)]+)\)", outside)
    assert len(links) > 15
    for image, link in links:
        found = re.fullmatch(rf"{ADDRESS}/(blob|raw)/v1/([^#]+)(#.*)?", link)
        assert found is not None, link
        assert (found[1] == "raw") == bool(image)
        assert (ROOT / found[2]).is_file()


@settings(max_examples=effort(200))
@given(st.text(alphabet="[]()!`a/#:. \n", max_size=60))
def test_preparing_a_page_again_changes_nothing(text: str) -> None:
    once = prepare.absolute(text, ADDRESS, "v1")
    assert prepare.absolute(once, ADDRESS, "v1") == once


def test_code_and_absolute_links_stay() -> None:
    text = "`[a](b)` [c](https://d/e) [f](#g)\n```python\nx[0](y)\n```\n"
    assert prepare.absolute(text, ADDRESS, "v1") == text


def test_addresses_are_added_once() -> None:
    manifest = (ROOT / "pyproject.toml").read_text("utf-8")
    prepared = prepare.with_urls(manifest, ADDRESS, "v1")
    assert f'Source = "{ADDRESS}"\n' in prepared
    with pytest.raises(ValueError, match=r"already has \[project.urls\]"):
        prepare.with_urls(prepared, ADDRESS, "v1")


def test_a_tag_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Cargo.toml has version .*, the tag is v99.0.0"):
        prepare.version_of("v99.0.0")


def test_notes_are_those_of_a_version_with_a_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "ROOT", tmp_path)
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## 1.2.0, not yet released\n\nNew.\n\n## 1.1.0\n", "utf-8")
    with pytest.raises(ValueError, match=r"no section for 1\.3\.0"):
        prepare.notes("1.3.0")
    with pytest.raises(ValueError, match=r"no date for 1\.2\.0"):
        prepare.notes("1.2.0")
    changelog.write_text("# Changelog\n\n## 1.2.0, 2026-12-01\n\nNew.\n\n## 1.1.0\n", "utf-8")
    assert prepare.notes("1.2.0") == "New.\n"


def complete() -> set[str]:
    tags = [
        "manylinux_2_28_x86_64",
        "manylinux_2_28_aarch64",
        "musllinux_1_2_x86_64",
        "musllinux_1_2_aarch64",
        "macosx_10_12_x86_64",
        "macosx_11_0_arm64",
        "win_amd64",
    ]
    proxies = [f"toolweave-serve-1.2.3-{name}.{end}" for name, end in check.TARGETS.items()]
    wheels = [f"toolweave-1.2.3-cp310-abi3-{tag}.whl" for tag in tags]
    boms = [f"toolweave-1.2.3.{part}.cdx.json" for part in ("rust", "python")]
    return {"toolweave-1.2.3.tar.gz", *wheels, *proxies, *boms}


def test_a_complete_release_has_no_differences() -> None:
    assert list(check.differences(complete(), "1.2.3")) == []


@pytest.mark.parametrize("name", sorted(complete()))
def test_any_missing_or_renamed_file_is_found(name: str) -> None:
    others = complete() - {name}
    assert len(list(check.differences(others, "1.2.3"))) == 1
    assert len(list(check.differences({*others, name.replace("1.2.3", "1.2.4")}, "1.2.3"))) == 2


def test_actions_are_pinned_and_jobs_have_no_permissions_by_default() -> None:
    uses = re.findall(r"uses: (\S+)(.*)", WORKFLOW)
    assert len(uses) > 10
    for action, comment in uses:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action
    assert "\npermissions: {}\n" in WORKFLOW
    assert WORKFLOW.count(": write") == 4
