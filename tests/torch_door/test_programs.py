"""Whole programs in the habits of PyTorch's users run through the door, unchanged but for the import."""

import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from programs import DOOR, HABITS, NAMES, RECORDED, SCRIPTS, SINGLE, VARIANTS, habit, habits, run

from lucidgrad import doors

HAS_TORCH = importlib.util.find_spec("torch") is not None

#: Relative to the largest number; 16 bits, added up in different orders, part after a few steps.
TOLERANCE = {name: 5e-2 if name in SINGLE else 1e-9 for name in VARIANTS}


def close(actual, expected, tolerance):
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    scale = np.maximum(1.0, np.abs(expected))
    np.testing.assert_array_less(np.abs(actual - expected) / scale, tolerance)


@pytest.fixture(scope="module")
def recorded():
    return json.loads(RECORDED.read_text())


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_program_trains_as_it_does_with_torch(variant, recorded):
    """Losses, gradients' norms, rates and samples of every step, and the parameters at the end."""
    history, state = run(variant, DOOR)
    known = recorded["programs"][variant]
    expected = [(np.array(known["history"]), known["state"])]
    if HAS_TORCH and variant not in SINGLE:  # of 16 bits every version of PyTorch has others
        expected.append(run(variant, "torch"))
    for its_history, its_state in expected:
        close(history, its_history, TOLERANCE[variant])
        assert state.keys() == its_state.keys()
        for name, numbers in its_state.items():
            close(state[name], numbers, 10 * TOLERANCE[variant])


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", habits())
def test_a_habit_gives_what_it_does_with_torch(name, recorded):
    found = habit(name, DOOR)
    close(found, recorded["habits"][name], 1e-9)
    if HAS_TORCH:
        close(found, habit(name, "torch"), 1e-9)


def test_programs_name_the_library_in_imports_alone():
    """Nothing but the import differs: all other lines are PyTorch's."""
    for path in (*(SCRIPTS / f"{name}.py" for name in NAMES), *HABITS):
        lines = [line.strip() for line in path.read_text().splitlines() if DOOR in line]
        assert lines and all(line.startswith(("import ", "from ")) for line in lines), path


# -- the runner ----------------------------------------------------------------------------------
def runner(*arguments, **options):
    command = [sys.executable, "-m", "lucidgrad.torch", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ}, **options)


def test_a_script_that_imports_torch_runs_as_it_is(tmp_path):
    path = tmp_path / "vae.py"
    path.write_text(
        (SCRIPTS / "vae.py").read_text().replace(DOOR, "torch").replace("main()", "main(argv=sys.argv[1:])")
    )
    path.write_text(
        "import sys\nimport beside\n" + path.read_text() + "    print(torch.__name__, sys.argv[1:], __file__)\n"
    )
    (tmp_path / "beside.py").write_text("import torch.nn.functional as F\n")
    done = runner(path, "--batch-size", 4)
    assert done.returncode == 0, done.stderr
    loss, shown = done.stdout.strip().split("\n")
    assert float(loss) > 0 and shown == f"lucidgrad.torch ['--batch-size', '4'] {path}"


def test_the_runner_takes_modules_and_lines(tmp_path):
    (tmp_path / "job.py").write_text("import sys, torch\nprint(torch.ones(2).sum().item(), __name__, sys.argv[1:])\n")
    assert runner("-m", "job", "a", cwd=tmp_path).stdout == "2.0 __main__ ['a']\n"
    line = "import sys, torch.nn as nn; print(nn.Linear.__module__, sys.argv)"
    assert runner("-c", line, "b").stdout == "lucidgrad.nn.linear ['-c', 'b']\n"


WORKERS = """
import torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.tensor([float(i)])

if __name__ == "__main__":
    for context in ("fork", "spawn"):
        print(sum(x.sum().item() for x in DataLoader(Numbers(), 2, num_workers=1, multiprocessing_context=context)))
"""


def test_the_door_stands_in_for_torch_in_the_script_s_own_processes(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('the other one')")
    (tmp_path / "workers.py").write_text(WORKERS)
    done = runner(tmp_path / "workers.py")
    assert done.stdout == "28.0\n28.0\n", done.stderr


@pytest.mark.parametrize("module", ["torch.onnx", "torch.utils.cpp_extension", "torch.nn.nothing"])
def test_what_the_door_lacks_is_told_with_its_page(module):
    done = runner("-c", f"import {module}")
    assert done.returncode == 1
    assert f"No module named '{module}'" in done.stderr and "docs/torch.md" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"), [(["missing.py"], "no such file"), (["-m"], "needs an argument"), ([], "2"), (["-h"], "0")]
)
def test_the_runner_refuses(arguments, told, monkeypatch, capsys):
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with pytest.raises(SystemExit, match=told):
        doors.run("torch", "lucidgrad.torch", arguments)
    shown = capsys.readouterr()
    assert ("usage" in shown.out + shown.err) == (told in "02")


def test_the_door_does_not_stand_in_for_torch_that_is_there_already(tmp_path):
    (tmp_path / "torch.py").write_text("")
    code = "import torch, lucidgrad.doors\nlucidgrad.doors.open_door('torch', 'lucidgrad.torch')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60, env={**os.environ}
    )
    assert "RuntimeError: torch is imported already" in done.stderr and "python -m lucidgrad.torch" in done.stderr


# -- on a device ---------------------------------------------------------------------------------
@pytest.mark.cuda
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "variant",
    [name for name in VARIANTS if "cuda.is_available" in (SCRIPTS / f"{name.partition('_')[0]}.py").read_text()],
)
def test_a_program_trains_on_cuda_as_on_the_cpu(variant):
    """Scripts that ask for a device find it, and move all they need there."""
    (there, state), (here, expected) = run(variant, DOOR, steps=2, on="cuda"), run(variant, DOOR, steps=2)
    close(there, here, TOLERANCE[variant])
    for name, numbers in expected.items():
        close(state[name], numbers, 10 * TOLERANCE[variant])
