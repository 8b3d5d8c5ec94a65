"""Registries of tools, as Python sees the core of them."""

from __future__ import annotations

import copy
import io
import json
import pickle
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paths import CASES, SHARED
from toolweave import (
    Diagnostic,
    Origin,
    RegistryError,
    RegistrySnapshot,
    ToolEntry,
    supertypes,
    type_name,
)

FOLDER = CASES / "registry"
FOUND = SHARED / "data" / "nlweb"


def load_cases(name: str) -> list[Any]:
    found = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return [pytest.param(case, id=case["name"]) for case in found]


def real_file(name: str) -> bytes:
    if not FOUND.is_dir():
        pytest.skip("set TOOLWEAVE_SHARED to a folder that holds data/nlweb")
    return (FOUND / name).read_bytes()


def plain(entry: ToolEntry) -> dict[str, Any]:
    """Return the fields of an entry, without empty ones."""
    fields = {
        "name": entry.name,
        "type": entry.type,
        "site": entry.site,
        "path": entry.path,
        "method": entry.method,
        "handler": entry.handler,
        "arguments": entry.arguments,
        "examples": list(entry.examples),
        "prompt": entry.prompt,
        "return_struc": entry.return_struc,
        "line": entry.line,
    }
    fields = {name: value for name, value in fields.items() if value not in (None, "", {}, [])}
    return fields if entry.enabled else {**fields, "enabled": False}


@pytest.mark.parametrize("case", load_cases("read.json"))
def test_golden_documents_are_read(case: dict[str, Any]) -> None:
    for source in (case["xml"], case["xml"].encode()):
        snapshot = RegistrySnapshot.read(source)
        assert [plain(entry) for entry in snapshot.entries] == case["tools"]
        assert (list(snapshot.types), list(snapshot.sites)) == (case["types"], case["sites"])
    again = RegistrySnapshot.read(snapshot.write())
    assert (again.entries, again.fingerprint) == (snapshot.entries, snapshot.fingerprint)


@pytest.mark.parametrize("case", load_cases("lookup.json"))
def test_golden_questions_are_answered(case: dict[str, Any]) -> None:
    snapshot = RegistrySnapshot.read(case["xml"])
    entries = snapshot.entries

    def position(entry: ToolEntry) -> int:
        return next(at for at, other in enumerate(entries) if other is entry)

    for question in case["questions"]:
        asked = (question["type"], question["site"])
        tools = snapshot.tools_for(*asked)
        listed = [f"{e.name} of {e.type}" + (f" on {e.site}" if e.site else "") for e in tools]
        assert listed == question["tools"]
        assert snapshot.tools_for(*asked) is tools
        explained = snapshot.explain(*asked)
        assert [
            {"tool": position(o.tool), "replaces": [position(entry) for entry in o.replaces]}
            for o in explained
        ] == question["explained"]
        assert tuple(o.tool for o in explained if o.tool.enabled) == tools
        assert all((o.owner, o.site) == (o.tool.type, o.tool.site) for o in explained)


@pytest.mark.parametrize("case", load_cases("diagnostics.json"))
def test_golden_errors_are_reported_with_their_positions(case: dict[str, Any]) -> None:
    wanted = [
        Diagnostic(severity="error" if found["code"] < "TW1" else "warning", **found)
        for found in case["diagnostics"]
    ]
    if any(found.severity == "error" for found in wanted):
        with pytest.raises(RegistryError) as refused:
            RegistrySnapshot.read(case["xml"])
        assert list(refused.value.diagnostics) == wanted
        first = next(found for found in wanted if found.severity == "error")
        assert str(refused.value).startswith(f"line {first.line}, column {first.column}: ")
        assert first.message in str(refused.value)
    else:
        assert list(RegistrySnapshot.read(case["xml"]).diagnostics) == wanted


FILES = (
    "kuoowen-web__nlweb-intern__2026-07.xml",
    "nlweb-ai__NLWeb_Core__2025-11_sites.xml",
    "nlweb-ai__NLWeb__2025-06_thing.xml",
    "nlweb-ai__NLWeb__2025-08.xml",
)


@pytest.mark.parametrize("name", FILES)
def test_real_files_are_read_as_by_elementtree(name: str) -> None:
    source = real_file(name)
    entries = RegistrySnapshot.read(source).entries
    elements = list(ET.parse(io.BytesIO(source)).getroot().iter("Tool"))
    assert len(entries) == len(elements) > 3
    for entry, element in zip(entries, elements, strict=True):
        assert entry.name == element.get("name")
        assert entry.prompt == (element.findtext("prompt") or "").strip()
        assert entry.return_struc == json.loads(element.findtext("returnStruc") or "")
        assert list(entry.examples) == [(e.text or "").strip() for e in element.iter("example")]
        assert (entry.handler or "") == (element.findtext("handler") or "").strip()
        assert entry.method == (element.findtext("method") or "").strip()


