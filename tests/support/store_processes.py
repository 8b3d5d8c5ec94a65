"""Stores in processes of their own."""

from __future__ import annotations

import asyncio
import subprocess
import sys

from stored_runs import TEST_TIMEOUT

WRITER = """
import asyncio, sys
from toolweave.store import MessageStore

async def main():
    async with MessageStore(sys.argv[1]) as store:
        print("ready", flush=True)
        for line in sys.stdin:
            await eval("store." + line)
            print("done", flush=True)

asyncio.run(main())
"""


class StoreProcess:
    """A store in another process."""

    def __init__(self, url: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.expect("ready")

    def expect(self, word: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"{word}\n"

    async def does(self, what: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        await asyncio.to_thread(self.expect, "done")

    def close(self) -> None:
        self.process.communicate(timeout=TEST_TIMEOUT)
