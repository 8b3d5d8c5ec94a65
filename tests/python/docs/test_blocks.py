"""Documentation pages: runnable blocks with their stated context, and existing make targets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from page_examples import examples
from paths import EXAMPLES, PAGES, README, ROOT

GUIDES = [README, *PAGES, ROOT / "CONTRIBUTING.md", EXAMPLES / "README.md", ROOT / "web/README.md"]
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
NAMED = re.compile(r"(?:^|`|\$ )make(?: [A-Z_]+=\S+)* ([a-z][a-z-]*)", re.MULTILINE)


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.name)
def test_a_block_is_standalone_or_states_its_context(page: Path) -> None:
    for example in examples(page.read_text("utf-8")):
        assert example.needed == example.given, f"{page.name}, line {example.block.line}"


def test_free_names_of_a_block_are_found_in_every_scope() -> None:
    page = """
```python
import asyncio
from collections.abc import Sequence as Items

def twice(items: Items) -> list: return [item + offset for item in items] * 2
async with store as opened:
    print(later, opened)
later = asyncio.run(f"{word}")
```

Given a `model`:

```python
model.run(twice)
```

It continues the block above.

```python
print(model)
```

It continues the first
block, given `word`:

```python
print(later, word, asyncio)
```
"""
    found = examples(page)
    assert [sorted(each.needed) for each in found] == [
        ["offset", "store", "word"],
        ["model", "twice"],
        [],
        ["word"],
    ]
    assert [sorted(each.given) for each in found] == [[], ["model"], [], ["word"]]


def test_a_first_block_cannot_continue_another() -> None:
    with pytest.raises(ValueError, match="line 4 has no block to continue"):
        examples("It continues the block above.\n\n```python\nx = 1\n```\n")


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_target_that_a_page_names_exists(page: Path) -> None:
    assert set(NAMED.findall(page.read_text("utf-8"))) <= TARGETS


def test_targets_are_found_in_commands_and_in_sentences() -> None:
    text = "$ make demo\nRun `make PYTHON=python3.12 test-all`, to make sure.\nmake fuzz  # long\n"
    assert NAMED.findall(text) == ["demo", "test-all", "fuzz"]
    assert {"demo", "test-all", "fuzz"} <= TARGETS
