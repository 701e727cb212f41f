"""Building: incremental, safe for several processes, and clear about what is missing."""

import multiprocessing
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lucidgrad.backends import cudasim
from lucidgrad.backends.cudasim import build, elf, gpu, loading, stubs, wheel

CXX = shutil.which("g++") or "g++"


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A package with two small sources, and a cache of its own."""
    package = tmp_path / "package with spaces"
    (package / "src").mkdir(parents=True)
    (package / "include").mkdir()
    (package / "src" / "a.h").write_text("int b();\n")
    exported = 'extern "C" __attribute__((visibility("default"))) int {}'
    (package / "src" / "a.cpp").write_text('#include "a.h"\n' + exported.format("cublasCreate_v2() { return b(); }\n"))
    (package / "src" / "b.cpp").write_text("int b() { return 7; }\n")
    (package / "include" / "cuda_runtime.h").write_text("#define OURS\n")
    for name in ("build.py", "nvcc.py", "stubs.py", "wheel.py"):
        (package / name).write_text("")
    monkeypatch.setattr(build, "PACKAGE", package)
    monkeypatch.setenv("CUDASIM_CACHE", str(tmp_path / "cache with spaces"))
    return package


def objects():
    return {path.name: path.stat().st_mtime_ns for path in (build.cache() / "objects").iterdir()}


def test_an_edit_compiles_one_file(small):
    first = build.build()
    assert first.library.exists()
    assert {name.partition("-")[0] for name in objects()} == {"a", "b"}
    assert build.build() == first
    (small / "src" / "b.cpp").write_text("int b() { return 8; }\n")
    second = build.build()
    assert second.root != first.root
    assert sorted(name.partition("-")[0] for name in objects()) == ["a", "b", "b"]
    (small / "src" / "a.h").write_text("int b();  // changed\n")
    build.build()
    assert sorted(name.partition("-")[0] for name in objects()) == ["a", "a", "b", "b"]
    assert (second.root / "include" / "cuda_runtime.h").read_text() == "#define OURS\n"
    (small / "include" / "cuda_runtime.h").write_text("#define CHANGED\n")
    assert build.build().root not in (first.root, second.root)


def test_a_library_or_an_object_that_is_cut_is_built_again(small):
    home = build.build()
    whole = home.library.read_bytes()
    for n in (0, 1, 64, len(whole) // 3, len(whole) - 1):
        home.library.write_bytes(whole[:n])
        assert build.build() == home
        assert len(home.library.read_bytes()) > n
    ready = home.root.parent / "ready.json"
    ready.write_text("{}")
    assert build.build() == home
    (small / "src" / "a.h").write_text("int b();  // another home\n")
    (kept,) = (build.cache() / "objects").glob("b-*.o")
    kept.write_bytes(kept.read_bytes()[:100])
    assert build.build().library.exists()


def test_a_cache_that_others_may_write_or_own_is_refused(small, monkeypatch):
    folder = build.cache()
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o770)
    with pytest.raises(cudasim.EmulatorError, match="may be written by others"):
        build.cache()
    folder.chmod(0o700)
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.raises(cudasim.EmulatorError, match="belongs to user"):
        build.cache()


def test_a_compiler_that_hangs_is_ended(small, tmp_path, monkeypatch):
    slow = tmp_path / "g++"
    slow.write_text("#!/bin/sh\nsleep 1000 &\nwait\n")
    slow.chmod(0o755)
    monkeypatch.setenv("CUDASIM_CXX", str(slow))
    monkeypatch.setattr(build, "PATIENCE", 1)
    with pytest.raises(cudasim.EmulatorError, match="did not end within 1 seconds"):
        build.build()


def test_stand_ins_have_sonames_versions_and_what_is_missing(small):
    home = build.build()
    assert {"libcuda.so.1", "libcublas.so.12", "libnvrtc.so.12", "libcufft.so.11"} <= set(home.sonames)
    assert home.patched["cupy_backends.cuda.api.runtime"] > 400
    with elf.Elf(home.library.with_name("libcublas.so.12")) as library:
        assert "libcudasim.so" in library.needed()
        exported = library.exported()
    assert "cublasSgemm_v2" in exported
    assert "cublasCreate_v2" not in exported  # libcudasim has it


def _build(folder, cache, results):
    import os

    os.environ["CUDASIM_CACHE"] = cache
    build.PACKAGE = Path(folder)
    results.put(str(build.build().root))


def test_several_processes_build_once(small):
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    cache = str(build.cache())
    processes = [context.Process(target=_build, args=(str(small), cache, results)) for _ in range(3)]
    for process in processes:
        process.start()
    roots = {results.get(timeout=900) for _ in processes}
    for process in processes:
        process.join()
    assert len(roots) == 1
    assert len(objects()) == 2
    assert not [path for path in build.cache().iterdir() if path.name.count(".")]  # no scratch is left


def test_sources_that_do_not_compile_are_named(small):
    (small / "src" / "b.cpp").write_text("int b() { return nonsense; }\n")
    with pytest.raises(cudasim.EmulatorError, match=r"1 of 2 sources .*\nb\.cpp:\n(.|\n)*nonsense") as caught:
        build.build()
    assert str(small / "src" / "b.cpp") in str(caught.value)
    (small / "src" / "b.cpp").write_text("")
    with pytest.raises(cudasim.EmulatorError, match=r"can't be linked:(.|\n)*b\(\)"):
        build.build()


# --- what is missing --------------------------------------------------------------------------------------------------


def test_no_compiler(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.delenv("CUDASIM_CXX", raising=False)
    with pytest.raises(cudasim.EmulatorError, match=r"no g\+\+ was found.* apt install g\+\+"):
        build.compiler()
    monkeypatch.setenv("CUDASIM_CXX", "nowhere")
    with pytest.raises(cudasim.EmulatorError, match="CUDASIM_CXX=nowhere doesn't name a program"):
        build.compiler()


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("linux", "aarch64"), ("win32", "AMD64")])
def test_other_machines(monkeypatch, system, machine):
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    with pytest.raises(cudasim.EmulatorError, match=f"this machine is {system} on {machine}.*Linux on x86-64"):
        build.check_machine()


def fake_cupy(folder, version):
    (folder / "cupy").mkdir()
    (folder / "cupy" / "__init__.py").write_text("")
    (folder / "cupy" / "_version.py").write_text(f"__version__ = '{version}'\n")


def test_another_version_of_cupy(tmp_path, monkeypatch):
    fake_cupy(tmp_path, "9.6.0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(cudasim.EmulatorError, match=r"CuPy 9\.6\.0 is installed.* supports CuPy 14\.0, .* only.*pip"):
        wheel.find()


def test_a_stripped_cupy(tmp_path, monkeypatch):
    fake_cupy(tmp_path, "14.0.0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(cudasim.EmulatorError, match="can't be redirected .* stripped"):
        wheel.survey(wheel.find())


def test_no_cupy(monkeypatch):
    monkeypatch.setattr("importlib.machinery.PathFinder.find_spec", lambda *_: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    with pytest.raises(cudasim.EmulatorError, match="CuPy is not installed.* pip install"):
        wheel.find()


def test_a_cache_that_can_not_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CUDASIM_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(cudasim.EmulatorError, match="can't be made or used .* CUDASIM_CACHE"):
        build.cache()


def test_a_machine_with_a_gpu(monkeypatch):
    monkeypatch.setattr(gpu, "usable", lambda: 2)
    monkeypatch.setattr(loading.State, "finder", None)
    monkeypatch.setattr(loading, "PACKAGES", ())
    monkeypatch.setattr(sys, "modules", {})
    with pytest.raises(cudasim.EmulatorError, match="2 usable GPUs.* force=True"):
        loading.register()


def test_the_probe_survives_a_machine_without_a_driver(monkeypatch):
    monkeypatch.setattr(gpu, "DRIVERS", ["/dev/null"])
    gpu.usable.cache_clear()
    assert gpu.usable() == 0
    gpu.usable.cache_clear()


# --- parts ------------------------------------------------------------------------------------------------------------


def test_elf_reader_agrees_with_nm():
    path = wheel.find().extensions["cupy_backends.cuda.libs.cublas"]
    text = subprocess.run(["nm", "-D", "-u", "--with-symbol-versions", path], capture_output=True, text=True).stdout
    listed = {line.split()[1] for line in text.splitlines() if line.split()[0] == "U"}
    with elf.Elf(path) as module:
        found = {f"{name}@{version}" if version else name for name, version in module.undefined().items()}
        assert "libcublas.so.12" in module.needed()
        assert "PyInit_cublas" in module.exported()
    assert found == listed


def test_elf_reader_refuses_other_files(tmp_path):
    (tmp_path / "text").write_text("no machine code here")
    with pytest.raises(ValueError, match="is not a 64-bit little-endian ELF file"):
        elf.Elf(tmp_path / "text")


def test_stubs_compile_and_answer(tmp_path):
    import ctypes

    names = "cusparseCreate cusparseDestroy cusparseGetVersion cusparseGetErrorString cusparseSpMV cublasGetVersion_v2"
    (tmp_path / "stubs.c").write_text(stubs.source(names.split()))
    subprocess.run([CXX, "-xc", "-Wall", "-Werror", "-fPIC", "-shared", tmp_path / "stubs.c", "-o", tmp_path / "s.so"])
    library = ctypes.CDLL(str(tmp_path / "s.so"))
    first, second, version = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    assert library.cusparseCreate(ctypes.byref(first)) == library.cusparseCreate(ctypes.byref(second)) == 0
    assert first.value != second.value
    assert library.cusparseGetVersion(first, ctypes.byref(version)) == 0
    assert version.value > 12000
    library.cusparseGetErrorString.restype = ctypes.c_char_p
    assert b"not emulated" in library.cusparseGetErrorString(10)
    assert library.cusparseSpMV() == 10
    assert library.cusparseDestroy(first) == 0
