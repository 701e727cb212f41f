"""The built site in a real browser: ways through it, search, pictures, and no page wider than a phone."""

import json

import browser
import pytest
import thoroughness

PAGES = sorted(path.relative_to(browser.SITE).as_posix() for path in browser.SITE.rglob("*.html"))
PAGES = [page for page in PAGES if not page.startswith(("_", "search"))]

pytestmark = [
    pytest.mark.skipif(not thoroughness.NIGHTLY, reason="`make nightly` looks at the site"),
    pytest.mark.skipif(browser.chromium() is None, reason="no chromium: `apt-get install chromium`"),
    pytest.mark.skipif("index.html" not in PAGES, reason="the site is not built: `make docs`"),
]

LOOK = """
const seen = {};
for (const path of %s) {
  const page = await open(path, %d);
  seen[path] = {
    wide: tooWide(page),
    broken: [...page.images].filter((image) => !image.naturalWidth).map((image) => image.src),
    title: page.querySelector("h1")?.textContent ?? "",
  };
}
return seen;
"""


def test_no_page_is_wider_than_a_phone_and_pictures_are_there():
    seen = browser.run(LOOK % (json.dumps(PAGES), 390), timeout=1200)
    assert set(seen) == set(PAGES)
    assert {page: found["wide"] for page, found in seen.items() if found["wide"]} == {}
    assert {page: found["broken"] for page, found in seen.items() if found["broken"]} == {}
    assert [page for page, found in seen.items() if not found["title"]] == []


def test_a_page_that_is_too_wide_would_be_seen():
    wide = browser.run("""
        const page = await open("index.html", 390);
        page.querySelector("article").insertAdjacentHTML("beforeend", "<pre style='width: 900px'>wide</pre>");
        return tooWide(page);
    """)
    assert wide == ["pre: wide"]


def test_no_guide_is_wider_than_a_narrow_window():
    guides = [page for page in PAGES if "/" not in page]
    seen = browser.run(LOOK % (json.dumps(guides), 760))
    assert {page: found["wide"] for page, found in seen.items() if found["wide"]} == {}


def test_the_side_bar_leads_to_pages():
    found = browser.run("""
        const page = await open("index.html", 1280);
        const links = [...page.querySelectorAll(".sidebar-tree a")].map((link) => link.href);
        const answers = await Promise.all(links.map(async (link) => [link, (await fetch(link)).status]));
        const tour = [...page.querySelectorAll(".sidebar-tree a")].find((link) => link.textContent == "Ten minutes");
        tour.click();
        const heading = await until(() => frame.contentDocument.querySelector("h1")?.textContent.startsWith("Ten"));
        return { lost: answers.filter(([, status]) => status != 200), count: links.length, heading };
    """)
    assert found["lost"] == [] and found["count"] > 40
    assert found["heading"] is True


def test_search_finds_names_and_guides():
    found = browser.run("""
        const hits = async (words) => {
          await open("search.html?q=" + words, 1280);
          await until(() => frame.contentDocument.querySelector("#search-results li"));
          await sleep(500);
          return [...frame.contentDocument.querySelectorAll("#search-results li a")].map((link) => link.href);
        };
        return { name: await hits("logsumexp"), guide: await hits("streams") };
    """)
    assert any("reference/" in link for link in found["name"])
    assert any("cuda.html" in link for link in found["guide"])


def test_tables_can_be_filtered():
    found = browser.run("""
        const page = await open("certified.html", 1280);
        const field = await until(() => page.querySelector("input.table-filter"));
        const rows = () => [...page.querySelector("table.searchable").tBodies[0].rows].filter((row) => !row.hidden);
        const before = rows().length;
        field.value = "tanh float32 cuda";
        field.dispatchEvent(new Event("input"));
        return { before, after: rows().map((row) => row.textContent.trim().split(/\\s+/)[0]) };
    """)
    assert found["before"] > 500
    assert 0 < len(found["after"]) < 10 and all("tanh" in name for name in found["after"])


FILTER = """
const page = await open("reference/door_%s.html", 1280);
const field = await until(() => page.querySelector(".names-filter input"));
const seen = (all) => [...page.querySelectorAll(all)].filter((each) => each.getClientRects().length);
const before = { names: seen(".names > dl").length, modules: seen("h2").length };
field.value = "%s";
field.dispatchEvent(new Event("input"));
const shown = seen(".names > dl");
return {
  before, modules: seen("h2").length, texts: shown.map((each) => each.textContent.toLowerCase()),
  anchors: shown.map((each) => each.querySelector("dt").id),
};
"""


@pytest.mark.parametrize(("door", "word"), [("torch", "scatter_add"), ("numpy", "logaddexp"), ("hips", "elementwise")])
def test_the_names_of_a_door_can_be_filtered(door, word):
    found = browser.run(FILTER % (door, word))
    assert found["before"]["names"] > 500 and found["modules"] < found["before"]["modules"]
    assert 0 < len(found["texts"]) < 30 and all(word in text for text in found["texts"])
    assert all(anchor.startswith(f"lucidgrad.{door}.") for anchor in found["anchors"])


def test_a_dark_scheme_can_be_chosen():
    found = browser.run("""
        const page = await open("index.html", 1280);
        const colour = () => frame.contentWindow.getComputedStyle(page.body).backgroundColor;
        const seen = new Set([colour()]);
        for (let i = 0; i < 3; i++) {
          page.querySelector(".theme-toggle").click();
          await sleep(100);
          seen.add(colour());
        }
        return [...seen];
    """)
    assert len(found) == 2
