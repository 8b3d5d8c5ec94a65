"""`toolweave serve`: a proxy that gives any model tool calls, for clients in any language."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

from .._core import Dialect, ProxyServer
from ._inputs import InputError
from ._options import count, port, positive

if TYPE_CHECKING:
    import argparse
    from types import FrameType

SUMMARY = "serve an OpenAI-compatible API with tool calls, in front of any model"
DESCRIPTION = (
    "Serve OpenAI's chat completions in front of an OpenAI-compatible server whose models may "
    "write tool calls as text. Clients get calls that are complete, validated and repaired. "
    "Ctrl-C lets the replies that are being written end; a second one does not."
)

PORT = 8700
GRACE = 30.0
"""Seconds for replies to end after Ctrl-C."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--upstream",
        required=True,
        metavar="URL",
        help="the base URL of the server with the models, such as http://127.0.0.1:8080/v1",
    )
    parser.add_argument(
        "--upstream-key-env",
        metavar="VAR",
        help="the environment variable that holds the API key for the upstream",
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to bind (127.0.0.1)")
    parser.add_argument(
        "--port",
        type=port,
        default=PORT,
        metavar="N",
        help=f"the port ({PORT}); 0 takes a free one",
    )
    parser.add_argument(
        "--api-key-env",
        metavar="VAR",
        help="the environment variable that holds the key clients must send; required unless only "
        "this machine can reach the address",
    )
    calls = parser.add_argument_group("calls")
    calls.add_argument(
        "--mode",
        choices=("auto", "natural", "recover"),
        default="auto",
        help="describe tools in the prompt (natural), send them to the upstream and recover the "
        "calls that it misses (recover), or find out for each model (auto, the default)",
    )
    calls.add_argument(
        "--dialect",
        choices=sorted(Dialect.names()),
        metavar="NAME",
        help="the dialect of the models, such as hermes; by default that of each model's name",
    )
    calls.add_argument(
        "--retries",
        type=_number,
        default=1,
        metavar="N",
        help="ask up to N times for a valid call in place of an invalid one (1)",
    )
    calls.add_argument(
        "--stream-arguments",
        action="store_true",
        help="stream the arguments of calls as they are written, neither validated nor repaired",
    )
    access = parser.add_argument_group("access")
    access.add_argument(
        "--pass",
        dest="pass_paths",
        action="append",
        default=[],
        metavar="PATH",
        help="pass requests for this path on to the upstream, such as /v1/embeddings; may be "
        "repeated",
    )
    access.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a host name by which clients reach this server; may be repeated",
    )
    access.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="an origin of web pages that may send requests, such as http://localhost:3000; may "
        "be repeated",
    )
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--max-body-bytes", type=count, default=16 << 20, metavar="N", help="of a request (16 MiB)"
    )
    limits.add_argument(
        "--max-concurrency", type=count, default=256, metavar="N", help="requests at once (256)"
    )
    for option, default, text in (
        ("--client-timeout", 60.0, "for a client to send its request, or to read on (60)"),
        ("--first-byte-timeout", 600.0, "for the upstream to begin its reply (600)"),
        ("--idle-timeout", 300.0, "between two pieces of the upstream's reply (300)"),
        ("--timeout", None, "for a whole reply of the upstream (no limit)"),
    ):
        limits.add_argument(
            option, type=positive("seconds"), default=default, metavar="S", help=f"seconds {text}"
        )
    parser.add_argument(
        "--threads", type=count, default=1, metavar="N", help="threads of the server (1)"
    )
    parser.add_argument(
        "--record",
        metavar="FILE",
        help="append the upstream's replies to requests with tools to a file, for `toolweave eval "
        "--rescore` and bug reports; it is private data",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="do not write a line of JSON for each request"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    host: str = options.host.strip("[]")
    if host == "localhost":
        host = "127.0.0.1"
    try:
        server = ProxyServer(
            options.upstream,
            address=f"[{host}]:{options.port}" if ":" in host else f"{host}:{options.port}",
            upstream_key=_key(options.upstream_key_env),
            api_key=_key(options.api_key_env),
            mode=None if options.mode == "auto" else options.mode,
            dialect=options.dialect,
            retries=options.retries,
            stream_arguments=options.stream_arguments,
            pass_paths=options.pass_paths,
            hosts=options.allow_host,
            origins=options.allow_origin,
            max_body_bytes=options.max_body_bytes,
            max_concurrency=options.max_concurrency,
            client_timeout=options.client_timeout,
            first_byte_timeout=options.first_byte_timeout,
            idle_timeout=options.idle_timeout,
            timeout=options.timeout,
            threads=options.threads,
            log=not options.quiet,
            record=options.record,
        )
    except (ValueError, OSError) as err:
        raise InputError(str(err)) from None
    # Before the address is printed: who reads it may end the server at once.
    stopped = _receive_signals()
    address, bound = server.address
    at = f"[{address}]" if ":" in address else address
    sys.stdout.write(f"serving http://{at}:{bound}/v1\n")
    sys.stdout.flush()
    stopped.wait()
    sys.stdout.write("\nstopping; replies that are being written may end\n")
    sys.stdout.flush()
    server.stop(GRACE)
    return 0


def _receive_signals() -> threading.Event:
    """Receive Ctrl-C and, as service managers send it, SIGTERM, from now on.

    Both end the process at once when they come a second time.

    Returns:
        What is set by the first of them.
    """
    stopped = threading.Event()

    def stop(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return stopped


def _key(variable: str | None) -> str | None:
    """Return the key in an environment variable, if one is named."""
    key = None if variable is None else os.environ.get(variable)
    if variable is not None and not key:
        raise InputError(f"the environment variable {variable} is not set")
    return key


def _number(text: str) -> int:
    """Parse an integer of at least 0."""
    return 0 if text == "0" else count(text)
