"""Programs in processes of their own: without a compiler, with many at once, and after a fork."""

import os
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import numpy as np
    import lucidgrad as lg

    x = lg.tensor(np.linspace(-4, 4, 50_000, dtype="f"), requires_grad=True)
    y = lg.gelu(lg.tanh(x) * 2.0) + lg.exp(x)
    y.sum().backward()
    lg.show_config()
    print(*np.concatenate([y.detach().numpy()[::5000], x.grad.numpy()[::5000]]).tolist())
"""


def run(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def values(done):
    return list(map(float, done.stdout.splitlines()[-1].split()))


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"LUCIDGRAD_COMPILED": "0"}, "no (switched off by LUCIDGRAD_COMPILED=0)"),
        ({"LUCIDGRAD_CC": "not-a-compiler"}, "no (LUCIDGRAD_CC=not-a-compiler names no program)"),
        ({"PATH": "/nowhere", "LUCIDGRAD_CC": ""}, "no (no C compiler: cc, gcc or clang)"),
    ],
)
def test_without_a_compiler_results_are_the_same(environment, reason):
    plain, compiled = run(PROGRAM, **environment), run(PROGRAM)
    assert f"compiled for the CPU: {reason}" in plain.stdout
    assert "compiled for the CPU: yes (" in compiled.stdout
    assert not plain.stderr
    assert values(plain) == pytest.approx(values(compiled), rel=2e-5, abs=1e-6)


def test_a_compiler_that_cannot_compile(tmp_path):
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho 'fatal error: no memory' >&2\nexit 1\n")
    broken.chmod(0o755)
    done = run(PROGRAM, LUCIDGRAD_CC=str(broken))
    assert f"no ({broken}: fatal error: no memory)" in done.stdout


def test_flags_that_a_compiler_lacks_are_left_out(tmp_path):
    plain = tmp_path / "cc"
    plain.write_text('#!/bin/sh\nfor a in "$@"; do [ "$a" = -fopenmp-simd ] && exit 1; done\nexec cc "$@"\n')
    plain.chmod(0o755)
    done = run(PROGRAM, LUCIDGRAD_CC=str(plain), XDG_CACHE_HOME=str(tmp_path))
    assert "yes (" in done.stdout and "-fopenmp-simd" not in done.stdout and "-march=native" in done.stdout
    assert values(done) == pytest.approx(values(run(PROGRAM)), rel=2e-5, abs=1e-6)


def test_several_processes_build_at_once(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    found = [process.communicate(timeout=300)[0].splitlines()[-1] for process in running]
    assert len(set(found)) == 1
    left = {path.suffix for path in (tmp_path / "lucidgrad" / "cpu").iterdir()}
    assert left == {".so", ".json"}  # nothing unfinished


def test_a_broken_library_is_built_again(tmp_path):
    first = run(PROGRAM, XDG_CACHE_HOME=str(tmp_path))
    for path in (tmp_path / "lucidgrad" / "cpu").glob("*.so"):
        path.write_bytes(b"not a library")
    assert values(run(PROGRAM, XDG_CACHE_HOME=str(tmp_path))) == values(first)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_that_cannot_be_written_is_replaced(tmp_path):
    tmp_path.chmod(0o500)
    assert "yes (" in run(PROGRAM, XDG_CACHE_HOME=str(tmp_path)).stdout


def test_the_cache_of_memory_can_be_switched_off():
    run(
        """
        import numpy as np
        import lucidgrad as lg
        from lucidgrad.backends.cpu.compiled import memory

        y = lg.tanh(lg.ones(1 << 18))
        assert np._core.multiarray.get_handler_name(y.numpy()) == "default_allocator"
        assert memory.kept() == 0
        """,
        LUCIDGRAD_CPU_CACHE="0",
    )


def test_what_waits_is_given_back_where_memory_is_short():
    run(
        """
        import resource
        import numpy as np
        from lucidgrad.backends.cpu.compiled import memory

        kind = np.dtype("u1")
        x = memory.empty((512 << 20,), kind)
        del x
        assert memory.kept() == 512 << 20
        pages = int(open("/proc/self/statm").read().split()[0])
        room = pages * resource.getpagesize() + (300 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        x = memory.empty((700 << 20,), kind)
        assert memory.kept() == 0 and x[-1] == 0
        """
    )


def test_children_of_fork_compute_alone():
    done = run(
        """
        import os
        import numpy as np
        import lucidgrad as lg
        from lucidgrad import config

        config.set_num_threads(2)
        x = lg.ones(1 << 20)
        before = lg.tanh(x).numpy()
        child = os.fork()
        if not child:
            same = config.get_num_threads() == 1 and (lg.tanh(x).numpy() == before).all()
            os._exit(0 if same else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert config.get_num_threads() == 2
        print("done")
        """
    )
    assert "done" in done.stdout


def test_threads_may_compute_at_the_same_time():
    run(
        """
        import threading
        import numpy as np
        import lucidgrad as lg

        x = lg.tensor(np.linspace(-3, 3, 1 << 18, dtype="f"))
        expected = lg.tanh(x).numpy()
        wrong = []

        def work():
            for _ in range(30):
                if lg.tanh(x).numpy().tobytes() != expected.tobytes():
                    wrong.append(1)

        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert not wrong
        """
    )


def test_numbers_of_threads():
    run(
        """
        from lucidgrad import config

        assert config.get_num_threads() == 3
        for wrong, error in ((0, RuntimeError), (-1, RuntimeError), (1.5, TypeError)):
            try:
                config.set_num_threads(wrong)
            except error:
                pass
            else:
                raise AssertionError(wrong)
        assert config.get_num_threads() == 3
        """,
        OMP_NUM_THREADS="3",
    )
