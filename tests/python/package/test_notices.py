"""The notices of what others wrote: complete, and in the package."""

from __future__ import annotations

import importlib.metadata
import importlib.util
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
    # Where dataclasses look for the types of their fields.
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


def written(crates: Any) -> str:
    return kept.VOCABULARY + "\n" + "\n".join(f"* {crate}" for crate in crates) + "\n"


@given(CRATES, CRATES)
def test_notices_of_other_crates_than_there_are_are_told(have: Any, want: Any) -> None:
    told = list(kept.problems(written(have), want))
    missing = [f"not in the notices: {crate}" for crate in set(want) - set(have)]
    unused = [f"in the notices, but not used: {crate}" for crate in set(have) - set(want)]
    assert sorted(told) == sorted(missing + unused)


def test_crates_that_may_not_be_used_are_told() -> None:
    crates = [kept.Crate("fxhash", "0.2.1", "MIT"), kept.Crate("a", "1.0.0", "GPL-3.0-only")]
    told = list(kept.problems(written(crates), crates))
    assert len(told) == 2
    assert told[0].startswith("not under a licence that is allowed: a 1.0.0")
    assert told[1].startswith("no longer maintained")
    assert [*kept.problems("", [])] == ["not in the notices: the types of schema.org"]


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
