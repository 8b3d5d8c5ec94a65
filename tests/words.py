"""Lint of names and prose against `docs/glossary.md`.

Reports names and docstrings that contain a retired word, docstrings that do not open with a noun
phrase or an imperative (ruff's D401 checks most functions in Python, this script the rest), and
classes of the package that share a name. Reads Python, Rust and TypeScript, and the prose of the
documentation.

    python tests/words.py [PATH ...]
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"

OPENERS = frozenset(
    re.findall(
        r"\w+",
        """
        what whatever whether how who whose whom why where wherever when whenever which
        whichever is are was were can does do has had have will would may might must says gives
        takes lets keeps makes puts gets goes comes tells hears knows reads writes waits asks
        adds begins ends stops forgets finds closes returns sends refuses tries hands looks
        leaves holds brings drops sets starts deletes cancels cuts differs serves shows
        describes judges opens stands decides parses connects follows remembers walks moves
        compiles wakes sees removes appends fails converts compares raises declares joins
        settles yields loads chooses passes mends draws implements pays resets watches repeats
        searches fills traces awaits posts disconnects repairs speaks divides registers grants
        listens shortens uses collects explains spends fetches swallows validates traps works
        performs submits kills restarts prints shouts carries directs resolves provides lays
        splits nobody somebody something anything everything nothing somewhere it its there
        those these they
        """,
    )
)
NO_VERBS = frozenset({"as", "always", "plus", "this", "less", "process"})

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
BACKTICKED = re.compile(r"`([a-z]+)`")
# Duplicated by design: toolweave's selector and the drop-in replacement for NLWeb's.
TWICE = frozenset({"ToolSelector"})
# The tables themselves, past releases, and decisions, which may quote what they replaced.
OTHER_PROSE = ("CHANGELOG.md", "docs/glossary.md", "docs/decisions/", "tests/recorded/")


class Docstring(NamedTuple):
    """A docstring or a comment of documentation, and the line it begins on."""

    line: int
    text: str
    of_function: bool = False


class Source(NamedTuple):
    """Names that a file defines, its docstrings and its classes."""

    names: list[tuple[int, str]]
    docstrings: list[Docstring]
    classes: list[tuple[int, str]]


class Retired(NamedTuple):
    """Retired words."""

    in_prose: frozenset[str]
    in_names: frozenset[str]


def retired_words() -> Retired:
    """Read the retired words from the tables of the glossary."""
    section = GLOSSARY.read_text("utf-8").split("## Retired words")[1]
    tables = [table for table in re.split(r"\n\n(?=\|)", section) if table.startswith("|")]
    everywhere, in_names = (
        frozenset(
            word
            for row in table.splitlines()
            for word in BACKTICKED.findall(row.split("|")[1] if row.startswith("|") else "")
        )
        for table in tables
    )
    return Retired(everywhere, everywhere | in_names)


def words_of(name: str) -> list[str]:
    """Split a name at underscores and capitals."""
    return [word.lower() for word in WORD.findall(name)]


def python(text: str) -> Source:
    """Return what a Python file defines."""
    source = Source([], [], [])
    tree = ast.parse(text)
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name, lineno=line):
                source.names.append((line, name))
                source.classes.append((line, name))
            case ast.FunctionDef(name=name, lineno=line):
                source.names.append((line, name))
            case ast.AsyncFunctionDef(name=name, lineno=line):
                source.names.append((line, name))
            case ast.arg(arg=name, lineno=line):
                source.names.append((line, name))
            case ast.Name(id=name, ctx=ast.Store(), lineno=line):
                source.names.append((line, name))
            case ast.Attribute(attr=name, ctx=ast.Store(), lineno=line):
                source.names.append((line, name))
            case ast.alias(asname=str(name), lineno=line):
                source.names.append((line, name))
            case ast.Expr(value=ast.Constant(value=str(written)), lineno=line):
                source.docstrings.append(Docstring(line, written))
            case _:
                pass
    return source


RUST_NAME = re.compile(
    r"\b(?:fn|struct|enum|trait|mod|type|const|static|union|let(?:\s+mut)?|for|macro_rules!)\s+"
    r"([A-Za-z_]\w*)"
    r"|(?:^|[(,|])\s*(?:pub(?:\([a-z]+\))?\s+)?(?:mut\s+|&\s*)?([a-z_]\w*)\s*:(?!:)"
    r"|^\s*([A-Z]\w*)\s*(?:[({,]|$)"
)
SCRIPT_NAME = re.compile(
    r"\b(?:function|class|interface|type|enum|const|let|var|get|set)\s+([A-Za-z_$]\w*)"
    r"|(?:^|[(,{])\s*(?:readonly\s+|private\s+|#)?([a-z_]\w*)\??\s*:(?!:)"
    r"|^\s*(?:async\s+|private\s+|static\s+|#)*([a-z_]\w*)\s*\([^)]*\)\s*(?::[^{]*)?\{"
)
FUNCTION = re.compile(r"\b(?:fn|function)\b|\) => |\)(?:: .*)? \{$")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def rust(text: str) -> Source:
    """Return what a Rust file defines, its names by the look of each line."""
    return by_lines(text, RUST_NAME, ("///", "//!"))


def script(text: str) -> Source:
    """Return what a TypeScript file defines, its names by the look of each line."""
    return by_lines(text, SCRIPT_NAME, ("/**", "*"))


def by_lines(text: str, names: re.Pattern[str], marks: tuple[str, str]) -> Source:
    """Return the names and the comments of documentation that lines hold."""
    source = Source([], [], [])
    began, block = 0, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        bare = line.strip()
        if bare.startswith(marks):
            began = began if block else number
            block.append(bare.lstrip("/*!").removesuffix("*/").strip())
            continue
        if block:
            if bare.startswith("#["):
                continue
            source.docstrings.append(
                Docstring(began, "\n".join(block), bool(FUNCTION.search(bare)))
            )
            block = []
        if bare.startswith(("//", "#[")):
            continue
        for match in names.finditer(STRING.sub('""', line)):
            source.names.append((number, next(filter(None, match.groups()))))
    return source


def opening(docstring: Docstring) -> str:
    """Return the first word of a docstring, in small letters."""
    first = re.match(r"\s*([A-Za-z]+)", docstring.text)
    return first[1].lower() if first else ""


def prose_of(docstring: Docstring) -> str:
    """Return a docstring without its code."""
    without_blocks = re.sub(
        r"```.*?```|^\s*(?:>>>|\.\.\.) .*$", "", docstring.text, flags=re.DOTALL | re.MULTILINE
    )
    return re.sub(r"``[^`]*``|`[^`]*`", "", without_blocks)


def markdown(text: str) -> Source:
    """Return the paragraphs of a page, without blocks of code."""
    prose = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=FENCES)
    return Source([], [Docstring(n, line) for n, line in enumerate(prose.splitlines(), 1)], [])


FENCES = re.DOTALL | re.MULTILINE
READERS: dict[str, Callable[[str], Source]] = {
    ".py": python,
    ".pyi": python,
    ".rs": rust,
    ".ts": script,
    ".md": markdown,
}


def tracked(paths: list[str]) -> list[Path]:
    """Return the files under the paths that git tracks and this script reads."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *paths],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    names = listed.stdout.split("\0")
    return [
        ROOT / name
        for name in names
        if Path(name).suffix in READERS
        and not name.startswith(OTHER_PROSE)
        and (ROOT / name).exists()
    ]


