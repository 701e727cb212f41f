"""``python -m tests.sanitize``: engine and kernels in C, generated loops and the emulated device under sanitizers.

All of them are built with the address and undefined-behaviour sanitizers, in a cache of their own, and their tests are
run. Any report fails. Python and the libraries are not built so: leaks are not looked for.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1"
#: What the tests are of; those that start processes of their own, which have no sanitizer before them, stay out.
HOST = (
    "tests/cpu/test_gemm.py::test_every_size_and_layout",
    "tests/cpu/test_hand_written.py",
    "tests/cpu/test_large_arrays.py",
    "tests/cpu/test_loop_values.py",
    "tests/cpu/test_streamed_loops.py::test_large_results_have_the_bits_of_small_ones",
    "tests/kernels/test_steps.py",
    "tests/engine/test_hooks.py",
    "tests/engine/test_inplace.py",
    "tests/engine/test_views.py",
    "tests/engine/test_walks_inside.py",
    "tests/programs/test_shared_loops.py",
)
DEVICE = ("tests/cudasim/test_arrays.py", "tests/cudasim/test_kernels.py", "tests/cudasim/test_memory.py")


def library(name: str) -> str:
    """Where the compiler has a sanitizer's runtime, which must be loaded before anything else."""
    found = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return os.path.realpath(found.stdout.strip())


def environment(cache: str) -> dict[str, str]:
    """Flags for both compilers, a cache of its own, and the runtimes."""
    return {
        **os.environ,
        "XDG_CACHE_HOME": cache,
        "LUCIDGRAD_ENGINE": "compiled",
        "LUCIDGRAD_CFLAGS": CHECKS,
        "CUDASIM_CXXFLAGS": CHECKS,
        "LD_PRELOAD": " ".join(map(library, ("libasan.so", "libubsan.so", "libstdc++.so"))),
        "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:allow_user_segv_handler=1:abort_on_error=0:exitcode=99",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "PYTHONMALLOC": "malloc",  # so that memory of Python's is watched, too
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests"))),
    }


def main() -> int:
    """Run the tests; returns how many parts failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", help="keep what is built here, for the next time")
    parser.add_argument("--part", choices=("host", "device"), help="only one part")
    parser.add_argument("rest", nargs="*", help="arguments for pytest in place of the usual tests")
    given = parser.parse_args()
    parts = {"host": HOST, "device": DEVICE}
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        settings = environment(given.cache or scratch)
        for name, files in parts.items():
            if given.part not in (None, name):
                continue
            began = time.monotonic()
            command = [sys.executable, "-m", "pytest", "-q", *(given.rest or files)]
            done = subprocess.run(command, cwd=ROOT, env=settings, check=False)
            print(f"{name}: {'clean' if not done.returncode else 'FAILED'} in {time.monotonic() - began:.0f} s")
            failed += bool(done.returncode)
    return failed


if __name__ == "__main__":
    sys.exit(main())
