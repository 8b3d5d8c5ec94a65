"""The browser that the page is tested in: Chromium, as the system has it.

Run as a command, it installs one where none is found and it may: Debian's, as root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

ARGUMENTS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    # Containers have no user namespaces for it, and it opens nothing but our own page.
    "--no-sandbox",
)
"""What it is started with: it has no business with anyone but the tested server."""

MISSING = (
    "the page is tested in Chromium, and there is none: install it (Debian: apt-get install "
    "chromium), or name one in TOOLWEAVE_BROWSER"
)


def find() -> str | None:
    """The path of the browser, if there is one."""
    return os.environ.get("TOOLWEAVE_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


def main() -> int:
    """Sees to it that there is a browser."""
    apt = shutil.which("apt-get")
    if find() is None and apt is not None and os.geteuid() == 0:
        install = [apt, "install", "--yes", "--quiet", "--no-install-recommends", "chromium"]
        subprocess.run([apt, "update", "--quiet"], check=True)
        subprocess.run(install, check=True)
    found = find()
    sys.stderr.write(f"{found or MISSING}\n")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
