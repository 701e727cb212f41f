"""Links that lead out of docs/ lead to pages of the site; files of the repository's root are pages, too."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: Pages that are files at the root of the repository.
WHOLE = {"readme": "README.md", "contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}

#: What a link begins with, and what takes its place; links are relative to docs/.
PAGES = (
    (r"\.\./examples/(\w+)\.py", r"gallery/\1.rst"),
    (r"\.\./examples/?", "gallery/index.rst"),
    *((rf"\.\./{re.escape(file)}", f"{page}.md") for page, file in WHOLE.items()),
)

_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|`[^`]*`)+)\]\(([^)\s]+)\)")


def lead(app, name, source):
    """Change the links of a page."""
    if name in WHOLE:
        app.env.note_dependency(str(ROOT / WHOLE[name]))
        source[0] = _from_root((ROOT / WHOLE[name]).read_text(encoding="utf-8"))
        source[0] = source[0].replace("# lucidgrad\n", "# What it is for\n", 1)  # the site's first page has that title
    up = "../" * name.count("/")
    for pattern, page in PAGES:
        source[0] = re.sub(rf"\]\({re.escape(up)}{pattern}(?=[)#])", rf"]({up}{page}", source[0])
    # Patterns in a table of contents for pages that are absent.
    source[0] = re.sub(
        r"^\S+\*\n", lambda found: found[0] if _matches(app, found[0]) else "", source[0], flags=re.MULTILINE
    )


def _from_root(text):
    """The text with links as a page in docs/ has them; what is no page keeps its words only."""

    def change(found):
        words, target = found.groups()
        if target.startswith(("http", "#")):
            return found[0]
        if target.startswith("docs/"):
            return f"[{words}]({target.removeprefix('docs/')})"
        outside = f"../{target}"
        if any(re.fullmatch(rf"{pattern}(#.*)?", outside) for pattern, _ in PAGES):
            return f"[{words}]({outside})"
        return words if "`" in words else f"`{words}`" if "/" in words else words

    return _LINK.sub(change, text).replace("](docs/images/", "](images/")


def _matches(app, pattern):
    return any(Path(app.srcdir).glob(f"{pattern.strip()}.md"))


def setup(app):
    """Listen to pages as they are read."""
    app.connect("source-read", lead)
    return {"parallel_read_safe": True}
