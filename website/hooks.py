"""Hooks of MkDocs: generated pages, and links to files outside the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

import api_pages
import repository_pages

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "target/site-scripts"
ASSETS = {
    "assets/site.css": ROOT / "website/site.css",
    "assets/mermaid.min.js": SCRIPTS / "mermaid/dist/mermaid.min.js",
    "assets/iframe-worker.js": SCRIPTS / "iframe-worker/shim/index.js",
}
REMOTE_WORKER = "https://unpkg.com/iframe-worker/shim"
"""Address of the script with which the theme searches in pages of a folder."""

generated: dict[str, str] = {}
"""The generated pages of this build, by their paths."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Generate the pages, and complete the navigation with them."""
    generated.clear()
    try:
        generated.update(api_pages.pages(api_pages.load()))
        generated.update(repository_pages.pages())
    except ValueError as err:
        raise PluginError(str(err)) from err
    api = [path for path in generated if path.startswith("reference/api/")]
    decisions = [f"decisions/{name}" for name in repository_pages.decisions()]
    fill(config.nav or [], "Reference", [{"API": [{Path(path).stem: path} for path in api]}])
    fill(config.nav or [], "Decisions", decisions)
    return config


def fill(nav: list[Any], section: str, entries: list[Any]) -> None:
    """Add entries to a section of the navigation, once."""
    [entry] = [entry for entry in nav if section in entry]
    entry[section] += [item for item in entries if item not in entry[section]]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and the assets to the files of the site."""
    for path, text in generated.items():
        files.append(File.generated(config, path, content=text))
    for path, asset in ASSETS.items():
        files.append(File.generated(config, path, abs_src_path=str(asset)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Point links to files of the repository to the pages that show them."""
    return repository_pages.relink(markdown, page.file.src_uri)


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Load the script from the site itself."""
    return local_scripts(output, page.url)


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """Load it from the site on pages such as that for errors."""
    return local_scripts(output_content, template_name)


def local_scripts(html: str, url: str) -> str:
    """Replace the address of the remote script by that of its copy."""
    root = "../" * url.count("/")
    return html.replace(REMOTE_WORKER, f"{root}assets/iframe-worker.js")
