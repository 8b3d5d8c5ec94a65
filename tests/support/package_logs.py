"""Log records of the package, without those of asyncio about tasks that earlier tests left."""

from __future__ import annotations

import logging

import pytest


def package_records(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name.partition(".")[0] == "toolweave"]
