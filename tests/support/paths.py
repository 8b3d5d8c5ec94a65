"""The folders and files of the project that tests read."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases"
"""Golden cases, one folder for each area."""
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if path.parent.name != "decisions")
"""The pages of the documentation, without the decisions."""
EXAMPLES = ROOT / "examples"
README = ROOT / "README.md"
SCHEMAS = ROOT / "schemas"
SHARED = Path(os.environ.get("TOOLWEAVE_SHARED") or ROOT.parent / "shared")
"""Data outside the repository, by default in a sibling folder. It may be absent."""
