"""The proxies: how they are started, and what a process of one has taken."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from endpoint.control import BENCHES

MODEL = "local-model"
MAX_STREAMS = 2_000
START_SECONDS = 300.0
STOP_SECONDS = 10.0
LITELLM = BENCHES.parent / ".venvs" / "bench-litellm" / "bin" / "litellm"
TOOLWEAVE = BENCHES.parent / "target" / "release" / "toolweave-serve"
_CONFIG = """\
model_list:
  - model_name: {model}
    litellm_params:
      model: openai/{model}
      api_base: http://127.0.0.1:{port}/v1
      api_key: unused
litellm_settings:
  telemetry: false
"""
_LITELLM_ENVIRONMENT = {
    # Nothing is fetched, clients need no key, and connections do not wait for others.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
    "AIOHTTP_CONNECTOR_LIMIT": str(MAX_STREAMS),
    "AIOHTTP_CONNECTOR_LIMIT_PER_HOST": str(MAX_STREAMS),
}


@dataclass(frozen=True)
class Proxy:
    """Running proxy, or the upstream itself if `pid` is 0."""

    port: int
    pid: int = 0

    def cpu(self) -> float:
        """Return the CPU seconds of all threads of the process, user and system."""
        # The clock of another process, see clock_getcpuclockid(3); /proc/PID/stat has 1/100 s.
        return time.clock_gettime((~self.pid << 3) | 2)

    def memory(self) -> int:
        """Return the resident memory, in bytes."""
        statm = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii")
        return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def toolweave(
    upstream: int, mode: str, *, under: Sequence[str] = (), program: Path = TOOLWEAVE
) -> Generator[Proxy, None, None]:
    """Run `toolweave-serve` with one thread, by the command `under` if there is one."""
    port = _free_port()
    command = [*under, str(program), "--upstream", f"http://127.0.0.1:{upstream}/v1"]
    command += ["--port", str(port), "--mode", mode, "--max-concurrency", str(MAX_STREAMS)]
    with _running(command, port, "/healthz") as proxy:
        yield proxy


@contextmanager
def litellm(upstream: int, mode: str) -> Generator[Proxy, None, None]:
    """Run LiteLLM's proxy with one worker. It has no modes."""
    del mode
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="toolweave-serve-") as folder:
        config = Path(folder) / "config.yaml"
        config.write_text(_CONFIG.format(model=MODEL, port=upstream), encoding="utf-8")
        command = [str(LITELLM), "--config", str(config), "--host", "127.0.0.1"]
        command += ["--port", str(port), "--num_workers", "1"]
        with _running(command, port, "/health/liveliness", **_LITELLM_ENVIRONMENT) as proxy:
            yield proxy


@contextmanager
def _running(
    command: list[str], port: int, health: str, **environment: str
) -> Generator[Proxy, None, None]:
    if shutil.which(command[0]) is None:
        message = f"there is no {command[0]}; `make bench` makes it"
        raise FileNotFoundError(message)
    # Compiled modules are kept, since LiteLLM takes more than a minute to start without them.
    inherited = {name: os.environ[name] for name in os.environ if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command,
            env={**inherited, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            if not _answers(process, f"http://127.0.0.1:{port}{health}"):
                log.seek(0)
                message = f"{command[0]} does not serve:\n{log.read()[-3000:].decode()}"
                raise RuntimeError(message)
            yield Proxy(port, process.pid)
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answers(process: subprocess.Popen[bytes], url: str) -> bool:
    """Wait until a server answers, and return false if it does not."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return True
        time.sleep(0.2)
    return False


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
