"""The lesson about any client: its block gets the call that the page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from page_examples import examples
from paths import DOCS

if TYPE_CHECKING:
    import pytest

    from .conftest import Serve

PAGE = DOCS / "tutorial/any-client.md"


def test_the_client_of_the_lesson_gets_a_call(
    serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PAGE.read_text("utf-8")
    url, _ = serve('<add>{"a": 2, "b": "3"}</add>', mode=None)
    [example] = examples(text)
    example.run(str(PAGE), url=url)
    printed = capsys.readouterr().out
    assert f"```text\n{printed}```" in text
