"""The command `toolweave serve` in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


SERVE = (sys.executable, "-m", "toolweave", "serve", "--port", "0")
"""The command, on a free port."""


@contextmanager
def command(*arguments: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command on a free port; return the process and the URL that it prints."""
    process = subprocess.Popen(
        [*SERVE, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield process, line.removeprefix("serving ").strip()
    finally:
        process.kill()
        process.communicate()
