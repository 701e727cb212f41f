"""Links of the built site: every page, file and anchor that a page leads to is there."""

import html.parser
import urllib.parse
from pathlib import Path

import browser
import pytest
import thoroughness

pytestmark = [
    pytest.mark.skipif(not thoroughness.NIGHTLY, reason="`make nightly` follows the links of the site"),
    pytest.mark.skipif(not (browser.SITE / "index.html").exists(), reason="the site is not built: `make docs`"),
]


class Page(html.parser.HTMLParser):
    """What a page leads to, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        for key in ("href", "src"):
            if found.get(key):
                self.links.add(found[key])


@pytest.fixture(scope="module")
def pages():
    return {path.resolve(): Page(path) for path in browser.SITE.rglob("*.html")}


def test_every_link_leads_somewhere(pages):
    lost = []
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                lost.append(f"{path.name}: {link}")
    assert lost == []


def test_links_to_other_sites_are_secure(pages):
    assert {link for page in pages.values() for link in page.links if link.startswith("http:")} == set()
