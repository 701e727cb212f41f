"""How the device gets into a process: install, the launcher, the option of pytest."""

import sys

import pytest

from .processes import ROOT, launch, python, run

SHOW = "import cupy; print(cupy.cuda.runtime.getDeviceCount(), int(cupy.arange(5).sum()))"


def test_install_before_cupy():
    result = python(SHOW, devices=3)
    assert (result.returncode, result.stdout) == (0, "3 10\n"), result.stderr
    assert result.stderr == ""


def test_install_after_cupy_is_refused():
    result = run(sys.executable, "-c", "import cupy; from lucidgrad import cudasim; cudasim.install()")
    assert result.returncode != 0
    assert "cupy was imported before the emulated CUDA device was installed" in result.stderr


def test_installing_imports_nothing_heavy():
    code = """
        import sys
        assert cudasim.is_installed() and "cupy" not in sys.modules
        print(cudasim.loading.State.library)
    """
    assert python(code).stdout == "None\n"


def test_import_lucidgrad_brings_no_emulator():
    result = run(sys.executable, "-c", "import lucidgrad, sys; print([m for m in sys.modules if 'cudasim' in m])")
    assert result.stdout.strip() == "[]", result.stderr


def test_several_processes_and_threads_at_once():
    code = """
        import threading, sys
        seen = []
        def work():
            import cupy
            seen.append(int(cupy.arange(5).sum()))
        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print(seen)
    """
    assert python(code).stdout == "[10, 10, 10, 10]\n"


# --- launcher ---------------------------------------------------------------------------------------------------------


def test_launch_code_scripts_modules_and_programs(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys\n" + SHOW + "\nprint(sys.argv[1:])")
    assert launch("--devices", "2", "-c", SHOW).stdout == "2 10\n"
    assert launch(str(script), "--lazy", "x").stdout == "1 10\n['--lazy', 'x']\n"
    assert launch("--devices=2", "-m", "script", cwd=tmp_path).stdout == "2 10\n[]\n"
    assert launch("env").stdout.count("CUDASIM=1\n") == 1


def test_launched_processes_pass_the_device_on():
    code = f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', {SHOW!r}]))"
    result = launch("--devices", "3", "-c", code)
    assert (result.returncode, result.stdout) == (0, "3 10\n"), result.stderr


def test_launched_processes_know_that_it_is_installed():
    code = "from lucidgrad import cudasim; print(cudasim.is_installed()); import cupy; cupy.arange(3).sum(); "
    code += "print(cudasim.counters()['launches'] >= 2)"
    assert launch("-c", code).stdout == "True\nTrue\n"
    code = "import cupy; cupy.arange(3).sum(); from lucidgrad import cudasim; "
    code += "print(cudasim.is_installed(), cudasim.counters()['launches'] >= 2)"
    assert launch("-c", code).stdout == "True True\n"


def test_launching_imports_nothing_that_is_not_needed():
    code = "import sys; print([m for m in sys.modules if m.startswith(('lucidgrad', 'numpy', 'ctypes'))])"
    assert launch("-c", code).stdout == "[]\n"


def test_an_existing_sitecustomize_runs(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.customised = True")
    result = launch("-c", f"print(customised); {SHOW}", PYTHONPATH=f"{ROOT}:{tmp_path}")
    assert result.stdout == "True\n1 10\n", result.stderr


def test_exit_codes_and_wrong_arguments():
    assert launch("-c", "raise SystemExit(5)").returncode == 5
    assert "a program, a script or -m MODULE was expected" in launch("--lazy").stderr
    assert "a positive number was expected" in launch("--devices", "0", "-c", "0").stderr


# --- pytest -----------------------------------------------------------------------------------------------------------

TEST = """
    import pytest

    @pytest.mark.parametrize("i", range(4))
    def test_device(i):
        import cupy
        from lucidgrad import cudasim
        assert cupy.cuda.runtime.getDeviceCount() == 2
        assert int(cupy.arange(5).sum()) == 10
        assert cudasim.set_lazy(True) is True

    def test_subprocess():
        import subprocess, sys
        subprocess.run([sys.executable, "-c", "import cupy; assert cupy.arange(5).sum() == 10"], check=True)
"""


@pytest.fixture
def project(tmp_path):
    import textwrap

    (tmp_path / "conftest.py").write_text("import cupy\n")
    (tmp_path / "test_it.py").write_text(textwrap.dedent(TEST))
    return tmp_path


def pytest_in(folder, *options):
    # `-p` as the entry point does it, for a tree that is not installed.
    plugin = ["-p", "pytest_cudasim", "-p", "no:cacheprovider"]
    return run(sys.executable, "-m", "pytest", *plugin, *options, cwd=folder, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")])
def test_pytest_option(project, workers):
    result = pytest_in(project, "--cudasim", "--cudasim-devices=2", "--cudasim-lazy", *workers)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "5 passed" in result.stdout
    assert "cudasim: emulated CUDA device" in result.stdout


def test_pytest_without_the_option_stays_light(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import sys\ndef test(): assert not {'numpy', 'lucidgrad', 'cupy'} & set(sys.modules)\n"
    )
    result = pytest_in(tmp_path)
    assert result.returncode == 0, result.stdout


def test_launched_pytest(project):
    result = launch("--devices=2", "--lazy", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)
    assert result.returncode == 0, result.stdout + result.stderr
