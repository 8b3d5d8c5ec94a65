"""Third-party notices are complete, and included in the package."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paths import ROOT


def _loaded() -> Any:
    spec = importlib.util.spec_from_file_location("notices", ROOT / "tests/notices.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up the types of their fields there.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


kept = _loaded()
CRATES = st.lists(
    st.builds(
        kept.Crate,
        st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True),
        st.from_regex(r"\d\.\d", fullmatch=True),
        st.sampled_from(["MIT", "MIT OR Apache-2.0", "Apache-2.0 AND ISC"]),
    ),
    max_size=6,
    unique=True,
)


def written(crates: Any, packages: Any = ()) -> str:
    names = [f"* {crate}" for crate in crates] + [f"* {each}" for each in packages]
    return kept.VOCABULARY + kept.PRICES + "\n" + "\n".join(names) + "\n"


PACKAGES = st.lists(
    st.builds(
        kept.Bundled,
        st.from_regex(r"(@[a-z]{1,4}/)?[a-z][a-z0-9.-]{0,8}", fullmatch=True),
        st.from_regex(r"\d\.\d\.\d", fullmatch=True),
        st.sampled_from(["MIT", "ISC"]),
        st.just("The text."),
    ),
    max_size=4,
    unique_by=lambda package: package.name,
)


@given(PACKAGES, PACKAGES, PACKAGES)
def test_notices_that_do_not_match_the_packages_of_the_page_are_reported(
    have: Any, want: Any, locked: Any
) -> None:
    lock = {each.name: (each.version, each.licence) for each in [*locked, *want]}
    notices = written([], have) + "The text.\n"
    found = set(kept.problems(notices, [], want, lock))
    had, wanted = {str(each) for each in have}, {str(each) for each in want}
    assert found == {
        *(f"not in the notices: {each}" for each in wanted - had),
        *(f"in the notices, but not in the page: {each}" for each in had - wanted),
    }
    if want:
        first = want[0]
        lock[first.name] = ("9.9.9-next", first.licence)
        found = set(kept.problems(written([], want) + "The text.\n", [], want, lock))
        assert found == {f"in the page, but not as it is locked in web/: {first}"}
        found = set(kept.problems(written([], want), [], want[:1], {}))
        assert f"in the page, but not as it is locked in web/: {first}" in found
        assert f"no text of its licence in the notices: {first}" in found


def test_the_page_brings_the_notices_of_what_it_was_built_from() -> None:
    notices = kept.NOTICES.read_text(encoding="utf-8")
    packages = kept.bundled(kept.PAGE.read_text(encoding="utf-8"))
    assert "svelte" in {package.name for package in packages}
    assert [*kept.problems(notices, kept.listed(notices), packages, kept.locked())] == []
    for package in packages:
        assert package.text
        assert package.text in notices
    broken = notices.replace(packages[0].text, "")
    assert [*kept.problems(broken, kept.listed(notices), packages, kept.locked())]


def test_crates_are_asked_for_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    cargo = tmp_path / "cargo"
    cargo.write_text(f'#!/bin/sh\necho "$*" >> {asked}\necho "{{}}"\n')
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert kept.metadata() == {}
    [first] = asked.read_text().splitlines()
    assert {"--offline", "--locked"} <= set(first.split())
    # Only missing packages are fetched, in the locked versions.
    cargo.write_text(
        f'#!/bin/sh\necho "$*" >> {asked}\ncase "$*" in *--offline*) exit 101;; esac\necho "{{}}"\n'
    )
    assert kept.metadata() == {}
    last = asked.read_text().splitlines()[-1]
    assert "--offline" not in last
    assert "--locked" in last


@given(CRATES, CRATES)
def test_notices_that_do_not_match_the_crates_are_reported(have: Any, want: Any) -> None:
    found = list(kept.problems(written(have), want))
    missing = [f"not in the notices: {crate}" for crate in set(want) - set(have)]
    unused = [f"in the notices, but not used: {crate}" for crate in set(have) - set(want)]
    assert sorted(found) == sorted(missing + unused)


def test_forbidden_crates_are_reported() -> None:
    crates = [kept.Crate("fxhash", "0.2.1", "MIT"), kept.Crate("a", "1.0.0", "GPL-3.0-only")]
    found = list(kept.problems(written(crates), crates))
    assert len(found) == 2
    assert found[0].startswith("not under a licence that is allowed: a 1.0.0")
    assert found[1].startswith("no longer maintained")
    assert [*kept.problems("", [])] == [
        "not in the notices: the types of schema.org",
        "not in the notices: the prices of models",
    ]


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT OR Apache-2.0", True),
        ("MIT OR Apache-2.0 OR LGPL-2.1-or-later", True),
        ("GPL-2.0-only OR LGPL-2.1-or-later", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("(MIT OR Apache-2.0) AND GPL-3.0-only", False),
        ("(GPL-3.0-only OR LGPL-3.0-only) AND MIT", False),
        ("Apache-2.0 WITH LLVM-exception OR MIT", True),
        ("Apache-2.0 AND ISC", True),
        ("none", False),
    ],
)
def test_licences_are_read(licence: str, allowed: bool) -> None:
    assert kept.is_allowed(licence) is allowed


def test_all_crates_of_the_lock_file_that_are_linked_have_a_text() -> None:
    notices = kept.NOTICES.read_text(encoding="utf-8")
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    locked = set(re.findall(r'^name = "(.+)"\nversion = "(.+)"$', lock, re.MULTILINE))
    texts = set(re.findall(r"^(\S+) (\d\S*)$", notices, re.MULTILINE))
    crates = kept.listed(notices)
    assert len(crates) > 100
    for crate in crates:
        assert (crate.name, crate.version) in locked
        assert (crate.name, crate.version) in texts
    assert "fxhash" not in lock


def test_the_package_says_its_licences_and_brings_the_notices() -> None:
    distribution = importlib.metadata.distribution("toolweave")
    metadata = distribution.metadata
    assert metadata["License-Expression"] == "MIT AND CC-BY-SA-3.0"
    assert metadata.get_all("License-File") == ["LICENSE", "THIRD-PARTY-NOTICES.txt"]
    for name in ("LICENSE", "THIRD-PARTY-NOTICES.txt"):
        brought = [path for path in distribution.files or () if path.name == name]
        assert len(brought) == 1
        assert brought[0].parent.name == "licenses"
        text = Path(str(brought[0].locate())).read_text(encoding="utf-8")
        assert text == (ROOT / name).read_text(encoding="utf-8")
