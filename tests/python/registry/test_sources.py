"""Tests of registries from fragments, several files, folders and URLs, and of removals."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from coroutine_tests import TEST_TIMEOUT
from sample_registries import DETAILS, SEARCH, names, registry_of
from toolweave import Scene, SceneManager
from toolweave.cli import main
from toolweave.exceptions import HandlerError, RegistryError
from toolweave.handlers import find_handler
from toolweave.handlers._remote import RemoteEndpoint
from toolweave.registry import ToolRegistry
from toolweave.testing import ScriptedModel

LISTED = """
<Thing>
  <Tool name="search" enabled="true">
    <path>/api/search</path>
    <method>url</method>
    <argument name="query">What to search for</argument>
    <example>Find a quiet cafe</example>
    <prompt>
      The user has the following query: {request.query}.

      Finds places that match what is asked for.
    </prompt>
    <returnStruc>{"score": "integer between 0 and 100", "search_query": "what for"}</returnStruc>
  </Tool>
</Thing>
"""
OWN = """\
<YourType>
  <Tool name="your_tool" enabled="yes">
    <handler>core.your_module.YourHandler</handler>
    <prompt>Serves your things, such as {request.query}.</prompt>
    <returnStruc>{"score": "integer between 0 and 100", "your_param": "a parameter"}</returnStruc>
  </Tool>