@pytest.mark.parametrize("name", FILES)
def test_real_files_survive_writing_and_elementtree_reads_what_was_written(name: str) -> None:
    source = real_file(name)
    snapshot = RegistrySnapshot.read(source)
    written = snapshot.write()
    again = RegistrySnapshot.read(written)
    assert again.entries == snapshot.entries
    assert again.fingerprint == snapshot.fingerprint
    assert again.write() == written
    before, after = (ET.parse(io.BytesIO(xml)) for xml in (source, written.encode()))
    assert [e.tag for e in before.iter()] == [e.tag for e in after.iter()]


PIECES = [
    "<Tools>", "</Tools>", "<Thing>", "</Thing>", '<Tool name="a">', "<Tool name='b'/>",
    "</Tool>", "<prompt>", "</prompt>", "<x:y>", "</x:y>", "<a b='1' b='2'/>", "<a b='1'c='2'/>",
    "<a b=1/>", "<a b/>", '<a b="<"/>', '<a b="&amp;&#65;&#x41;"/>', "<a b='&'/>", "<1/>", "< a/>",
    "<a/ >", "</a>", "<a >", "</a >", "&amp;", "&lt", "&;", "&#0;", "&#xD800;", "&#55;", "&#x;",
    "&nbsp;", "<![CDATA[x]]>", "<![CDATA[", "]]>", "]]", "<!-- a -->", "<!-- a -- b -->",
    "<!--->", "<!-- a --->", "<?pi x?>", "<?xml x?>", '<?xml version="1.0"?>', "<?pi", "<!x>",
    "<!DOCTYPE Tools>", "<!doctype Tools>", "text", "\n", " ", ">", "\u00e9", "<\u00e9/>",
    "<a\u00b7/>", "\x0b", "\ufffe", "<a xmlns='u'/>", "<a xmlns:x='u' x:b='1'/>", "<a x:b='1'/>",
    "<a b = '1' />", "<a\nb='1'/>",
]  # fmt: skip


def _is_xml(text: str) -> bool:
    try:
        ET.fromstring(text)
    except ET.ParseError:
        return False
    return True


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.booleans())
@example("<a xmlns='u'/><a xmlns='u'/>", False)
def test_well_formedness_agrees_with_elementtree(inner: str, wrapped: bool) -> None:
    text = f"<Tools>{inner}</Tools>" if wrapped else inner
    try:
        RegistrySnapshot.read(text)
        codes = set()
    except RegistryError as refused:
        codes = {found.code for found in refused.diagnostics}
    if _is_xml(text):
        assert "TW001" not in codes, text
        return
    # Several elements are a file, too, where they would be one inside of another.
    prolog = re.compile(r'(<\?xml version="1.0"\?>|<!DOCTYPE Tools>|\s)+')
    start = prolog.match(inner)
    inside = text if wrapped else f"<Tools>{inner[start.end() if start else 0 :]}</Tools>"
    if not _is_xml(inside):
        assert "TW001" in codes, text


@given(st.binary(max_size=40) | st.text(max_size=40))
def test_anything_is_read_or_refused(source: str | bytes) -> None:
    try:
        RegistrySnapshot.read(source)
    except RegistryError as refused:
        assert refused.diagnostics
        assert pickle.loads(pickle.dumps(refused)).diagnostics == refused.diagnostics
    except UnicodeEncodeError:
        assert isinstance(source, str)


@pytest.mark.parametrize("source", [None, 1, bytearray(b"<Tools/>"), ["<Tools/>"]])
def test_only_text_and_bytes_are_read(source: Any) -> None:
    with pytest.raises(TypeError, match="str or bytes"):
        RegistrySnapshot.read(source)


def test_entries_have_the_given_values() -> None:
    entry = ToolEntry(
        " a ",
        type="https://schema.org/Recipe",
        site="shop",
        enabled=False,
        path=" /x ",
        method="url",
        handler="a.B",
        arguments={"q": " one "},
        examples=(text for text in ["x", " ", "y "]),
        prompt="\n one\n  two ",
        return_struc={"score": 1.5, "list": (1, None)},
    )
    assert plain(entry) == {
        "name": " a ",
        "type": "Recipe",
        "site": "shop",
        "enabled": False,
        "path": "/x",
        "method": "url",
        "handler": "a.B",
        "arguments": {"q": "one"},
        "examples": ["x", "y"],
        "prompt": "one\n  two",
        "return_struc": {"score": 1.5, "list": [1, None]},
    }
    assert entry.line is None
    same = pickle.loads(pickle.dumps(entry))
    assert (same, hash(same), repr(same)) == (entry, hash(entry), repr(entry))
    assert copy.deepcopy(entry) == entry != ToolEntry(" a ", type="Recipe", site="shop")
    enabled = entry.__replace__(enabled=True)
    assert enabled.enabled
    assert plain(enabled.__replace__(enabled=False)) == plain(entry)
    assert repr(entry) == "ToolEntry(name=' a ', type='Recipe', site='shop', enabled=False)"
    match entry:
        case ToolEntry(name, type, site):
            assert (name, type, site) == (" a ", "Recipe", "shop")
        case _:
            pytest.fail("no match")


