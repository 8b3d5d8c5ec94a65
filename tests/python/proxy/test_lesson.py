"""The lesson about any client: its server and its client make the call that the page shows."""

from __future__ import annotations

import threading
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING

from page_examples import examples
from paths import DOCS

from .conftest import proxying

if TYPE_CHECKING:
    import pytest

PAGE = DOCS / "tutorial/any-client.md"


def test_the_client_of_the_lesson_gets_a_call_of_its_server(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = PAGE.read_text("utf-8")
    server, client = examples(text)
    namespace, _ = server.run(str(PAGE))
    with ThreadingHTTPServer(("127.0.0.1", 0), namespace["Upstream"]) as upstream:
        thread = threading.Thread(target=upstream.serve_forever)
        thread.start()
        try:
            address = f"http://127.0.0.1:{upstream.server_port}/v1"
            with proxying(address, mode=None) as url:
                client.run(str(PAGE), url=url)
        finally:
            upstream.shutdown()
            thread.join()
    printed = capsys.readouterr().out
    assert f"```text\n{printed}```" in text
