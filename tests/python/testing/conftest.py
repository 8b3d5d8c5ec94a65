"""Sessions of pytest without plugins of other packages, which each would import again."""

from __future__ import annotations

import pytest

UNUSED = ("langsmith_plugin", "schemathesis", "llmock", "platformdirs", "xdist.looponfail")


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return the fixture of pytest, with plugins blocked that other tests bring along."""
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-p no:{name}" for name in UNUSED))
    return pytester
