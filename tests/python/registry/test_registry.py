"""Tests of loading, extending and reloading registries."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sample_registries import DETAILS, SEARCH, SHOP, entry_of, names, registry_of
from toolweave import tool
from toolweave.exceptions import RegistryError, ToolDefinitionError
from toolweave.registry import ToolRegistry


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tools.xml"
    path.write_text(SHOP, "utf-8")
    return path


def test_a_registry_is_the_same_from_a_file_and_from_a_text(file: Path) -> None:
    loaded = ToolRegistry.load(file)
    assert loaded.path == file
    for other in (ToolRegistry.loads(SHOP), ToolRegistry.loads(SHOP.encode("utf-16"))):
        assert other.path is None
        assert other.fingerprint == loaded.fingerprint
        assert names(other, "Recipe") == names(loaded, "Recipe") == ["search", "details"]


def test_an_error_names_the_file_the_line_and_the_column(tmp_path: Path) -> None:
    path = tmp_path / "tools.xml"
    path.write_text("<Tools>\n  <Thing>\n    <Tool name='a'>\n</Tools>\n", "utf-8")
    with pytest.raises(RegistryError) as caught:
        ToolRegistry.load(path)
    [found, *_] = caught.value.diagnostics
    assert found.severity == "error"
    assert f"{path}:{found.line}:{found.column}: {found.message} [{found.code}]" in str(
        caught.value
    )
    with pytest.raises(RegistryError, match=r"^the text:\d+:\d+: "):
        ToolRegistry.loads(path.read_bytes())


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tools.xml"
    path.touch()
    with pytest.raises(RegistryError, match="there is no element"):
        ToolRegistry.load(path)


def test_loading_is_logged(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "toolweave.registry"):
        registry = ToolRegistry.load(file)
        file.write_text("\n" + SHOP, "utf-8")
        registry.reload()
    warnings = len(registry.snapshot.diagnostics)
    for record, changed in zip(caplog.records, (True, False), strict=True):
        assert record.getMessage() == "registry read"
        values = [vars(record)[name] for name in ("path", "tools", "warnings", "changed")]
        assert values == [str(file), len(registry.snapshot.entries), warnings, changed]


def test_all_errors_of_a_file_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "tools.xml"
    broken = "<Tool name='a'><returnStruc>{]</returnStruc></Tool>\n"
    path.write_text(registry_of(Thing=broken + "<Tool/>\n" + broken), "utf-8")
    with pytest.raises(RegistryError) as caught:
        ToolRegistry.load(path)
    errors = [found for found in caught.value.diagnostics if found.severity == "error"]
    assert len(errors) == 3
    assert str(caught.value).startswith(f"{path} has 3 errors\n")
    for found in errors:
        assert f"{path}:{found.line}:{found.column}: " in str(caught.value)


def test_a_lone_surrogate_is_reported_with_its_position() -> None:
    with pytest.raises(RegistryError, match=r"the text:2:3: U\+D800 is half a character") as caught:
        ToolRegistry.loads("<Tools>\né \ud800</Tools>")
    [found] = caught.value.diagnostics
    assert (found.code, found.line, found.column) == ("TW002", 2, 3)


def test_a_long_error_is_shortened() -> None:
    twice = f"<Tools><{'T' * 900_000}></Tools>"
    with pytest.raises(RegistryError) as caught:
        ToolRegistry.loads(twice)
    assert len(str(caught.value)) < 1200 * len(caught.value.diagnostics)


def test_a_missing_file_raises_file_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ToolRegistry.load(tmp_path / "none.xml")


def test_an_endless_device_is_refused() -> None:
    with pytest.raises(RegistryError, match="larger than 64 MiB"):
        ToolRegistry.load("/dev/zero")


def test_writing_and_reading_gives_the_same_tools(file: Path, tmp_path: Path) -> None:
    registry = ToolRegistry.load(file)
    text = registry.write()
    assert ToolRegistry.loads(text).fingerprint == registry.fingerprint
    copy = tmp_path / "copy.xml"
    assert registry.write(copy) == copy.read_text("utf-8") == text
    assert ToolRegistry.load(copy).write() == text


def test_writing_replaces_a_file_whole_and_keeps_its_permissions(tmp_path: Path) -> None:
    target, link = tmp_path / "real.xml", tmp_path / "tools.xml"
    target.write_text("old", "utf-8")
    target.chmod(0o640)
    link.symlink_to(target)
    before = target.stat().st_ino
    with target.open(encoding="utf-8") as reader:
        ToolRegistry.loads(SHOP).write(link)
        # A reader that has it open still reads the old content.
        assert reader.read() == "old"
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert target.stat().st_ino != before
    assert names(ToolRegistry.load(link), "Movie") == ["search", "details"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["real.xml", "tools.xml"]


def test_a_failed_write_leaves_the_file_unchanged(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="irectory"):
        ToolRegistry.loads(SHOP).write(folder)
    with pytest.raises(FileNotFoundError):
        ToolRegistry.loads(SHOP).write(tmp_path / "none" / "tools.xml")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_reload_reads_the_current_file(file: Path) -> None:
    registry = ToolRegistry.load(file)
    assert registry.reload() is False
    old = registry.snapshot
    file.write_text(registry_of(Thing=SEARCH), "utf-8")
    assert names(registry, "Thing") == ["search", "details"]
    assert registry.reload() is True
    assert names(registry, "Thing") == ["search"]
    assert [entry.name for entry in old.tools_for("Thing")] == ["search", "details"]


def test_a_reload_of_an_equivalent_file_reports_no_change(file: Path) -> None:
    registry = ToolRegistry.load(file)
    file.write_text("\n\n<!-- the same -->" + SHOP, "utf-8")
    assert registry.reload() is False
    # Lines are those of the file as it is now.
    assert entry_of(registry, "Thing", "search").line == 5


def test_a_broken_file_changes_nothing(file: Path) -> None:
    registry = ToolRegistry.load(file)
    before = registry.snapshot
    file.write_text(SHOP[:-5], "utf-8")
    for _ in range(2):
        with pytest.raises(RegistryError, match=str(file)):
            registry.reload()
        assert registry.snapshot is before
    file.unlink()
    with pytest.raises(FileNotFoundError):
        registry.reload()
    assert registry.snapshot is before
    file.write_text(SHOP, "utf-8")
    assert registry.reload() is False


def test_a_registry_without_a_file_cannot_be_reloaded() -> None:
    with pytest.raises(RegistryError, match="not loaded from a file"):
        ToolRegistry.loads(SHOP).reload()
    with pytest.raises(RegistryError, match="not loaded from a file"):
        ToolRegistry().watch()


VERSIONS = {
    "shop": SHOP,
    "search": registry_of(Thing=SEARCH),
    "movie": registry_of(Movie=DETAILS + SEARCH),
    "empty": "<Tools></Tools>",
    "not XML": SHOP[:-3],
    "no name": registry_of(Thing="<Tool/>"),
    "gone": None,
}
VALID = {"shop", "search", "movie", "empty"}


@given(steps=st.lists(st.sampled_from([*VERSIONS, "reload", "register"]), max_size=20))
def test_the_registry_is_the_last_valid_file_that_was_read(
    steps: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("law") / "tools.xml"
    file.write_text(SHOP, "utf-8")
    registry = ToolRegistry.load(file)
    written, read = "shop", "shop"
    registered = False

    def ask(item: str) -> str:
        return item

    for step in steps:
        if step == "register":
            registry.handler("ask", type="Movie")(ask)
            registered = True
        elif step == "reload":
            before = registry.fingerprint
            try:
                changed = registry.reload()
            except (RegistryError, OSError):
                assert written not in VALID
            else:
                assert written in VALID
                read = written
                assert changed is (registry.fingerprint != before)
        else:
            written, text = step, VERSIONS[step]
            file.unlink(missing_ok=True)
            if text is not None:
                file.write_text(text, "utf-8")
        expected = ToolRegistry.loads(VERSIONS[read] or "")
        if registered:
            expected.handler("ask", type="Movie")(ask)
            assert registry.handler_for(entry_of(registry, "Movie", "ask")) is ask
        assert registry.fingerprint == expected.fingerprint
        assert names(registry, "Movie") == names(expected, "Movie")


def test_a_query_during_a_reload_sees_the_old_tools_or_the_new(file: Path) -> None:
    """A thread reloads two versions in turns; each of them has three tools of one colour."""

    def version(colour: str) -> str:
        tools = "".join(
            f"<Tool name='{number}'><method>builtin</method><prompt>{colour}</prompt></Tool>"
            for number in range(3)
        )
        return registry_of(Thing=tools)

    file.write_text(version("red"), "utf-8")
    registry = ToolRegistry.load(file)
    asked, reloads = threading.Event(), 50
    mixed: list[object] = []

    def ask() -> None:
        while not asked.is_set():
            found = [entry.prompt for entry in registry.tools_for("Recipe")]
            if found not in (["red"] * 3, ["green"] * 3):
                mixed.append(found)

    askers = [threading.Thread(target=ask) for _ in range(2)]
    for asker in askers:
        asker.start()
    try:
        for turn in range(reloads):
            file.write_text(version("green" if turn % 2 == 0 else "red"), "utf-8")
            assert registry.reload() is True
    finally:
        asked.set()
        for asker in askers:
            asker.join(30)
    assert mixed == []


def test_reloads_and_registrations_in_many_threads_lose_nothing(file: Path) -> None:
    registry = ToolRegistry.load(file)
    count = 8

    def work(number: int) -> None:
        registry.handler(f"tool_{number}")(lambda: number)
        registry.reload()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert set(names(registry, "Thing")) == {
        "search", "details", *(f"tool_{number}" for number in range(count)),
    }  # fmt: skip


def test_repeated_lookups_return_the_same_object() -> None:
    registry = ToolRegistry.loads(SHOP)
    assert registry.tools_for("Recipe") is registry.tools_for("Recipe")
    # It is immutable, so callers cannot affect each other.
    assert isinstance(registry.tools_for("Recipe"), tuple)


@tool
async def convert(amount: float, currencies: list[str], rounded: bool = False) -> str:
    """Convert money.

    Args:
        amount: How much, as in {this} or {this: one}.
        currencies: Into which ones.
        rounded: Whether to round.
    """
    return f"{amount} {currencies} {rounded}"


def test_tools_become_entries_with_their_descriptions() -> None:
    def greet(name: str) -> str:
        "Say hello."
        return f"Hello {name}"

    registry = ToolRegistry.from_tools([convert, greet], type="schema:Offer", site="bank")
    assert names(registry, "Offer") == []
    assert names(registry, "Offer", "bank") == ["convert", "greet"]
    entry = entry_of(registry, "Offer", "convert", "bank")
    assert (entry.type, entry.site, entry.method, entry.handler) == (
        "Offer",
        "bank",
        "builtin",
        None,
    )
    assert entry.arguments == {
        "amount": "How much, as in {this} or {this: one}.",
        "currencies": "Into which ones.",
        "rounded": "Whether to round.",
    }
    # What a docstring says is no placeholder.
    assert entry.placeholders == ("request.query",)
    prompt = entry.render({"request.query": "10 dollars in yen?", "this": "nothing"})
    assert "How much, as in (this) or {this: one}." in prompt
    assert "10 dollars in yen?" in prompt
    assert "Convert money." in prompt
    assert "- currencies: Into which ones." in prompt
    assert entry.schema is not None
    assert entry.schema["required"] == ["score", "amount", "currencies"]
    assert set(entry.schema["properties"]) == {"score", "amount", "currencies", "rounded"}
    assert convert.contract.parameters is not None
    assert entry.parameters["properties"] == convert.contract.parameters["properties"]
    assert registry.handler_for(entry) is convert
    assert isinstance(registry.write(), str)


def test_an_argument_that_could_be_the_score_is_refused() -> None:
    def rate(item: str, score: int) -> None: ...

    with pytest.raises(ToolDefinitionError, match="'score' conflicts with the score"):
        ToolRegistry.from_tools([rate])


@pytest.mark.parametrize("tools", ["search", [convert, convert], ["search"], convert])
def test_tools_refused_by_a_toolset_are_refused_by_a_registry(tools: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        ToolRegistry.from_tools(tools)


def test_a_registry_has_a_repr(file: Path) -> None:
    assert repr(ToolRegistry.loads(SHOP)) == "ToolRegistry(3 tools)"
    assert repr(ToolRegistry.load(file)) == f"ToolRegistry({str(file)!r}, 3 tools)"


def test_a_registry_needs_no_event_loop(file: Path) -> None:
    registry = ToolRegistry.load(file)

    async def main() -> list[str]:
        return names(registry, "Movie")

    assert asyncio.run(main()) == asyncio.run(main()) == ["search", "details"]
