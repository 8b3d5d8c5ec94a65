"""`toolweave lint` and `toolweave tools`: what they print, and how they end."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from paths import SHARED
from toolweave._core import Diagnostic
from toolweave.cli import main
from toolweave.cli._diagnostics import DiagnosticPrinter
from toolweave.cli._excerpt import cell, excerpt

REAL = SHARED / "data" / "nlweb"

CLEAN = """\
<Tools>
  <Thing>
    <Tool name="search">
      <method>builtin</method>
      <prompt>Is {request.query} a search? Score it.</prompt>
      <returnStruc>{"score": "integer between 0 and 100"}</returnStruc>
    </Tool>
  </Thing>
</Tools>
"""
BROKEN = "<Tools>\n  <Thing>\n    <Tool name='a'>\n</Tools>\n"
WITHOUT_HANDLER = CLEAN.replace("builtin", "code").replace('"search"', '"find"')
MISSING = CLEAN.replace("<method>builtin</method>", "<handler>no_such_module.Handler</handler>")

# Characters that are wide, accented, combining, invisible, dangerous or outside of the BMP.
CHARACTERS = st.one_of(
    st.sampled_from(
        "aZ~ \t\x00\x1b\x7f\u009b\u0301é漢字カＷ\u200b\u200d\u202e\u2028\ufeff🍲\u3000"
    ),
    st.characters(max_codepoint=0x24F, exclude_characters="\n\r\xad"),
)


def read_json(printed: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed.splitlines()]


def test_a_valid_file_has_no_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tools.xml"
    file.write_text(CLEAN, "utf-8")
    assert main(["lint", "--strict", str(file)]) == 0
    assert capsys.readouterr() == ("no problems; 1 tool in 1 file\n", "")


def test_an_error_is_shown_with_its_line_and_a_mark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tools.xml").write_text(MISSING, "utf-8")
    assert main(["lint", "tools.xml"]) == 0
    assert capsys.readouterr().out == (
        'tools.xml:4:16: warning: the handler of the tool "search" cannot be imported: there is no '
        'module "no_such_module" [TW201]\n'
        " 4 |       <handler>no_such_module.Handler</handler>\n"
        "   |                ^^^^^^^^^^^^^^^^^^^^^^\n"
        "   = help: Correct the path, install what it is in or say in which folder it is (--path), "
        "or register a handler in Python.\n"
        "\n"
        "1 warning; 1 tool in 1 file\n"
    )


@pytest.mark.parametrize(
    ("text", "options", "status"),
    [
        (CLEAN, [], 0),
        (CLEAN, ["--strict"], 0),
        (WITHOUT_HANDLER, [], 0),
        (WITHOUT_HANDLER, ["--severity", "error"], 0),
        (WITHOUT_HANDLER, ["--severity", "warning"], 1),
        (WITHOUT_HANDLER, ["--strict"], 1),
        (BROKEN, [], 1),
        (BROKEN, ["--strict"], 1),
    ],
)
@pytest.mark.parametrize("form", ["text", "json", "github"])
def test_the_exit_code_depends_on_the_problems(
    text: str, options: list[str], status: int, form: str, tmp_path: Path
) -> None:
    file = tmp_path / "tools.xml"
    file.write_text(text, "utf-8")
    assert main(["lint", "--format", form, *options, str(file)]) == status


def test_an_unreadable_file_does_not_prevent_checking_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tools.xml"
    file.write_text(BROKEN, "utf-8")
    assert main(["lint", str(tmp_path / "none.xml"), str(tmp_path), str(file)]) == 2
    printed = capsys.readouterr()
    assert f"cannot read {tmp_path / 'none.xml'}: No such file or directory\n" in printed.err
    assert f"cannot read {tmp_path}: Is a directory\n" in printed.err
    assert f"{file}:4:" in printed.out
    assert "1 error" in printed.out


def test_standard_input_is_checked() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "toolweave", "lint", "--format", "json", "-"],
        input=WITHOUT_HANDLER.encode("utf-16"),
        capture_output=True,
        check=True,
    )
    [found] = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert found["file"] == "standard input"
    assert (found["line"], found["severity"], found["code"]) == (3, "warning", "TW115")
    assert set(found) == {
        "file", "line", "column", "length", "severity", "code", "message", "hint",
    }  # fmt: skip


def test_annotations_are_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("a,b:c%\n::error::d.xml")
    file.write_text(MISSING.replace('name="search"', 'name="a%0A&#10;::error::b"'), "utf-8")
    assert main(["lint", "--format", "github", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for line in lines:
        assert line.startswith("::warning file=a%2Cb%3Ac%25%0A%3A%3Aerror%3A%3Ad.xml,line=")
    [line] = [line for line in lines if "title=TW201" in line]
    assert ",line=4,endLine=4,col=16,endColumn=38,title=TW201::" in line
    assert "%0A%3A%3Aerror" not in line.partition("::the")[2]


def test_control_characters_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "\x1b]0;x\x07.xml"
    file.write_bytes(b"<Tools><Thing><Tool name='\x1b[31m'/></Thing></Tools>")
    main(["lint", str(file)])
    printed = capsys.readouterr().out
    assert "\\x1b]0;x\\x07.xml:1:" in printed
    assert "<Tool name='\\x1b[31m'/>" in printed
    assert "\x1b" not in printed


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colours_are_used_on_terminals_without_no_color(
    environment: dict[str, str], coloured: bool, tmp_path: Path
) -> None:
    file = tmp_path / "tools.xml"
    file.write_text(BROKEN, "utf-8")
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    parent, child = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "toolweave", "lint", str(file)],
        stdout=child,
        env={**inherited, "TERM": "xterm", "COLUMNS": "80", **environment},
    ) as process:
        os.close(child)
        printed = b""
        # Reading from a closed terminal fails; there is no end of file.
        try:
            while block := os.read(parent, 4096):
                printed += block
        except OSError:
            pass
        finally:
            os.close(parent)
        assert process.wait(30) == 1
    assert (b"\x1b[1;31merror:\x1b[0m" in printed) is coloured
    assert (b"\x1b" in printed) is coloured


def test_without_a_terminal_there_are_no_colours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tools.xml"
    file.write_text(BROKEN, "utf-8")
    assert main(["lint", str(file)]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_lint_needs_no_extra(tmp_path: Path) -> None:
    file = tmp_path / "tools.xml"
    file.write_text(BROKEN, "utf-8")
    program = (
        "import sys; from toolweave.cli import main; status = main(sys.argv[1:]);"
        "loaded = {name.partition('.')[0] for name in sys.modules};"
        "sys.exit(status if loaded.isdisjoint({'rich', 'watchfiles', 'httpx'}) else 9)"
    )
    done = subprocess.run([sys.executable, "-c", program, "lint", str(file)], capture_output=True)
    assert done.returncode == 1


def text_in_cells(text: str, offset: int, length: int) -> str:
    """Return the characters in some cells by rich's widths, with combining characters."""
    found, at = "", 0
    for character in text:
        wide = cell_len(character)
        inside = offset <= at < offset + length and (wide or found)
        if inside or (found and not wide and at == offset + length):
            found += character
        at += wide
    return found


