"""Record what PyTorch answers, or check what is recorded: ``python -m tests.golden --record [files or folders]``."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def users() -> list[str]:
    """Files of tests that use a peer, themselves or by a module beside them."""
    return sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tests").rglob("test_*.py") if "peer(" in p.read_text())


def tests(mode: str, files: list[str]) -> int:
    """Run tests beside PyTorch, noting its answers, or without it."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *files]
    return subprocess.run(command, cwd=ROOT, env=os.environ | {"LUCIDGRAD_GOLDEN": mode}).returncode


def main() -> int:
    """Record and try."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the answers of PyTorch to tests/golden/answers")
    parser.add_argument("--check", action="store_true", help="record into memory; tell what differs from the files")
    parser.add_argument("files", nargs="*", help="files or folders of tests; all that use a peer")
    chosen = parser.parse_args()
    files = chosen.files or users()
    if chosen.check:
        return tests("check", files)
    if not chosen.record:
        parser.error("--record or --check")
    return tests("record", files) or tests("replay", files)


if __name__ == "__main__":
    sys.exit(main())
