"""What README promises: its snippets run, its links resolve, its demo succeeds."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def snippets():
    """Yield each Python block of README, shifted so that tracebacks show README's own lines."""
    for block in re.finditer(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE):
        yield "\n" * README.count("\n", 0, block.start(1)) + block[1]


def test_snippets_run_in_order():
    namespace = {"__name__": "readme"}
    for code in snippets():
        exec(compile(code, "README.md", "exec"), namespace)
    assert "lg" in namespace, "README shows no Python snippet that imports lucidgrad as lg"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_relative_links_resolve(page):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / page).read_text(encoding="utf-8"))
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_demo_succeeds():
    demo = subprocess.run([sys.executable, "examples/train.py"], cwd=ROOT, capture_output=True, text=True)
    assert demo.returncode == 0, demo.stdout + demo.stderr