def test_entries_need_a_name_and_plain_values() -> None:
    with pytest.raises(ValueError, match="name"):
        ToolEntry(" ")
    with pytest.raises(ValueError, match="site"):
        ToolEntry("a", site="")
    with pytest.raises(TypeError, match="iterable of str"):
        ToolEntry("a", examples="text")
    with pytest.raises(TypeError, match="not JSON"):
        ToolEntry("a", return_struc={"a": object()})
    with pytest.raises(TypeError):
        ToolEntry("a", "Thing")  # type: ignore[call-arg]
    assert ToolEntry("a", site="default").site is None
    assert ToolEntry("a", type="Item").type == "Thing"


def test_snapshots_are_made_of_entries() -> None:
    one, two = ToolEntry("a", method="builtin"), ToolEntry("b", type="Recipe", site="shop")
    snapshot = RegistrySnapshot.of([one, two])
    assert snapshot.entries == (one, two)
    assert snapshot.entries is snapshot.entries
    other = ToolEntry("a", path="/x")
    more = snapshot.with_entries([other, ToolEntry("c", type="Recipe", site="shop")])
    assert [entry.name for entry in more.entries] == ["a", "b", "c"]
    assert more.entries[0] == other
    assert snapshot.entries == (one, two)
    assert snapshot.fingerprint != more.fingerprint
    assert len(snapshot.fingerprint) == 32
    assert RegistrySnapshot.of(more.entries).fingerprint == more.fingerprint
    assert RegistrySnapshot.of([]).tools_for("Recipe") == ()
    with pytest.raises(TypeError, match="ToolEntry"):
        RegistrySnapshot.of([{"name": "a"}])  # type: ignore[list-item]


def test_characters_that_xml_lacks_are_not_written() -> None:
    for entry in (
        ToolEntry("a\0"),
        ToolEntry("a", type="3DModel"),
        ToolEntry("a", prompt="\ufffe"),
    ):
        with pytest.raises(RegistryError) as refused:
            RegistrySnapshot.of([entry]).write()
        assert refused.value.diagnostics[0].code == "TW009"


def test_lookups_are_cached_up_to_a_limit() -> None:
    snapshot = RegistrySnapshot.of([ToolEntry("a")])
    first = snapshot.tools_for("Recipe")
    assert snapshot.tools_for("Recipe") is first
    for turn in range(3000):
        assert snapshot.tools_for(f"Made{turn}", f"up{turn}") == first
    assert snapshot.tools_for("Recipe") == first
    # It was dropped with the others to make room.
    assert snapshot.tools_for("Recipe") is not first


def test_types_have_one_short_form_and_their_supertypes() -> None:
    assert type_name("{http://nlweb.ai/base}Item") == "Thing"
    assert type_name("schema:Recipe") == "Recipe"
    assert supertypes("schema:Recipe") == ("Recipe", "HowTo", "CreativeWork", "Thing")
    assert supertypes("Own") == ("Own", "Thing")
    snapshot = RegistrySnapshot.read("<Tools><Own extends='Recipe'/></Tools>")
    assert snapshot.supertypes("Own") == ("Own", *supertypes("Recipe"))


def test_diagnostics_and_origins_are_plain_data() -> None:
    found = Diagnostic("TW001", "error", "no", 2, 3, length=4, hint="yes")
    assert pickle.loads(pickle.dumps(found)) == found
    assert hash(found) == hash(copy.copy(found))
    assert (found.line, found.column, found.length) == (2, 3, 4)
    with pytest.raises(ValueError, match="severity"):
        Diagnostic("TW001", "fatal", "no")  # type: ignore[arg-type]
    origin = RegistrySnapshot.of([ToolEntry("a")]).explain("Thing")[0]
    assert pickle.loads(pickle.dumps(origin)) == origin
    assert origin == Origin(ToolEntry("a"), "Thing")


def test_snapshots_can_be_pickled() -> None:
    snapshot = RegistrySnapshot.read("<Tools><!-- a --><Thing><Tool name='a'/></Thing></Tools>")
    again = pickle.loads(pickle.dumps(snapshot))
    assert again.write() == snapshot.write()
    assert repr(again) == repr(snapshot) == f"<RegistrySnapshot of 1 tool, {again.fingerprint[:8]}>"
