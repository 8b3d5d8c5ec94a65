"""The pytest plugin, in sessions of pytest with a server as the model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openai_endpoint import Endpoint, Reply, serving

pytest_plugins = ["pytester"]

KEY = "sk-very-secret-0123456789"
GONE = "http://127.0.0.1:9/v1"
MODULE = f"""
import asyncio
import os

import pytest

from toolweave import Agent
from toolweave.models.http import HttpModel
from toolweave.testing import call, expect_calls


def weather(city: str) -> str:
    return f"Sun in {{city}}."


def real(name="m"):
    return HttpModel(os.environ["MODEL_URL"], name, "{KEY}", max_retries=0)


def run(model, question="Oslo?"):
    return Agent(model, [weather]).run_sync(os.environ.get("QUESTION", question))
"""
TRIP = """
def test_trip(recorded_model):
    result = run(recorded_model(real()))
    expect_calls(result, call("weather", city="Oslo"))
    assert result.text == "It is sunny."
"""
CALL = '<weather>{"city": "Oslo"}</weather>'
REPLIES = (CALL, "It is sunny.")


class Session:
    """A folder with tests, and the environment in which they run."""

    def __init__(self, pytester: pytest.Pytester, patch: pytest.MonkeyPatch) -> None:
        self.pytester = pytester
        self.patch = patch
        self.folder = pytester.path / "recordings" / "test_it"
        self.use(GONE)

    def write(self, tests: str) -> None:
        self.pytester.makepyfile(test_it=MODULE + tests)

    def use(self, url: str) -> None:
        self.patch.setenv("MODEL_URL", url)

    def run(self, *arguments: str) -> tuple[dict[str, int], str]:
        """Run the tests; return the outcomes and the output."""
        done = self.pytester.runpytest_inprocess(
            "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *arguments
        )
        outcomes = done.parseoutcomes() if "seconds" in str(done.outlines) or done.ret < 2 else {}
        outcomes.pop("warnings", None)
        outcomes.pop("warning", None)
        return outcomes, done.stdout.str() + done.stderr.str()

    def record(self, *replies: str | Reply, mode: str = "once") -> Endpoint:
        with serving(*replies) as endpoint:
            self.use(endpoint.url)
            outcomes, output = self.run(f"--toolweave-record={mode}")
        self.use(GONE)
        assert "failed" not in outcomes, output
        assert "errors" not in outcomes, output
        return endpoint


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.delenv("CI", raising=False)
    return Session(pytester, monkeypatch)


def test_replies_are_recorded_once_and_replayed_without_the_server(session: Session) -> None:
    session.write(TRIP)
    outcomes, output = session.run()
    assert outcomes == {"failed": 1}
    assert "has no recording of this test" in output
    assert "pytest test_it.py::test_trip --toolweave-record=once" in output
    assert len(session.record(*REPLIES).requests) == 2
    recorded = (session.folder / "test_trip.jsonl").read_text("utf-8")
    assert KEY not in recorded
    assert len(recorded.splitlines()) == 3
    assert session.run()[0] == {"passed": 1}
    assert session.run("--toolweave-record=once")[0] == {"passed": 1}
    assert (session.folder / "test_trip.jsonl").read_text("utf-8") == recorded


def test_a_change_fails_until_it_is_recorded_again(session: Session) -> None:
    session.write(TRIP)
    session.record(*REPLIES)
    session.patch.setenv("QUESTION", "And in Oslo?")
    for mode in ("none", "once"):
        outcomes, output = session.run(f"--toolweave-record={mode}")
        assert outcomes == {"failed": 1}
        assert "messages have changed (- recorded, + sent)" in output
        assert '"text": "And in Oslo?"' in output
    session.record(*REPLIES, mode="rewrite")
    assert session.run()[0] == {"passed": 1}


def test_a_test_that_passes_without_its_recordings_fails(session: Session) -> None:
    session.write(TRIP)
    session.record(*REPLIES)
    session.write("def test_trip(recorded_model):\n    pass\n")
    outcomes, output = session.run()
    assert outcomes == {"failed": 1}
    assert "2 of 2 recorded replies in" in output
    session.write("def test_trip(recorded_model):\n    assert False\n")
    assert "recorded replies" not in session.run()[1]


def test_a_difference_that_the_application_catches_fails_the_test(session: Session) -> None:
    session.write(
        """
def test_caught(recorded_model):
    try:
        run(recorded_model(real()))
    except AssertionError:
        pass

