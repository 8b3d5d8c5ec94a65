"""Fixtures of the suite that every interpreter runs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import toolweave
from effort import EFFORT
from loop_watchdog import Watchdog, watching
from postgres_server import PostgresServer

# Most assertions of the fault tests are in these modules.
pytest.register_assert_rewrite("fault_scenarios")

# Large packages that only some environments install; see tests/suites.py.
LARGE = {"litellm": "models/test_litellm.py", "distributed": "executor/test_dask.py"}
WITH_LITELLM = find_spec("litellm") is not None
collect_ignore = [file for package, file in LARGE.items() if find_spec(package) is None]


# Areas whose tests wait for servers and processes, up to half a minute each.
WAITING = ("faults", "store", "web")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run first what waits longest, so that no worker is alone with it in the end."""
    items.sort(key=lambda item: item.path.parent.name not in WAITING)


@pytest.fixture(scope="session", autouse=True)
def no_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Replace the CA certificates: all servers are on the loopback, without TLS.

    Loading them is most of the cost of an HTTP client, and the tests create hundreds.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
        yield


@pytest.fixture(autouse=True)
def loop_watchdog(request: pytest.FixtureRequest) -> Iterator[Watchdog]:
    """Fail a test in which a callback blocked an event loop for too long.

    A test whose own code does so deliberately is marked with ``holds_the_loop`` and a reason.
    """
    with watching(Watchdog()) as watchdog:
        yield watchdog
    if request.node.get_closest_marker("holds_the_loop") is None:
        watchdog.check()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Start a PostgreSQL server that all tests of this process share."""
    server = PostgresServer()
    try:
        server.initialise()
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """Create an empty database of the shared server."""
    url = postgres_server.create()
    yield url
    postgres_server.drop(url)


# The databases behave alike on every Python version: a quick run uses one of them.
@pytest.fixture(params=["sqlite"] if EFFORT == "quick" else ["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of an empty database, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'chats.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


def pytest_report_header() -> str:
    """Return the path of the tested package: an installed wheel, or the source folder."""
    litellm = "with" if WITH_LITELLM else "without"
    found = f"toolweave {toolweave.__version__} from {Path(toolweave.__file__).parent}"
    return f"{found}, {litellm} litellm"