def findings(place: str, suffix: str, source: Source, retired: Retired) -> Iterator[str]:
    """Yield the findings in one file, each with its line."""
    seen = set[str]()
    for line, name in source.names:
        for word in words_of(name):
            if word in retired.in_names and name not in seen:
                seen.add(name)
                yield f"{place}:{line}: the name {name} has the retired word {word!r}"
    for docstring in source.docstrings:
        first = opening(docstring)
        third_person = docstring.of_function and first.endswith("s") and first not in NO_VERBS
        if suffix != ".md" and (first in OPENERS or third_person):
            yield (
                f"{place}:{docstring.line}: a docstring opens with {first!r}: "
                "write a noun phrase or an imperative"
            )
        for word in re.findall(r"[a-z]+", prose_of(docstring).lower()):
            if word in retired.in_prose:
                yield f"{place}:{docstring.line}: the text has the retired word {word!r}"


def twins(classes: dict[str, list[str]]) -> Iterator[str]:
    """Yield the names that several classes of the package have, private ones beside public ones."""
    for name, places in sorted(classes.items()):
        public = [place for place in places if not place.rsplit(" ", 1)[1].startswith("_")]
        if len(places) > 1 and public and name not in TWICE:
            yield f"several classes are called {name}: {', '.join(places)}"


def main() -> int:
    """Check the named files and folders, or all; return the exit status."""
    retired = retired_words()
    classes = defaultdict[str, list[str]](list)
    found = list[str]()
    for path in tracked(sys.argv[1:] or ["."]):
        place = str(path.relative_to(ROOT))
        source = READERS[path.suffix](path.read_text("utf-8"))
        found.extend(findings(place, path.suffix, source, retired))
        if place.startswith("python/"):
            for line, name in source.classes:
                classes[name.lstrip("_")].append(f"{place}:{line} {name}")
    found.extend(twins(classes))
    print("\n".join(found) or "no retired words")
    if found:
        print(f"{len(found)} findings; docs/glossary.md says what to write", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