def test_hidden(recorded_model):
    try:
        run(recorded_model(real()))
    except AssertionError:
        raise ValueError("something failed") from None
"""
    )
    outcomes, output = session.run()
    assert outcomes == {"failed": 2}
    assert output.count("has no recording of this test") == 2
    assert "Captured toolweave call" in output


def test_a_test_that_fails_records_nothing(session: Session) -> None:
    session.write(TRIP)
    session.record(*REPLIES)
    before = (session.folder / "test_trip.jsonl").read_bytes()
    with serving(CALL, "It rains.") as endpoint:
        session.use(endpoint.url)
        assert session.run("--toolweave-record=rewrite")[0] == {"failed": 1}
    assert (session.folder / "test_trip.jsonl").read_bytes() == before


def test_nothing_is_sent_in_continuous_integration(session: Session) -> None:
    session.write(TRIP)
    session.patch.setenv("CI", "true")
    with serving(*REPLIES) as endpoint:
        session.use(endpoint.url)
        _, output = session.run("--toolweave-record=once")
        assert "--toolweave-record=once sends requests to models, which is not allowed" in output
        assert session.run()[0] == {"failed": 1}
    assert endpoint.requests == []


def test_a_damaged_file_is_an_error_in_plain_words(session: Session) -> None:
    session.write(TRIP)
    session.record(*REPLIES)
    file = session.folder / "test_trip.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    outcomes, output = session.run()
    assert outcomes == {"errors": 1}
    assert "test_trip.jsonl, line 3: must be valid JSON" in output
    assert "Traceback" not in output


MANY = """
@pytest.mark.parametrize("city", ["Oslo", "Bergen"])
def test_cities(recorded_model, city):
    assert run(recorded_model(real()), city).text == "Hi."

class TestModels:
    def test_two(self, recorded_model):
        assert run(recorded_model(real("one"))).text == "Hi."
        assert run(recorded_model(real("two"))).text == "Hi."

def test_loop(recorded_model):
    async def main():
        agent = Agent(recorded_model(real()), [weather])
        both = await asyncio.gather(agent.run("Oslo?"), agent.run("Bergen?"))
        return [result.text for result in both]
    assert asyncio.run(main()) == ["Hi.", "Hi."]

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.anyio
async def test_anyio(recorded_model):
    assert (await Agent(recorded_model(real())).run("Hi")).text == "Hi."

def test_no_model():
    pass
"""


def test_all_kinds_of_tests_are_recorded_and_replayed(session: Session) -> None:
    session.write(MANY)
    assert len(session.record(*["Hi."] * 7).requests) == 7
    names = sorted(path.name.partition("-")[0] for path in session.folder.iterdir())
    assert names == [
        "TestModels.test_two.jsonl",
        "test_anyio.jsonl",
        "test_cities[Bergen]",
        "test_cities[Oslo]",
        "test_loop.jsonl",
    ]
    assert session.run()[0] == {"passed": 6}


def test_tests_are_recorded_and_replayed_in_several_processes(session: Session) -> None:
    session.write(MANY)
    with serving(*["Hi."] * 7) as endpoint:
        session.use(endpoint.url)
        recorded = session.pytester.runpytest_subprocess("-n2", "--toolweave-record=once")
        recorded.assert_outcomes(passed=6)
    assert len(endpoint.requests) == 7
    session.use(GONE)
    # Ids of tests get the name of their group.
    done = session.pytester.runpytest_subprocess("-n2", "--dist=loadgroup")
    done.assert_outcomes(passed=6)


def test_a_run_that_does_not_use_the_fixture_does_not_import_the_package(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_other(pytestconfig):
            assert pytestconfig.pluginmanager.hasplugin("toolweave")
            loaded = {name.partition(".")[0] for name in sys.modules}
            assert "_toolweave_pytest" in loaded
            assert "toolweave" not in loaded
        """
    )
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=1)


def test_the_plugin_imports_nothing_but_pytest() -> None:
    program = (
        "import sys, pytest; before = set(sys.modules); import _toolweave_pytest;"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["_toolweave_pytest"]


def test_the_fixture_is_shown_with_its_documentation(session: Session) -> None:
    session.write("")
    _, output = session.run("--fixtures", "-p", "no:terminalreporter_")
    assert "recorded_model" in output
    assert "wraps a model so that its replies are recorded once and replayed" in output
    assert Path(session.pytester.path).exists()
