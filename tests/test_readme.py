"""What README and the pages in docs promise: their snippets run, their links resolve, no page is forgotten."""

import importlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: What `make docs` writes below docs/.
MADE = ("build", "gallery", "reference")
SOURCES = sorted(path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in MADE)
PAGES = ["README.md", "CONTRIBUTING.md", *(path.relative_to(ROOT).as_posix() for path in SOURCES)]
TREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def snippets(page):
    """Yield each Python block of a page, shifted so that tracebacks show the page's own lines."""
    text = text_of(page)
    for block in re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield "\n" * text.count("\n", 0, block.start(1)) + block[1]


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CONTRIBUTING.md"])
def test_snippets_run_in_order(page):
    namespace = {}
    for code in snippets(page):
        exec(compile(code, page, "exec"), namespace)
    assert "lg" in namespace or page != "README.md", "README shows no snippet that imports lucidgrad as lg"


def anchors(page):
    """The anchors that a page's headings have."""
    without_code = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", without_code, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_relative_links_resolve(page):
    broken = []
    for target in LINK.findall(text_of(page)):
        path, _, anchor = target.partition("#")
        if path.startswith(("http:", "https:")):
            continue
        found = (ROOT / page).parent / path if path else ROOT / page
        if (DOCS / "gallery") in found.parents or (DOCS / "reference") in found.parents:
            continue  # made by `make docs`, which checks them
        if not found.exists() or (anchor and found.suffix == ".md" and anchor not in anchors(found.relative_to(ROOT))):
            broken.append(target)
    assert broken == []


def test_links_to_other_sites_are_of_known_ones():
    """There may be no network where tests run, so addresses are held to a form and to a list of hosts."""
    hosts = set(
        "data-apis.org docs.scipy.org github.com huggingface.co keepachangelog.com numpy.org semver.org".split()
    )
    found = {url for page in [*PAGES, "CHANGELOG.md"] for url in re.findall(r"https?://[^\s)>\"`]+", text_of(page))}
    assert [url for url in sorted(found) if not url.startswith("https://") or url.split("/")[2] not in hosts] == []


def test_every_page_is_in_the_table_of_contents():
    listed = set()
    for page in SOURCES:
        for block in TREE.findall(page.read_text(encoding="utf-8")):
            for entry in block.splitlines():
                if entry and not entry.startswith(":"):
                    listed |= set(page.parent.glob(entry.rpartition("<")[2].rstrip(">") + ".md"))
    assert set(SOURCES) - listed == {DOCS / "index.md"}


def test_pictures_are_there_and_have_words():
    for page in PAGES:
        for words, path in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text_of(page)):
            assert words and ((ROOT / page).parent / path).is_file(), (page, path)


def test_the_readme_of_packages_is_current_and_leads_to_no_files():
    readme = importlib.import_module("tools.readme")
    text = readme.WRITTEN.read_text(encoding="utf-8")
    assert text == readme.text(), "run `python -m tools.readme`"
    assert [target for target in LINK.findall(text) if not target.startswith("https://")] == []
    assert "![" not in text


def test_the_benchmark_page_is_written_from_the_recorded_run():
    site = importlib.import_module("bench.site")
    assert site.PAGE.read_text(encoding="utf-8") == site.page(json.loads(site.DATA.read_text())), "python -m bench.site"


def test_names_that_pages_mention_exist():
    """What stands behind ``lg.`` in a page is a public name, or an attribute of one."""
    lost = []
    for page in PAGES:
        for path in re.findall(r"\blg\.([A-Za-z_][\w.]*\w)", text_of(page)):
            found = importlib.import_module("lucidgrad")
            for part in path.split("."):
                found = getattr(found, part, None)
                if found is None:
                    lost.append(f"{page}: lg.{path}")
                    break
    assert lost == []
