"""The address of the repository in what is published: ``python -m tools.urls``, before building.

The sources don't know where they are published from, so they name no address. Where a release is built, GitHub says it
(``GITHUB_SERVER_URL``, ``GITHUB_REPOSITORY``), and it is written into each pyproject.toml there; elsewhere nothing is
changed.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = (ROOT / "pyproject.toml", ROOT / "packages/cudasim/pyproject.toml")

_HEAD = "[project.urls] # written by `python -m tools.urls`"


def known(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The addresses by what they lead to; empty where nobody says them."""
    server, repository = environment.get("GITHUB_SERVER_URL", ""), environment.get("GITHUB_REPOSITORY", "")
    if not server and not repository:
        return {}
    if not re.fullmatch(r"https://[\w.-]+", server) or not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise SystemExit(
            f"tools.urls: given GITHUB_SERVER_URL={server!r} and GITHUB_REPOSITORY={repository!r}, expected "
            "https://host and owner/name"
        )
    address = f"{server}/{repository}"
    return {
        "Repository": address,
        "Issues": f"{address}/issues",
        "Changelog": f"{address}/blob/HEAD/CHANGELOG.md",
    }


def written(text: str, urls: Mapping[str, str]) -> str:
    """A pyproject.toml with these addresses, in place of those that an earlier run has written."""
    plain = text.partition(f"\n{_HEAD}\n")[0]
    lines = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    return f"{plain}\n{_HEAD}\n{lines}" if urls else plain


def main() -> None:
    """Write them into both projects."""
    urls = known()
    for path in PROJECTS:
        text = path.read_text(encoding="utf-8")
        if text != (new := written(text, urls)):
            path.write_text(new, encoding="utf-8")
    print(f"addresses: {urls.get('Repository', 'none is known')}")


if __name__ == "__main__":
    main()
