"""Run the official conformance suite on lucidgrad: ``python -m tests.conformance PATH-OF-A-CHECKOUT``.

The suite is data-apis/array-api-tests with its submodule array-api; its requirements.txt says what it needs.
Tests in ``xfails.txt`` may fail, each for the reason there; any other failure makes the exit status 1.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
VERSIONS = ("2025.12", "2024.12")
#: What the suite is to import: the module, or the namespace of an earlier version that a tensor gives.
MODULE = {"2025.12": "lucidgrad"}
NAMESPACE = 'xp = lucidgrad.asarray(0).__array_namespace__(api_version="{version}")'
EARLIER = f"exec('import lucidgrad; {NAMESPACE}')"
#: On CUDA, an emulated device where there is no GPU, every tensor is made there.
CUDA = (
    "exec('import lucidgrad; from lucidgrad import cudasim; cudasim.usable_gpus() or cudasim.install(); "
    f'lucidgrad.set_default_device("cuda"); {NAMESPACE}\')'
)


def reasons(device: str) -> dict[str, str]:
    """The tests that may fail, and why: lines ``test  # reason`` of xfails.txt and of xfails-<device>.txt."""
    found = {}
    for file in (HERE / "xfails.txt", HERE / f"xfails-{device}.txt"):
        for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
            test, _, reason = line.partition("  # ")
            if test and not test.startswith("#"):
                found[test.strip()] = reason.strip()
    return found


def command(examples: int, xfails: str, more: list[str]) -> list[str]:
    """The call of pytest, which runs in the checkout."""
    return [
        *(sys.executable, "-m", "pytest", "array_api_tests", "-q", "--disable-deadline", "--tb=short", "-rfEX"),
        *("-p", "no:cacheprovider", "--max-examples", str(examples), "--xfails-file", xfails, *more),
    ]


def run(checkout: Path, version: str, examples: int, module: str | None, device: str, more: list[str]) -> int:
    """Run the suite for one version of the standard; its exit status."""
    own = module is None
    if module is None:
        module = CUDA if device == "cuda" else MODULE.get(version, EARLIER)
        module = module.format(version=version)
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": module,
        "ARRAY_API_TESTS_VERSION": version,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", "")))),
    }
    may_fail = reasons(device) if own else {}
    start = time.perf_counter()
    totals = "no totals"
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as xfails:
        xfails.write("\n".join(may_fail))  # the suite wants the tests alone
        xfails.flush()
        call = command(examples, xfails.name, more)
        with subprocess.Popen(call, cwd=checkout, env=environment, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                totals = line.strip("= \n") if " passed" in line or " failed" in line else totals
    seconds = time.perf_counter() - start
    print(
        f"conformance {version} on {device}: {totals}; {examples} examples, {len(may_fail)} may fail, {seconds:.0f} s"
    )
    return process.returncode


def main() -> int:
    """Run the versions asked for and say how many tests passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="a checkout of data-apis/array-api-tests with its submodule")
    parser.add_argument("--version", choices=VERSIONS, action="append", help="of the standard; both by default")
    parser.add_argument("--max-examples", type=int, default=100, help="per test; 100 is the suite's default")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where tensors are made")
    parser.add_argument("--module", help="another namespace for comparison, such as array_api_compat.numpy")
    parser.epilog = "Further arguments go to pytest: -k NAME, -x, ..."
    given, more = parser.parse_known_args()
    if not (given.checkout / "array_api_tests").is_dir() or not (given.checkout / "array-api" / "spec").is_dir():
        parser.error(f"{given.checkout} is no checkout of array-api-tests with its submodule array-api")
    checkout = given.checkout.resolve()
    return max(
        run(checkout, v, given.max_examples, given.module, given.device, more) for v in given.version or VERSIONS
    )


if __name__ == "__main__":
    sys.exit(main())
