"""How the whole suite runs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import toolweave

# The tests of the adapter for litellm have an environment of their own; see tests/matrix.py.
WITH_LITELLM = find_spec("litellm") is not None
collect_ignore = [] if WITH_LITELLM else ["test_models_litellm.py"]

# The same examples on every machine, and no clock: a property that fails for one
# fails for all. `pytest --hypothesis-profile=explore` goes looking for new ones.
_SHARED = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("house", _SHARED, derandomize=True, database=None)
settings.register_profile("explore", _SHARED, max_examples=5000)
settings.load_profile("house")


@pytest.fixture(scope="session", autouse=True)
def no_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """All servers are on the loopback, without TLS, but each HTTP client reads all certificates.

    That is most of what it takes to make one, of which there are hundreds.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
        yield


def pytest_report_header() -> str:
    """Which package is tested: an installed wheel, or the source folder in development."""
    litellm = "with" if WITH_LITELLM else "without"
    found = f"toolweave {toolweave.__version__} from {Path(toolweave.__file__).parent}"
    return f"{found}, {litellm} litellm"
