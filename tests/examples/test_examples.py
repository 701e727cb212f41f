"""Every example runs, with a tiny setting, and leaves its picture behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from distributed.ranks import launch
from thoroughness import cases

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "running")


def run(name, *arguments):
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--quick", *arguments]
    path = os.pathsep.join([str(EXAMPLES.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, timeout=600, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_example(name, tmp_path):
    device = ["--device", "cuda", "--emulate"] if name == "cuda_kernel" else ["--device", "cpu"]
    done = run(name, "--out", str(tmp_path), *device)
    assert done.returncode == 0, done.stdout + done.stderr
    picture = tmp_path / f"{name}.png"
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


COMPILED = sorted(name for name in NAMES if "repeated(options" in (EXAMPLES / f"{name}.py").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_example_compiled(name, tmp_path):
    """The outcome is printed in few digits: the same with and without compiling."""
    plain, compiled = (run(name, "--device", "cpu", "--out", str(tmp_path), *more) for more in ([], ["--compile"]))
    assert compiled.returncode == 0, compiled.stdout + compiled.stderr
    assert "runs as it is" not in compiled.stderr
    for a, b in zip(plain.stdout.splitlines(), compiled.stdout.splitlines(), strict=True):
        assert a == b or " s, " in a or "e-" in a, (a, b)  # but for how long it took, and what rounding leaves


@pytest.mark.slow
def test_the_main_job_on_the_emulated_device(tmp_path):
    done = run("digits", "--device", "cuda", "--emulate", "--out", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "on cuda" in done.stdout and "21,642 parameters: True" in done.stdout
    assert (tmp_path / "digits.safetensors").exists()


@pytest.mark.slow
@pytest.mark.parametrize("sharding", cases(["full"], ["data", "zero", "full"]))
def test_two_processes_learn_what_one_does_with_both_their_texts(sharding, tmp_path):
    """Whatever is shared out; on the emulated device at night, too."""
    script = [str(EXAMPLES / "parallel.py"), "--quick", "--device", "cpu", "--out", str(tmp_path)]
    done = launch(2, *script, "--sharding", sharding)
    assert done.code == 0, done.output + done.errors
    assert done.output.count(f"2 processes, {sharding} parallel, 32 texts a step") == 1
    assert done.output.count("unseen text") == 2  # told by one of them
    assert (tmp_path / "parallel.png").exists()


def test_a_kernel_without_cupy_says_how_to_get_it():
    script = str(EXAMPLES / "cuda_kernel.py")
    code = (
        f"import sys, runpy; sys.modules['cupy'] = None; sys.argv = ['cuda_kernel.py']\n"
        f"sys.path.insert(0, {str(EXAMPLES)!r}); runpy.run_path({script!r}, run_name='__main__')"
    )
    path = os.pathsep.join([str(EXAMPLES.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 2
    assert "CuPy, which is not installed: pip install 'cupy-cuda12x" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_example_states_what_it_expects():
    for name in NAMES:
        source = (EXAMPLES / f"{name}.py").read_text()
        assert "return finish(" in source or "GOAL" in source, name
