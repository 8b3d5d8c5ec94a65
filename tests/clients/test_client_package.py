"""The npm package of the TypeScript client: its contents, its types and its documentation."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

import toolweave
from chat_servers import app_of, serve
from paths import DOCS, EXAMPLES, ROOT
from toolweave import Agent
from toolweave.testing import ScriptedModel
from web_clients import NODE

NPM = NODE.parents[1] / "lib/node_modules/npm/bin/npm-cli.js"
SOURCE = ROOT / "web/src/client"
PROJECT = ROOT / "web/client"
TOOLS = ROOT / "web/node_modules"
EXAMPLE = EXAMPLES / "react/node_modules"
NAME = "@toolweave/client"
README = (PROJECT / "README.md").read_text("utf-8")
MODULES = sorted(path.stem for path in SOURCE.glob("*.ts"))

RESOLUTIONS = {"bundler": ("preserve", "bundler"), "node": ("nodenext", "nodenext")}
"""The two ways in which front ends and programs for Node find types: module and resolution."""


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program, with Node on the path."""
    path = f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PATH": path},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with the package, as `npm pack` makes it, and the types of React."""
    folder = tmp_path_factory.mktemp("project")
    packed = run(NODE, NPM, "pack", "--pack-destination", folder, cwd=PROJECT)
    assert packed.returncode == 0, packed.stderr
    (archive,) = folder.glob("*.tgz")
    installed = folder / "node_modules" / NAME
    with tarfile.open(archive) as files:
        for member in files.getmembers():
            member.name = member.name.removeprefix("package/")
            files.extract(member, installed, filter="data")
    for name in ("@types", "csstype", "react"):
        (folder / "node_modules" / name).symlink_to(EXAMPLE / name)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


@pytest.fixture(scope="module")
def package(folder: Path) -> Path:
    """Return the folder of the installed package."""
    return folder / "node_modules" / NAME


def manifest(package: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((package / "package.json").read_text())
    return read


def type_errors(folder: Path, sources: dict[str, str], resolution: str) -> list[str]:
    """Return what the compiler says of programs that import the package."""
    module, how = RESOLUTIONS[resolution]
    options = {
        "module": module,
        "moduleResolution": how,
        "target": "es2023",
        "lib": ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
        "jsx": "react-jsx",
        "types": [],
        "noEmit": True,
        "strict": True,
        "exactOptionalPropertyTypes": True,
        "skipLibCheck": False,
    }
    for name, text in sources.items():
        (folder / name).write_text(text)
    project = {"compilerOptions": options, "files": list(sources)}
    (folder / "tsconfig.json").write_text(json.dumps(project))
    return run(NODE, TOOLS / "typescript/lib/tsc.js", cwd=folder).stdout.splitlines()


def programs() -> dict[str, str]:
    """Return the blocks of both pages that import the package."""
    found: dict[str, str] = {}
    for page, text in (
        ("README", README),
        ("clients", (DOCS / "explanation/clients.md").read_text("utf-8")),
    ):
        for kind, block in re.findall(r"^```(tsx?)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            if f"'{NAME}'" in block or f'"{NAME}"' in block:
                found[f"{page}_{len(found)}.{kind}"] = block
    return found


def test_the_version_is_that_of_the_python_package(package: Path) -> None:
    cargo = (ROOT / "Cargo.toml").read_text("utf-8")
    (crate,) = re.findall(r'^version = "(.*)"$', cargo, re.MULTILINE)
    assert manifest(package)["version"] == crate
    # In Python pre-releases are written differently.
    assert toolweave.__version__ == re.sub(r"-(a|b|rc)\w*\.", r"\1", crate)


def test_the_package_has_code_types_and_source_maps_of_each_module(package: Path) -> None:
    files = {path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()}
    ends = (".d.ts", ".js", ".js.map")
    expected = {f"dist/{module}{end}" for module in MODULES for end in ends}
    assert files == {*expected, "LICENSE", "README.md", "package.json"}
    assert (package / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    for module in MODULES:
        source_map = json.loads((package / f"dist/{module}.js.map").read_text("utf-8"))
        (content,) = source_map["sourcesContent"]
        assert content == (SOURCE / f"{module}.ts").read_text("utf-8")


def test_the_package_requires_nothing_and_can_be_shaken(package: Path) -> None:
    fields = manifest(package)
    assert not any(name.lower().endswith("dependencies") for name in fields)
    assert (fields["type"], fields["sideEffects"], fields["license"]) == ("module", False, "MIT")
    publint = (TOOLS / "publint/src/cli.js", "--strict", "--pack", "false")
    checked = run(NODE, *publint, package, cwd=package)
    assert checked.returncode == 0, checked.stdout


def test_the_types_leave_out_what_only_the_page_uses(package: Path) -> None:
    types = "".join(path.read_text("utf-8") for path in package.glob("dist/*.d.ts"))
    assert "interface ChatInfo" in types
    assert "playground" not in types.lower()


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_documented_programs_type_check_and_wrong_ones_do_not(
    folder: Path, resolution: str
) -> None:
    documented = programs()
    assert {name.partition("_")[0] for name in documented} == {"README", "clients"}
    wrong = f"import {{ ChatApi }} from '{NAME}';\nnew ChatApi().send(1, 'Hello');\n"
    (error,) = type_errors(folder, {**documented, "wrong.ts": wrong}, resolution)
    assert error.startswith("wrong.ts(2,20): error TS2345")


def test_every_exported_value_is_documented(package: Path) -> None:
    script = f"import * as all from '{NAME}'; console.log(Object.keys(all).join(' '))"
    listed = run(NODE, "--input-type=module", "-e", script, cwd=package.parents[2])
    names = set(listed.stdout.split())
    assert {"ChatApi", "LiveChat", "StreamReducer"} <= names
    assert {name for name in names if f"`{name}`" not in README} == set()


def test_the_documented_program_gets_an_answer(folder: Path, tmp_path: Path) -> None:
    program = next(iter(programs().values()))
    (folder / "ask.ts").write_text(program)
    script = "import { ask } from './ask.ts'; console.log(await ask(process.argv[1], 'Hello?'))"

    async def main() -> subprocess.CompletedProcess[str]:
        async with serve(app_of(tmp_path, Agent(ScriptedModel("Hello there.")))) as server:
            base = str(server.base_url).rstrip("/")
            command = (NODE, "--input-type=module", "-e", script, base)
            return await asyncio.to_thread(run, *command, cwd=folder)

    done = asyncio.run(main())
    assert (done.stdout, done.returncode) == ("Hello there.\n", 0), done.stderr


def test_the_react_example_has_the_current_package(package: Path) -> None:
    installed = EXAMPLE / NAME
    for path in package.rglob("*"):
        if path.is_file():
            copy = installed / path.relative_to(package)
            assert copy.read_bytes() == path.read_bytes(), f"{copy} is old: run `make test`"


def test_the_lock_file_of_the_react_example_pins_all_packages_but_this_one() -> None:
    lock = json.loads((EXAMPLES / "react/package-lock.json").read_text())
    packages = {name: each for name, each in lock["packages"].items() if name}
    # Its hash would change with every change of the client.
    own = packages.pop(f"node_modules/{NAME}")
    assert own["resolved"].startswith("file:")
    assert "integrity" not in own
    assert all("resolved" not in each and each["integrity"] for each in packages.values())
