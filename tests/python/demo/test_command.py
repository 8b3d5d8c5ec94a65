"""`toolweave demo`: its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from toolweave._demo import headless, server
from toolweave._demo.responder import Settings
from toolweave.cli import _demo as demo
from toolweave.cli import main

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = """
<Tools>
  <Thing><Tool name="search"><prompt>{request.query}</prompt>
    <returnStruc>{"score": "integer between 0 and 100"}</returnStruc></Tool></Thing>
  <Movie><Tool name="cast"><prompt>{request.query}</prompt>
    <returnStruc>{"score": "integer between 0 and 100"}</returnStruc></Tool></Movie>
</Tools>
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model-name", "m"], "--model-name requires --model URL"),
        (["--api-key-env", "KEY"], "--api-key-env requires --model URL"),
        (["--type", "Movie"], "--type requires --tools FILE"),
        (["--allow-handlers", "shop"], "--allow-handlers requires --tools FILE"),
        (["--tools", "no-such-file.xml"], "cannot read no-such-file.xml"),
        (["--model", "ftp://host"], "is not a URL of an endpoint"),
        (["--model", "http://127.0.0.1:1/v1"], "name the model with --model-name"),
        (
            ["--model", "http://h/v1", "--model-name", "m", "--api-key-env", "NO_SUCH_KEY"],
            "the environment variable NO_SUCH_KEY is not set",
        ),
    ],
)
def test_invalid_options_are_reported(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--port", "x"], ["--port", "65536"], ["--speed", "0"]])
def test_invalid_numbers_are_rejected(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["demo", *arguments])
    assert "must be a" in capsys.readouterr().err


class Called:
    """A double of the server and the headless run that records its arguments."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.served: list[tuple[Settings, Any]] = []
        self.played: list[tuple[Settings, Any]] = []
        monkeypatch.setattr(server, "serve", self._serve)
        monkeypatch.setattr(headless, "play", self._play)

    async def _serve(self, settings: Settings, model: Any, _: object) -> None:
        self.served.append((settings, model))

    async def _play(self, settings: Settings, model: Any, _: object) -> int:
        self.played.append((settings, model))
        return 1


def test_a_terminal_gets_a_page_in_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    called = Called(monkeypatch)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["demo"]) == 0
    assert main(["demo", "--no-browser", "--host", "0.0.0.0", "--port", "0"]) == 0
    (first, model), (second, _) = called.served
    assert model is None
    assert (first.host, first.port, first.browser) == ("127.0.0.1", demo.PORT, True)
    assert (second.host, second.port, second.browser) == ("0.0.0.0", 0, False)
    assert not called.played


def test_without_a_terminal_a_conversation_is_played_unless_a_server_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called = Called(monkeypatch)
    assert main(["demo"]) == 1
    [(settings, _)] = called.played
    assert settings.port == 0
    assert main(["demo", "--no-browser"]) == 0
    assert main(["demo", "--port", "0"]) == 0
    assert [settings.port for settings, _ in called.served] == [demo.PORT, 0]
    assert not any(settings.browser for settings, _ in called.served)


def test_tools_and_model_options_are_passed_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    called = Called(monkeypatch)
    file = tmp_path / "tools.xml"
    file.write_text(TOOLS)
    monkeypatch.setenv("A_KEY", "secret")
    live = ["--model", "http://127.0.0.1:1/v1", "--model-name", "m", "--api-key-env", "A_KEY"]
    own = [
        "--strategy",
        "choose",
        "--tools",
        str(file),
        "--allow-handlers",
        "shop",
        "--allow-handlers",
        "kino",
    ]
    assert main(["demo", "--port", "0", *live, *own]) == 0
    [(settings, model)] = called.served
    assert model.name == "m"
    assert settings.registry is not None
    assert [tool.name for tool in settings.registry.tools_for("Movie")] == ["search", "cast"]
    assert settings.allowed_handlers == ("shop", "kino")
    assert settings.strategy == "choose"


def test_errors_of_a_tools_file_are_reported_with_their_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tools.xml"
    file.write_text("<Tools><Movie><Tool/></Movie></Tools>")
    assert main(["demo", "--tools", str(file)]) == 2
    assert f"{file}" in capsys.readouterr().err


def test_ctrl_c_is_not_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def serve(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(server, "serve", serve)
    assert main(["demo", "--port", "0"]) == 0
    assert capsys.readouterr().out == "\nstopped\n"
