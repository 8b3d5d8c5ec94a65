"""The browser for the tests of the page: the system's Chromium.

Run as a command, this module installs Debian's Chromium if none is found and it runs as root:
without windows, it takes two thirds of the CPU time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

PACKAGES = ("chromium-headless-shell", "chromium")
"""Debian's packages, in the order of preference."""
NAMES = (*PACKAGES, "chromium-browser", "google-chrome", "google-chrome-stable")

ARGUMENTS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    # Containers have no user namespaces for it, and it opens only our own page.
    "--no-sandbox",
)
"""Arguments of the browser: it connects to the tested server only."""

MISSING = (
    "the page is tested in Chromium, and there is none: install it (Debian: apt-get install "
    "chromium), or name one in TOOLWEAVE_BROWSER"
)


def find() -> str | None:
    """Return the path of the browser, if there is one."""
    return os.environ.get("TOOLWEAVE_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


def main() -> int:
    """Install a browser if none is found."""
    apt = shutil.which("apt-get")
    if find() is None and apt is not None and os.geteuid() == 0:
        subprocess.run([apt, "update", "--quiet"], check=True)
        install = [apt, "install", "--yes", "--quiet", "--no-install-recommends"]
        # Older releases have only the second one.
        any(subprocess.run([*install, package]).returncode == 0 for package in PACKAGES)
    found = find()
    sys.stderr.write(f"{found or MISSING}\n")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