</YourType>
"""


@pytest.mark.parametrize("text", [LISTED, OWN, LISTED + OWN, f"<!-- both -->{OWN}\n{LISTED}"])
def test_a_fragment_of_a_file_is_read(text: str, tmp_path: Path) -> None:
    file = tmp_path / "part.xml"
    file.write_text(text, "utf-8")
    registry = ToolRegistry.load(file)
    whole = ToolRegistry.loads(f"<Tools>{text}</Tools>")
    assert registry.fingerprint == whole.fingerprint
    assert "TW122" in {found.code for found in registry.lint()}
    assert "TW122" not in {found.code for found in whole.lint()}
    # What is written has a root.
    again = ToolRegistry.loads(registry.write())
    assert again.fingerprint == registry.fingerprint
    assert "TW122" not in {found.code for found in again.lint()}


def test_a_tool_outside_of_a_type_is_reported_with_its_parent() -> None:
    with pytest.raises(RegistryError, match=r'the tool "search" stands in <Tools>, which is no'):
        ToolRegistry.loads(f"<Tools>{SEARCH}</Tools>")
    with pytest.raises(RegistryError, match=r'the tool "search" stands outside of any type'):
        ToolRegistry.loads(SEARCH.strip())


def test_a_relative_path_is_resolved_against_the_base_url() -> None:
    registry = ToolRegistry.loads(LISTED, base_url="https://api.example.org/v2/")
    [entry] = registry.tools_for("Thing")
    found = find_handler(registry, entry, allowed_hosts=["api.example.org"])
    assert isinstance(found, RemoteEndpoint)
    assert str(found.url) == "https://api.example.org/api/search"
    there = "http://localhost:8000/"
    asked = find_handler(registry, entry, allowed_hosts=["localhost:8000"], base_url=there)
    assert isinstance(asked, RemoteEndpoint)
    assert str(asked.url) == "http://localhost:8000/api/search"
    with pytest.raises(HandlerError, match=r"leads to api\.example\.org, which is not allowed"):
        find_handler(registry, entry, allowed_hosts=["localhost:8000"])


def test_lint_reports_relative_paths_without_a_base_url() -> None:
    found = [one for one in ToolRegistry.loads(LISTED).lint() if one.code == "TW205"]
    [diagnostic] = found
    assert (diagnostic.line, diagnostic.column, diagnostic.length) == (4, 11, len("/api/search"))
    assert "and there is no base_url" in diagnostic.message
    registry = ToolRegistry.loads(LISTED, base_url="https://api.example.org")
    assert "TW205" not in {one.code for one in registry.lint()}
    served = ToolRegistry.loads(LISTED)
    served.handler("search")(lambda: None)
    assert "TW205" not in {one.code for one in served.lint()}
    [entry] = ToolRegistry.loads(LISTED).tools_for("Thing")
    with pytest.raises(HandlerError, match="relative to a base_url"):
        find_handler(ToolRegistry.loads(LISTED), entry)


@pytest.mark.parametrize("base", ["/api", "api.example.org", "ftp://example.org", ""])
def test_a_base_url_must_be_absolute(base: str) -> None:
    with pytest.raises(ValueError, match="base_url must be an absolute URL"):
        ToolRegistry(base_url=base)


def test_a_type_in_another_case_is_reported_with_a_suggestion(
    caplog: pytest.LogCaptureFixture,
) -> None:
    registry = ToolRegistry.loads(registry_of(Thing=SEARCH, Hotel=DETAILS))
    with caplog.at_level(logging.WARNING, "toolweave.registry"):
        for _ in range(2):
            assert names(registry, "hotel") == ["search"]
        names(registry, "Hotel")
        names(registry, "Xyzzy")
    assert [record.getMessage() for record in caplog.records] == [
        "there is no type 'hotel', so it has the tools of Thing; did you mean 'Hotel'?"
    ]


def test_the_command_that_lists_tools_suggests_a_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tools.xml"
    file.write_text(registry_of(Thing=SEARCH, Hotel=DETAILS), "utf-8")
    assert main(["tools", str(file), "--type", "hotel"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == "hotel, which is no type; did you mean Hotel?"


def test_several_files_and_folders_are_one_registry(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    one, two, three = tmp_path / "one.xml", folder / "b.xml", folder / "a.XML"
    one.write_text(registry_of(Thing=SEARCH), "utf-8")
    two.write_text(registry_of(Soup=DETAILS).replace("<Soup>", '<Soup extends="Recipe">'), "utf-8")
    three.write_text(LISTED.replace('"search"', '"find"'), "utf-8")
    (folder / ".c.xml").write_text("<half", "utf-8")
    (folder / "notes.txt").write_text("none", "utf-8")
    registry = ToolRegistry.load(one, folder)
    assert names(registry, "Soup") == ["search", "find", "details"]
    assert registry.path is None
    messages = [found.message for found in registry.lint()]
    assert any(text.startswith(f"{three}: the tool") for text in messages)

    # Each is read again, and one that is broken changes nothing.
    assert registry.reload() is False
    two.write_text("<Soup", "utf-8")
    with pytest.raises(RegistryError, match=r"b\.xml:1:"):
        registry.reload()
    assert names(registry, "Soup") == ["search", "find", "details"]
    two.unlink()
    assert registry.reload() is True
    assert names(registry, "Soup") == ["search", "find"]
    three.unlink()
    with pytest.raises(RegistryError, match="has no file whose name ends in"):
        registry.reload()


def test_errors_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    for name in ("a.xml", "b.xml"):
        (tmp_path / name).write_text("<Tools><Thing>", "utf-8")
    with pytest.raises(RegistryError) as refused:
        ToolRegistry.load(tmp_path)
    assert len(refused.value.diagnostics) == 2
    assert "a.xml:1:" in str(refused.value)
    assert "b.xml:1:" in str(refused.value)


def test_a_tool_in_two_files_is_taken_from_the_last_and_reported(tmp_path: Path) -> None:
    for name, handler in (("a.xml", "first"), ("b.xml", "second")):
        text = registry_of(Thing=DETAILS.replace("shop.details", handler))
        (tmp_path / name).write_text(text, "utf-8")
    registry = ToolRegistry.load(tmp_path / "a.xml", tmp_path / "b.xml")
    [entry] = registry.tools_for("Thing")
    assert entry.handler == "second.Details"
    assert "was there before, in another file" in registry.lint()[-1].message


class DocumentServer:
    """Server with one document that counts its reads."""

    def __init__(self) -> None:
        self.text = registry_of(Thing=SEARCH)
        self.status = 200
        self.headers: dict[str, str] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.url = ""


@contextmanager
def web() -> Iterator[DocumentServer]:
    served = DocumentServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tag = f'"{hash(served.text)}"'
            known = self.headers.get("If-None-Match")
            served.asked.append((self.path, known))
            same = known == tag and served.status == 200
            body = b"" if same else served.text.encode()
            self.send_response(304 if same else served.status)
            for name, value in {"ETag": tag, **served.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def load(served: DocumentServer, *more: Any, **options: Any) -> ToolRegistry:
    host = served.url.removeprefix("http://")
    return ToolRegistry.load(
        f"{served.url}/tools.xml", *more, **{"allowed_hosts": [host], **options}
    )


def test_a_url_is_read_and_an_unchanged_document_is_not_sent_again(tmp_path: Path) -> None:
    (tmp_path / "own.xml").write_text(OWN, "utf-8")
    with web() as served:
        registry = load(served, tmp_path / "own.xml")
        assert names(registry, "YourType") == ["search", "your_tool"]
        assert registry.reload() is False
        (_, first), (_, second) = served.asked
        assert (first, second is None) == (None, False)
        served.text = registry_of(Thing=SEARCH + DETAILS)
        assert registry.reload() is True
        assert names(registry, "Thing") == ["search", "details"]
        served.text = "<Tools>"
        with pytest.raises(RegistryError, match=r"/tools\.xml:1:"):
            registry.reload()
        assert names(registry, "Thing") == ["search", "details"]


def test_a_url_is_read_from_allowed_hosts_only_within_a_limit() -> None:
    with web() as served:
        with pytest.raises(RegistryError, match=r"not allowed; allow it with allowed_hosts="):
            load(served, allowed_hosts=["example.org"])
        assert served.asked == []
        with pytest.raises(RegistryError, match="is larger than 10 bytes"):
            load(served, max_bytes=10)
        served.headers = {"Content-Encoding": "gzip"}
        with pytest.raises(RegistryError, match="unsupported Content-Encoding gzip"):
            load(served)
        served.headers, served.status = {"Location": "http://localhost:1/"}, 302
        with pytest.raises(RegistryError, match="leads to localhost:1, which is not allowed"):
            load(served)
        served.headers = {"Location": "/again"}
        with pytest.raises(RegistryError, match="redirects more than 3 times"):
            load(served)
        served.status = 500
        with pytest.raises(RegistryError, match="answered 500"):
            load(served)
        url = served.url
    with pytest.raises(RegistryError, match="cannot be read: "):
        ToolRegistry.load(f"{url}/x", allowed_hosts=[url.removeprefix("http://")])


def test_a_folder_and_a_url_are_watched(tmp_path: Path) -> None:
    async def main() -> None:
        with web() as served:
            (tmp_path / "own.xml").write_text(OWN, "utf-8")
            registry = load(served, tmp_path)
            async with registry.watch(poll=0.02) as reloads:
                (tmp_path / "more.xml").write_text(registry_of(Movie=DETAILS), "utf-8")
                while "details" not in names(registry, "Movie"):
                    await asyncio.wait_for(anext(reloads), TEST_TIMEOUT)
                served.text = registry_of(Thing=SEARCH + DETAILS)
                while "details" not in names(registry, "Thing"):
                    await asyncio.wait_for(anext(reloads), TEST_TIMEOUT)

    asyncio.run(main())


def test_loading_needs_a_source() -> None:
    with pytest.raises(TypeError, match="sources must be at least one file, folder or URL"):
        ToolRegistry.load()
    with pytest.raises(TypeError, match="allowed_hosts must be a list of hosts"):
        ToolRegistry.load("x.xml", allowed_hosts="example.org")


def test_tools_that_were_registered_can_be_removed_again() -> None:
    registry = ToolRegistry.loads(registry_of(Thing=SEARCH))

    @registry.handler("details", type="Movie")
    def details(title: str) -> str:
        "Say more."
        return title

    registry.handler("search", type="Movie")(details)
    tools = registry.toolset("Movie")
    assert [tool.name for tool in tools] == ["search", "details"]
    registry.remove("details", type="schema:Movie")
    assert [tool.name for tool in tools] == names(registry, "Movie") == ["search"]
    registry.remove("search", type="Movie")
    # The tool of the file is there still, without that handler.
    [entry] = registry.tools_for("Movie")
    assert (entry.type, registry.handler_for(entry)) == ("Thing", None)
    with pytest.raises(LookupError, match="nothing was registered in Python for the tool 'search'"):
        registry.remove("search", type="Movie")
    registry.handler("details", type="Movie")(details)
    assert names(registry, "Movie") == ["search", "details"]


def test_scenes_can_be_removed_again() -> None:
    manager = SceneManager(ScriptedModel("Hello."))
    manager.add(Scene("Shop", "Sells things."))
    kept = manager.scene("Kitchen", "Cooks.")
    gone = manager.remove("Shop")
    assert gone.name == "Shop"
    assert dict(manager.scenes) == {"Kitchen": kept}
    with pytest.raises(LookupError, match=r"name must be one of Kitchen, got .Shop."):
        manager.remove("Shop")
    manager.add(Scene("Shop"))
    assert list(manager.scenes) == ["Kitchen", "Shop"]
