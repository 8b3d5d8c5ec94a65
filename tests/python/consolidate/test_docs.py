"""The examples of docs/explanation/consolidation.md run, and print the output on the page."""

from __future__ import annotations

import contextlib
import io

from markdown_blocks import blocks
from paths import DOCS

PAGE = DOCS / "explanation/consolidation.md"


def test_the_examples_print_the_output_on_the_page() -> None:
    found = blocks(PAGE.read_text("utf-8"))
    codes = [block for block in found if block.language == "python"]
    outputs = [block.code for block in found if block.language == "text"]
    assert len(codes) == len(outputs) == 3
    for code, output in zip(codes, outputs, strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (code.line - 1) + code.code, str(PAGE), "exec"), {})
        assert printed.getvalue() == output
