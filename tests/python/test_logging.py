"""Records go to `toolweave.<area>`, and nowhere until an application asks for them."""

from __future__ import annotations

import logging
import subprocess
import sys

import toolweave


def test_the_package_logger_has_a_handler_that_drops_records() -> None:
    handlers = logging.getLogger(toolweave.__name__).handlers
    assert [type(handler) for handler in handlers] == [logging.NullHandler]


def test_the_package_logger_leaves_level_and_propagation_to_the_application() -> None:
    logger = logging.getLogger(toolweave.__name__)
    assert logger.level == logging.NOTSET
    assert logger.propagate
    assert not logger.disabled


def test_a_warning_prints_nothing_where_logging_is_not_configured() -> None:
    program = "import logging, toolweave; logging.getLogger('toolweave.parser').warning('unheard')"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=True, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("", "")
