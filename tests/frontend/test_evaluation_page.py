"""The page of `toolweave eval --html` in a browser: nothing runs, nothing overflows."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from toolweave.evaluation import RawReply, Way, own_cases, score
from toolweave.evaluation._html import report_page

HOSTILE = "</pre></div><script>document.title = 'owned'</script><img src=x onerror=alert(1)>"
LONG = "x" * 3000


@pytest.mark.parametrize("width", [1400, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_is_shown_whole_at_any_width(
    width: int, scheme: str, browser: Browser, tmp_path: Path
) -> None:
    cases = own_cases()[:20]
    ways = [Way.named(name) for name in ("natural", "natural-fenced", "native", "recovered")]
    replies = [
        RawReply(case.id, way.asked_as, f"model {HOSTILE}", f"{HOSTILE} {LONG}")
        for case in cases
        for way in ways[:3]
    ]
    file = tmp_path / "report.html"
    # The browser keeps the loop of this thread running.
    with ThreadPoolExecutor() as pool:
        report = pool.submit(lambda: asyncio.run(score(cases, ways, replies))).result()
    file.write_text(report_page(report), "utf-8")
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.locator("details").count() == 20
    assert page.locator("details .way").count() == 80
    assert page.title().startswith("model </pre>")
    assert page.locator("script, img").count() == 0
    assert page.locator("pre", has_text="<script>").first.is_visible()
    # Tables scroll inside; the page does not.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colours = page.evaluate(
        "(style => [style.color, style.backgroundColor])(getComputedStyle(document.body))"
    )
    assert colours[1] == ("rgb(13, 17, 23)" if scheme == "dark" else "rgb(255, 255, 255)")
    assert loaded == [file.as_uri()]
    context.close()
