"""Write docs/laws.md and its table: ``python -m tests.laws``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # samples and rows are modules of tests

from . import report

for path, text in report.files().items():
    path.write_text(text, encoding="utf-8")
    print(f"written: {path.name}")