@given(
    line=st.text(CHARACTERS, max_size=300),
    place=st.integers(1, 310),
    length=st.integers(1, 40),
    width=st.integers(20, 130),
    encoding=st.sampled_from(["utf-8", "ascii", "latin-1"]),
)
def test_the_mark_is_under_its_text(
    line: str, place: int, length: int, width: int, encoding: str
) -> None:
    first = min(place - 1, len(line))
    part = excerpt(line, first + 1, length, width=width, encoding=encoding)
    part.text.encode(encoding)
    assert cell_len(part.text) <= width
    assert all(character.isprintable() for character in part.text)
    cells = [cell(character, encoding) for character in line]
    last = min(first + length, len(line))
    while 0 < first < len(line) and cells[first][1] == 0:
        first -= 1
    wanted = "".join(shown for shown, _ in cells[first:last])
    found = text_in_cells(part.text, part.offset, part.length)
    if sum(wide for _, wide in cells[first:last]) == 0:
        # Behind the line, or on combining characters without a base: the mark has no text.
        assert part.length == 1
    elif found.startswith(wanted):
        assert cell_len(found) == part.length == cell_len(wanted)
    else:
        # The text does not fit into the width, so the mark covers all that is shown of it.
        assert wanted.startswith(found)
        assert part.text.endswith(found + "...")
    if first == last:
        assert part.offset == cell_len(part.text)


@given(st.characters(exclude_categories=["Cn"]))
def test_a_character_is_shown_unchanged_or_escaped(character: str) -> None:
    shown, wide = cell(character, "utf-8")
    assert shown.isprintable()
    if shown == character:
        assert wide in (0, 1, 2)
    else:
        assert len(shown) == wide
        assert shown.isascii()


@pytest.mark.parametrize("character", "a~é漢カＷ🍲\u0301가\u1161")
def test_characters_have_the_width_of_terminals(character: str) -> None:
    assert cell(character, "utf-8") == (character, cell_len(character))


def test_a_line_of_any_length_is_cut_around_the_mark() -> None:
    line = "x" * 5_000_000 + "<Tool>" + "y" * 5_000_000
    part = excerpt(line, 5_000_001, 6, width=60, encoding="utf-8")
    assert part.text.startswith("...xxx")
    assert part.text.endswith("yyy...")
    assert len(part.text) == 60
    assert part.text[part.offset : part.offset + part.length] == "<Tool>"


def test_a_line_of_combining_characters_is_cut() -> None:
    part = excerpt("\u0301" * 5_000_000, 2_500_000, 6, width=60, encoding="utf-8")
    assert len(part.text) < 1000


