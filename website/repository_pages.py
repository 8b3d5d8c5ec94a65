"""Pages made from files of the repository: the index of decisions, and linked sources."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
DECISION = re.compile(r"(\d{4}-\d\d-\d\d)-.*\.md")
LINK = re.compile(r"\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")
LANGUAGES = {".py": "python", ".json": "json", ".ts": "typescript", ".mjs": "javascript"}


def decisions() -> list[str]:
    """Return the names of the files with design decisions, newest first."""
    return sorted((path.name for path in (DOCS / "decisions").glob("*.md")), reverse=True)


def pages() -> dict[str, str]:
    """Return the Markdown of each page, by its path in the documentation.

    Raises:
        ValueError: A link has no target, or the name of a decision has no date.
    """
    return {"decisions/index.md": index_of_decisions(decisions()), **source_pages()}


def relink(markdown: str, page: str) -> str:
    """Point links to files of the repository to the pages that show them."""
    folder = Path(page).parent

    def pointed(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(DOCS / folder / link[1]))
        if target.is_relative_to(DOCS) or not target.exists():
            return link[0]
        shown = os.path.relpath(source_page(target.relative_to(ROOT)), folder)
        return f"]({shown}{link[2] or ''})"

    return LINK.sub(pointed, markdown)


def index_of_decisions(names: list[str]) -> str:
    """Return the index of the design decisions, newest first."""
    lines = [
        "# Decisions",
        "",
        "Choices that others may question, each with its background, the choice and its drawbacks.",
        "",
        "| date | decision |",
        "| --- | --- |",
    ]
    for name in names:
        dated = DECISION.fullmatch(name)
        if not dated:
            raise ValueError(f"docs/decisions/{name} does not begin with a date")
        title = (DOCS / "decisions" / name).read_text("utf-8").partition("\n")[0]
        lines.append(f"| {dated[1]} | [{title.removeprefix('# ')}]({name}) |")
    return "\n".join(lines) + "\n"


def source_pages() -> dict[str, str]:
    """Return a page for each file outside the documentation that a page links to."""
    pages: dict[str, str] = {}
    for path in DOCS.rglob("*.md"):
        for link in LINK.finditer(path.read_text("utf-8")):
            target = Path(os.path.normpath(path.parent / link[1]))
            if target.is_relative_to(DOCS):
                continue
            if not target.exists():
                raise ValueError(f"{path.relative_to(ROOT)} links to {link[1]}, which is missing")
            inside = target.relative_to(ROOT)
            pages[source_page(inside)] = shown_source(target, inside)
    return pages


def source_page(inside: Path) -> str:
    """Return the path of the page that shows a file or a folder of the repository."""
    return f"source/{inside.as_posix()}.md"


def shown_source(target: Path, inside: Path) -> str:
    """Return a page with the text of a file, or of the README of a folder."""
    title = f"# `{inside.as_posix()}`\n\n"
    if target.is_dir():
        target = target / "README.md"
    text = target.read_text("utf-8")
    language = LANGUAGES.get(target.suffix, "markdown")
    return f"{title}````{language}\n{text.rstrip()}\n````\n"
