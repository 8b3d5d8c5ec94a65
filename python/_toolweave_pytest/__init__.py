"""A pytest plugin: the fixture `recorded_model` and the option ``--toolweave-record``.

pytest loads it in every run of an environment that has toolweave. It is no part of the package and
imports nothing of it until a test uses the fixture, so other tests start as fast as without it. Its
documentation is `docs/how-to/testing.md`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from toolweave.testing import RecordedModelFixture
    from toolweave.testing._recorded_model import Mode, RecordingSession

_MODES = ("none", "once", "rewrite")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("toolweave").addoption(
        "--toolweave-record",
        choices=_MODES,
        default="none",
        help="Record replies of models for tests that use `recorded_model`. none: replay recorded "
        "replies and send nothing (default). once: record the tests that have no recording, and "
        "replay the others. rewrite: record all selected tests anew.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to record in continuous integration.

    Raises:
        pytest.UsageError: The environment variable ``CI`` is set.
    """
    mode = config.getoption("--toolweave-record")
    if mode != "none" and os.environ.get("CI", "").lower() not in ("", "0", "false"):
        raise pytest.UsageError(
            f"--toolweave-record={mode} sends requests to models, which is not allowed where the "
            "environment variable CI is set; record on another machine and check the files in"
        )


@pytest.fixture
def recorded_model(request: pytest.FixtureRequest) -> RecordedModelFixture:
    """Return a function that wraps a model so that its replies are recorded once and replayed.

    The recordings of a test are in ``recordings/<module>/<test>.jsonl`` beside its module.
    """
    from toolweave.testing._recorded_model import RecordingSession

    item: pytest.Item = request.node
    mode = cast("Mode", request.config.getoption("--toolweave-record"))
    try:
        session = RecordingSession.of_test(item.path, _test_id(item), mode)
    except AssertionError as err:
        # From None: the failure is the text of the error, without a traceback into this package.
        raise pytest.fail.Exception(str(err), pytrace=False) from None
    _sessions(item).append(session)
    return session.record


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Forget the session of an earlier attempt at the same test."""
    _sessions(item).clear()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Check that a test that passes has used its recordings, or save what it has recorded."""
    sessions = _sessions(item)
    try:
        outcome = yield
    except BaseException:
        for session in sessions:
            # The code under test may have caught the errors, and failed for another reason.
            if session.failures:
                item.add_report_section("call", "toolweave", "\n\n".join(session.failures))
        raise
    try:
        for session in sessions:
            session.finish()
    except AssertionError as err:
        raise pytest.fail.Exception(str(err), pytrace=False) from None
    return outcome


_SESSIONS = pytest.StashKey["list[RecordingSession]"]()


def _test_id(item: pytest.Item) -> str:
    """Return the id of a test without what other plugins append to it."""
    names = [
        node.name for node in item.listchain() if isinstance(node, (pytest.Class, pytest.Item))
    ]
    return "::".join([item.nodeid.partition("::")[0], *names])


def _sessions(item: pytest.Item) -> list[RecordingSession]:
    return item.stash.setdefault(_SESSIONS, [])