def test_a_long_message_is_shortened() -> None:
    found = Diagnostic("TW115", "warning", f'the tool "{"x" * 900_000}" has no handler')
    shown = DiagnosticPrinter().show("a.xml", "", found)
    assert len(shown) < 1200
    assert shown.startswith('a.xml:1:1: warning: the tool "xxx')
    assert shown.endswith('xxx" has no handler [TW115]\n\n')


def test_a_diagnostic_without_a_line_has_no_excerpt() -> None:
    found = Diagnostic("TW001", "error", "the file is empty", hint="Write one.")
    assert DiagnosticPrinter().show("a.xml", "", found) == (
        "a.xml:1:1: error: the file is empty [TW001]\n   = help: Write one.\n\n"
    )


def test_errors_of_real_files_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    if not REAL.is_dir():
        pytest.skip("set TOOLWEAVE_SHARED to a folder that holds data/nlweb")
    files = sorted(REAL.glob("*.xml"))
    assert main(["lint", "--format", "json", *map(str, files)]) == 0
    found = {
        (Path(one["file"]).name, one["line"], one["code"]): one
        for one in read_json(capsys.readouterr().out)
    }
    flat, sites = "nlweb-ai__NLWeb__2025-08.xml", "nlweb-ai__NLWeb_Core__2025-11_sites.xml"
    # A handler reads parameters that the structure lacks, and a tool has no handler.
    unread = found[flat, 154, "TW117"]["message"]
    assert "CompareItemsHandler" in unread
    assert '"item1_name" and "item2_name"' in unread
    assert (flat, 325, "TW117") in found
    assert '"compare"' in found[flat, 395, "TW115"]["message"]
    # A structure has no score, and its placeholder is unknown.
    assert (sites, 451, "TW116") in found
    assert "{query}" in found[sites, 453, "TW114"]["message"]
    assert {one["severity"] for one in found.values()} == {"warning"}


def test_tools_of_a_type_are_listed_with_their_origins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tools.xml"
    recipe = """\
  <Recipe>
    <Tool name="search"><handler>shop.Search</handler></Tool>
    <Tool name="order"><method>url</method><path>http://127.0.0.1/order</path></Tool>
  </Recipe>
  <Movie><Tool name="search" enabled="false"/></Movie>
</Tools>
"""
    file.write_text(CLEAN.replace("</Tools>\n", recipe), "utf-8")
    assert main(["tools", str(file), "--type", "https://schema.org/Recipe"]) == 0
    assert capsys.readouterr().out == (
        "https://schema.org/Recipe\n"
        "  search  Recipe, line 10; shop.Search; replaces that of Thing, line 3\n"
        "  order   Recipe, line 11; http://127.0.0.1/order\n"
    )
    assert main(["tools", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "Movie\n  search  Movie, line 13; disabled; hides that of Thing, line 3\n" in printed
    assert main(["tools", str(file), "--type", "Thing", "--site", "a"]) == 0
    assert capsys.readouterr().out == "Thing at a\n  search  Thing, line 3; builtin\n"


def test_tools_of_a_broken_file_are_not_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tools.xml"
    file.write_text(BROKEN, "utf-8")
    assert main(["tools", str(file)]) == 2
    assert f"toolweave tools: {file}:4:1: " in capsys.readouterr().err


def test_handlers_are_imported_only_if_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("lint_marker.py").write_text(
        "open('imported', 'w').close()\nclass Handler:\n    async def do(self): ...\n", "utf-8"
    )
    Path("tools.xml").write_text(MISSING.replace("no_such_module", "lint_marker"), "utf-8")
    assert main(["lint", "--strict", "tools.xml"]) == 0
    assert not Path("imported").exists()
    assert main(["lint", "--strict", "--allow", "elsewhere", "tools.xml"]) == 1
    assert not Path("imported").exists()
    assert "[TW202]" in capsys.readouterr().out
    assert main(["lint", "--strict", "--allow", "lint_marker", "tools.xml"]) == 0
    assert Path("imported").exists()
    sys.modules.pop("lint_marker")
    capsys.readouterr()
    assert main(["lint", "--allow", "lint_marker", "--allow", "no path", "tools.xml"]) == 2
    assert "toolweave lint: --allow: a prefix of handlers must be" in capsys.readouterr().err
    sys.modules.pop("lint_marker", None)


def test_handlers_are_searched_for_in_the_given_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tools.xml"
    file.write_text(MISSING.replace("no_such_module", "lint_methods.details"), "utf-8")
    folder = tmp_path / "code" / "python" / "lint_methods"
    folder.mkdir(parents=True)
    (folder / "details.py").write_text("raise SystemExit\nclass Handler: ...\n", "utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert main(["lint", "--strict", str(file)]) == 1
    assert "or say in which folder it is (--path)" in capsys.readouterr().out
    assert main(["lint", "--strict", "--path", str(folder.parent), str(file)]) == 0
    assert main(["lint", "--path", str(tmp_path / "none"), str(file)]) == 2
    assert "--path: there is no folder" in capsys.readouterr().err
