"""What README and the pages in docs promise: their snippets run, their links resolve."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))]


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


@pytest.mark.parametrize("page", PAGES)
def test_relative_links_resolve(page):
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", text_of(page))
    assert [target for target in targets if not ((ROOT / page).parent / target).exists()] == []
