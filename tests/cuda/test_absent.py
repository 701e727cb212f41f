"""Where CUDA can't be used, errors say what is missing and how to get it."""

import subprocess
import sys
import textwrap

import pytest

from lucidgrad.backends import cudasim

NO_CUPY = "import sys; sys.modules['cupy'] = None; import importlib.util as u; find = u.find_spec; " \
          "u.find_spec = lambda name, *more: None if name == 'cupy' else find(name, *more)\n"  # fmt: skip


def run(code):
    import os

    environment = {k: v for k, v in os.environ.items() if not k.startswith("CUDASIM")}
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=environment
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


ASK = """
import lucidgrad as lg
print(lg.cuda.is_available(), lg.cuda.device_count(), lg.cuda.is_initialized())
lg.cuda.empty_cache(), lg.cuda.manual_seed(1), lg.cuda.manual_seed_all(1)
for use in (lambda: lg.ones(2, device="cuda"), lambda: lg.ones(2).cuda(), lg.cuda.current_device):
    try:
        use()
    except lg.DeviceError as error:
        print(error)
lg.ones(2).sum()
"""


def test_without_cupy():
    lines = run(NO_CUPY + ASK).splitlines()
    assert lines[0] == "False 0 False"
    assert len(lines) == 4
    for line in lines[1:]:
        assert "cuda12" in line
        assert "cuda13" in line


@pytest.mark.skipif(bool(cudasim.usable_gpus()), reason="there is a GPU")
def test_without_a_gpu():
    lines = run(ASK).splitlines()
    assert lines[0] == "False 0 False"
    assert len(lines) == 4
    for line in lines[1:]:
        assert "python -m lucidgrad.cudasim" in line
        assert "cpu" in line


def test_asking_is_all_it_takes_to_import_cupy():
    assert run("import sys, lucidgrad as lg; lg.cuda; print('cupy' in sys.modules)").strip() == "False"


@pytest.mark.skipif(bool(cudasim.usable_gpus()), reason="there is a GPU")
@pytest.mark.parametrize(("capability", "fits"), [(52, False), (53, False), (60, True), (90, True)])
def test_a_device_that_is_too_old(capability, fits):
    found = run(
        f"""
        from lucidgrad import cudasim
        cudasim.install(capability={capability})
        import lucidgrad as lg
        for use in (lambda: lg.ones(2, device="cuda"), lambda: lg.ones(2).cuda(), lg.cuda.current_device):
            try:
                use()
                print("used")
            except lg.DeviceError as error:
                print(error)
        """
    ).splitlines()
    if fits:
        assert found == ["used"] * 3
    else:
        assert len(found) == 3
        for line in found:
            assert f"compute capability {capability // 10}.{capability % 10}, expected 6.0" in line
            assert "float64" in line
