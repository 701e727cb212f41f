"""README for where there is no repository around it: an index of packages shows it without the files beside it.

``python -m tools.readme`` writes ``tools/package_readme.md``, which pyproject.toml names: the text of README.md without
pictures, with the words of links to files in place of the links. ``--check`` tells whether it would differ.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WRITTEN = Path(__file__).with_name("package_readme.md")

_PICTURES = re.compile(r"(?:^!\[[^\]]*\]\([^)]*\)\n)+\n", re.MULTILINE)
_LINK = re.compile(r"\[([^\[\]]+)\]\((?!https?:|#)[^)]*\)")
_SECTIONS = ("Read on", "Layout")  # lists of files

_NOTE = "Pages that are mentioned are in the folder `docs` of the source distribution.\n"


def text() -> str:
    """What is written."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    parts = re.split(r"^(?=## )", readme, flags=re.MULTILINE)
    kept = [part for part in parts if part.partition("\n")[0].removeprefix("## ") not in _SECTIONS]
    plain = _LINK.sub(r"\1", _PICTURES.sub("", "".join(kept)))
    return f"{plain.rstrip()}\n\n{_NOTE}"


def main(*options: str) -> int:
    """Write the file, or check it; return the exit status."""
    if "--check" not in options:
        WRITTEN.write_text(text(), encoding="utf-8")
        return 0
    current = WRITTEN.read_text(encoding="utf-8") == text()
    if not current:
        print(f"{WRITTEN.name} is not what README.md says: run `python -m tools.readme`", file=sys.stderr)
    return not current


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
