"""Run the programs beside this file and print what they found: ``python record_hips.py [name ...] > recorded.json``.

``python -m lucidgrad.hips record_hips.py`` runs the same files with ``autograd`` meaning lucidgrad's door.
"""

import json
import runpy
import sys
import time
from pathlib import Path

import autograd
import numpy as np

PROGRAMS = sorted(path.stem for path in (Path(__file__).parent / "programs").glob("*.py"))


def found_by(name):
    results = runpy.run_path(str(Path(__file__).parent / "programs" / f"{name}.py"))["run"]()
    for key, value in results.items():
        if not isinstance(value, (float, np.generic, np.ndarray)):
            raise TypeError(f"{name}: {key} is a {type(value).__name__}, expected an array or a number")
    return {key: np.asarray(value).tolist() for key, value in results.items()}


if __name__ == "__main__":
    found = {"by": autograd.__name__}
    for name in sys.argv[1:] or PROGRAMS:
        start = time.perf_counter()
        found[name] = found_by(name)
        print(f"{name}: {time.perf_counter() - start:.2f} s", file=sys.stderr)
    print(json.dumps(found).replace(', "', ',\n"'))
