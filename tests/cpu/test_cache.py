"""The cache of compiled kernels: used only if it is this user's alone, loaded only what is whole."""

import json
import os
import subprocess
import sys
import textwrap
import time
import types
from pathlib import Path

import pytest
from thoroughness import cases

from lucidgrad.backends import caches
from lucidgrad.backends.cpu.compiled import toolchain


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / "cache"))
    return tmp_path / "home" / "cache" / "lucidgrad" / "cpu"


def in_use(cache):
    """Whether the cache is what is used."""
    return toolchain.find().folder == cache


def test_folders_that_are_made_are_for_this_user_only(cache):
    assert in_use(cache)
    for folder in (cache, cache.parent, cache.parent.parent, cache.parent.parent.parent):
        assert folder.stat().st_mode & 0o777 == 0o700, folder


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
def test_a_folder_that_others_may_write_is_not_used(cache, mode):
    cache.mkdir(parents=True)
    cache.chmod(mode)
    assert not in_use(cache)
    assert not list(cache.iterdir())
    cache.chmod(0o755)
    assert in_use(cache)


def test_a_folder_of_another_user_is_not_used(cache, monkeypatch):
    cache.mkdir(parents=True)
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert not in_use(cache)


def test_a_library_that_is_cut_anywhere_is_built_again():
    """In a process of its own: loading such a file may end it."""
    program = f"""
        import ctypes, random, sys, tempfile
        from pathlib import Path
        from lucidgrad.backends import caches
        from lucidgrad.backends.cpu.compiled import toolchain

        found = toolchain.find()
        found.folder = folder = Path(tempfile.mkdtemp())
        text = {{"two.c": b'__attribute__((visibility("default"))) int two(void) {{ return 2; }}'}}
        caches.replace(folder / "whole.so", lambda scratch: found.compile(text, scratch, ()))
        whole = (folder / "whole.so").read_bytes()
        built = []

        def build(texts, target, flags):
            built.append(target)
            target.write_bytes(whole[:-32])

        found.compile = build
        assert found.library("whole", text, ()).two() == 2 and not built
        numbers = random.Random(1)
        for n in sorted(numbers.sample(range(len(whole)), {cases(60, 600)})):
            path = folder / f"cut{{n}}.so"
            path.write_bytes(whole[:n])
            assert found.library(path.stem, text, ()).two() == 2
            path = folder / f"bit{{n}}.so"
            path.write_bytes(whole[:n] + bytes([whole[n] ^ 1 << numbers.randrange(8)]) + whole[n + 1:])
            assert found.library(path.stem, text, ()).two() == 2
        print(len(built))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert int(done.stdout) == 2 * cases(60, 600)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '["-O3", "-fplugin=./other.so"]', '{"-O3": 1}', "null"])
@pytest.mark.parametrize("whole", [True, False])
def test_a_note_of_flags_that_can_not_be_is_ignored(cache, text, whole):
    expected = toolchain.find().flags
    (note,) = cache.glob("flags-*.json")
    note.write_text(text)
    if whole:
        caches.seal(note)
    assert toolchain.find().flags == expected
    assert json.loads(note.read_bytes()[:-32]) == expected


def test_flags_are_probed_where_libraries_lie(cache, tmp_path, monkeypatch):
    """Nothing can be loaded from the folder for temporary files: no matter."""
    load = toolchain.ctypes.CDLL

    def refuse(path, *args, **options):
        if str(path).startswith(str(tmp_path / "noexec")):
            raise OSError("failed to map segment from shared object")
        return load(path, *args, **options)

    (tmp_path / "noexec").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "noexec"))
    monkeypatch.setattr(toolchain.ctypes, "CDLL", refuse)
    assert "-march=native" in toolchain.find().flags
    (tmp_path / "exec").mkdir()
    monkeypatch.setattr(toolchain, "_private_folder", lambda: types.SimpleNamespace(name=str(tmp_path / "exec")))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "noexec"))  # the other way round
    assert toolchain.find().folder == tmp_path / "exec"


def test_a_compiler_that_hangs_costs_seconds_once_and_ends_with_all_it_started(cache, tmp_path, monkeypatch):
    slow = tmp_path / "cc"
    slow.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! >> {tmp_path}/children\nwait\n")
    slow.chmod(0o755)
    monkeypatch.setenv("LUCIDGRAD_CC", str(slow))
    monkeypatch.setattr(toolchain, "PROBING", 1)
    began = time.monotonic()
    with pytest.raises(OSError, match="did not end within 1 seconds"):
        toolchain.find()
    assert time.monotonic() - began < 10
    for child in (tmp_path / "children").read_text().split():
        state = Path(f"/proc/{child}/stat")
        assert not state.exists() or state.read_text().split()[2] in "ZX"
    assert len((tmp_path / "children").read_text().split()) == 1


def test_loading_kernels_changes_no_environment_and_brings_no_other_threads():
    program = """
        import os
        before = dict(os.environ)
        seen = []
        os.environ.__class__.__setitem__ = lambda *args: seen.append(args)
        import lucidgrad as lg
        (lg.tanh(lg.ones(400_000, requires_grad=True)) * 2).sum().backward()
        assert dict(os.environ) == before and not seen, seen
        assert "gomp" not in open("/proc/self/maps").read()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
