"""Write docs/devices.md: ``python -m tests.devices``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # samples, rows and laws are modules of tests

from . import report

report.PAGE.write_text(report.page())
print(f"written: {report.PAGE.name}")
