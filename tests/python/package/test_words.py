"""The lint of names and prose finds what the glossary retires, and nothing else."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from paths import ROOT


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("words", ROOT / "tests/words.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


words = load()
RETIRED = words.retired_words()


def findings(suffix: str, text: str) -> list[str]:
    found = words.findings("f", suffix, words.READERS[suffix](text), RETIRED)
    return [finding.partition(": ")[2] for finding in found]


def test_the_glossary_lists_the_words() -> None:
    assert {"told", "patience", "mend", "settled"} <= RETIRED.in_prose
    assert {"bell", "gate", "later"} <= RETIRED.in_names - RETIRED.in_prose


NAMES = {
    ".py": ["def f(told): ...", "class HeardCall: ...", "x.mended = 1", "import a as _bells"],
    ".rs": ["fn tell(&self) {", "struct Mortal {", "let mut heard = 1;", "    Told(String),"],
    ".ts": ["function tell(x) {", "interface Said {", "const TOLD = [];", "  told: string;"],
}


@pytest.mark.parametrize(
    ("suffix", "text"), [(suffix, text) for suffix, texts in NAMES.items() for text in texts]
)
def test_a_retired_word_in_a_name_is_found(suffix: str, text: str) -> None:
    [finding] = findings(suffix, text)
    assert finding.startswith("the name ")
    assert "retired word" in finding


DOCSTRINGS = {
    ".py": 'def f():\n    """{}"""\n',
    ".rs": "/// {}\nfn f() {{}}\n",
    ".ts": "/** {} */\nfunction f() {{}}\n",
}


@pytest.mark.parametrize("suffix", DOCSTRINGS)
@pytest.mark.parametrize(
    ("docstring", "count"),
    [
        ("What a call returns.", 1),
        ("Whether it is over.", 1),
        ("Takes a call.", 1),
        ("Return what the caller is told.", 1),
        ("Whose calls nobody settles.", 3),
        ("Return the `told` field.", 0),
        ("Return the calls of a reply.", 0),
        ("Reply of a model, which says what it does.", 0),
    ],
)
def test_docstrings_are_checked(suffix: str, docstring: str, count: int) -> None:
    assert len(findings(suffix, DOCSTRINGS[suffix].format(docstring))) == count


def test_a_docstring_of_a_function_in_rust_opens_with_no_verb_in_the_third_person() -> None:
    assert findings(".rs", "/// Emits events.\n#[inline]\nfn emit() {}\n")
    assert not findings(".rs", "/// Emit events.\nfn emit() {}\n")
    assert not findings(".rs", "/// Calls of a reply.\nstruct Calls {}\n")


def test_pages_are_read_without_their_code() -> None:
    assert findings(".md", "The caller is told.\n")
    assert not findings(".md", "See `told`:\n\n```python\ntold = 1\n```\nWhat it is.\n")


def test_strings_and_uses_are_not_names() -> None:
    assert not findings(".py", 'print("told", other.told)\n')
    assert not findings(".rs", '    print!("let told = 1; fn tell");\n')


def test_a_private_class_may_not_have_the_name_of_a_public_one() -> None:
    assert list(words.twins({"Reply": ["a.py:1 Reply", "b.py:2 _Reply"]}))
    assert not list(words.twins({"Reply": ["a.py:1 _Reply", "b.py:2 _Reply"]}))
    assert not list(words.twins({"ToolSelector": ["a.py:1 ToolSelector", "b.py:2 ToolSelector"]}))
