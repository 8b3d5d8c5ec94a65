"""Pages on other origins, in a browser: those that are listed can use the chats, others cannot."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from serving import HERE, ServerProcess

CONVERSE = """
async (server) => {
  const json = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers: json, credentials: 'include' };
  const created = await fetch(`${server}/chats`, { ...init, body: '{}' });
  const location = created.headers.get('location');
  const sent = await fetch(`${server}${location}/messages`, {
    ...init,
    body: JSON.stringify({ text: 'How long does green tea steep?' }),
  });
  const { runId } = await sent.json();
  const events = [];

  // The first part by EventSource, whose connection is lost after a few events.
  await new Promise((resolve) => {
    const source = new EventSource(`${server}${location}/events`, { withCredentials: true });
    source.onmessage = ({ data }) => {
      events.push(JSON.parse(data));
      if (events.length === 5) {
        source.close();
        resolve();
      }
    };
  });

  // The rest by fetch, resumed with the number of the last event.
  const rest = await fetch(`${server}${location}/events`, {
    headers: { 'Last-Event-ID': String(events.at(-1).sequenceNumber) },
    credentials: 'include',
  });
  let text = '';
  let parts = 0;
  for await (const part of rest.body.pipeThrough(new TextDecoderStream())) {
    text += part;
    parts += 1;
  }
  for (const line of text.split('\\n')) {
    if (line.startsWith('data: ')) events.push(JSON.parse(line.slice(6)));
  }
  const stopped = await fetch(`${server}${location}/runs/${runId}/stop`, { ...init, body: '{}' });
  const missing = await fetch(`${server}/chats/none`);
  const deleted = await fetch(`${server}${location}`, { method: 'DELETE' });
  return {
    location, events, parts,
    statuses: [created, sent, rest, stopped, missing, deleted].map((each) => each.status),
    error: (await missing.json()).error.code,
  };
}
"""

FAIL = """
async (server) => {
  const attempt = (path, init) =>
    fetch(`${server}${path}`, init).then(() => 'read', () => 'refused');
  const json = { 'content-type': 'application/json' };
  return [
    await attempt('/chats'),
    await attempt('/chats', { method: 'POST', headers: json, body: '{}' }),
    await attempt('/chats', { method: 'POST', body: '{}', credentials: 'include' }),
    await attempt('/chats/none', { method: 'DELETE' }),
    await new Promise((resolve) => {
      const source = new EventSource(`${server}/chats/none/events`);
      source.onopen = () => resolve('read');
      source.onerror = () => resolve('refused');
    }),
  ];
}
"""


class _Blank(http.server.BaseHTTPRequestHandler):
    """Pages without content, whose origin is that of the server."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Another site</title>")

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def site() -> Iterator[str]:
    """Serve blank pages, and yield their origin."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Blank) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://localhost:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[tuple[str, str, ServerProcess]]:
    """Yield a listed origin, another one, and the server that lists only the first."""
    with ExitStack() as stack:
        listed, other = stack.enter_context(site()), stack.enter_context(site())
        server = ServerProcess([str(HERE / "tea_desk.py")], tmp_path)
        server.start("--origin", listed)
        stack.callback(server.stop)
        yield listed, other, server


@contextmanager
def opened(browser: Browser, origin: str) -> Iterator[Page]:
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(f"{origin}/")
        yield page
    finally:
        context.close()


def test_a_page_on_a_listed_origin_sends_streams_and_resumes(
    browser: Browser, sites: tuple[str, str, ServerProcess]
) -> None:
    listed, _, server = sites
    # `localhost` and `127.0.0.1` are different sites.
    with opened(browser, listed) as page:
        found = page.evaluate(CONVERSE, server.url)
    assert found["location"].startswith("/chats/")
    assert found["statuses"] == [201, 202, 200, 202, 404, 204]
    assert found["error"] == "unknown_chat"
    numbers = [event["sequenceNumber"] for event in found["events"]]
    assert numbers == list(range(1, len(numbers) + 1))
    assert found["events"][-1]["status"] == "finished"
    # It was read as it arrived.
    assert found["parts"] > 1


def test_a_page_on_another_origin_can_do_nothing(
    browser: Browser, sites: tuple[str, str, ServerProcess]
) -> None:
    _, other, server = sites
    with opened(browser, other) as page:
        assert page.evaluate(FAIL, server.url) == ["refused"] * 5
        # An opaque origin, `null`, is on no list.
        page.goto("about:blank")
        frame = "<iframe sandbox='allow-scripts' srcdoc='<p>opaque</p>'></iframe>"
        page.set_content(frame)
        inner = page.frames[-1]
        assert inner.evaluate("() => self.origin") == "null"
        assert inner.evaluate(FAIL, server.url) == ["refused"] * 5
    assert server.get("/chats") == {"chats": []}
