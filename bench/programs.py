"""`lucidgrad.compile` beside PyTorch eager, and ``jax.jit`` where a case is written for it.

``python -m bench.programs [names]`` prints, for each case, the time of PyTorch and ratios to it: of a whole call of the
compiled function, of its program alone, of the function as it is, and of JAX; and the ratio that a call is meant to
have at most. All run by turns in one process, and the best of all rounds counts. Last it says in how many cases a call
is not slower than JAX, and than the function as it is. ``--threads 1`` compares processor time with one thread, which
other programs on the machine disturb little.

``--compile-time`` prints instead how long the first call of a compiled function takes, less a later one, in a process
of its own with an empty cache: for lucidgrad and JAX, the clock's seconds, and the processor's, compilers included. A
step of training has its optimiser's state before; kernels that serve all programs are compiled when first asked for.

``--parts`` prints instead what programs consist of: runs of equations that are one call of C each, and equations that
Python calls kernels for between them.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

import lucidgrad as lg
from lucidgrad.backends.cpu.programs.segments import parts_of
from lucidgrad.bench.harness import PAUSE
from lucidgrad.compiling.compiled import entries_of
from lucidgrad.levels.program import Equation

from .program_cases import CASES, Case, jax_of

Ways = dict[str, Callable[[], Any]]


def settled(case: Case, **options: Any) -> tuple[Any, Sequence[Any]]:
    """The compiled function, called until it has a program, and its arguments."""
    run = lg.compile(case.mine, fullgraph=True, options=options)
    tensors = [lg.asarray(a) for a in case.arrays]
    for _ in range(case.settle):
        run(*tensors)
    return run, tensors


def alone(run: Any, tensors: Sequence[Any]) -> Callable[[], Any]:
    """What a compiled function runs when it has looked at everything, with the values that it is given then."""
    entries = entries_of(run)
    programs, calls = [entry.run for entry in entries], []
    for entry, program in zip(entries, programs, strict=True):
        entry.run = lambda values, program=program: calls.append((program, list(values))) or program(values)
    run(*tensors)
    for entry, program in zip(entries, programs, strict=True):
        entry.run = program
    program, values = calls[0]
    return lambda: program(values)


def ways_of(case: Case) -> Ways:
    """PyTorch's call, lucidgrad's, the program alone, the function as it is, and JAX's."""
    run, tensors = settled(case)
    ways: Ways = {"torch": case.theirs, "call": lambda: run(*tensors), "program": alone(run, tensors)}
    ways["eager"] = lambda: case.mine(*tensors)
    return ways | ({} if case.jax is None else {"jax": case.jax})


def measured(ways: Ways, clock: Callable[[], float], rounds: int) -> dict[str, float]:
    """The best time of each, in seconds."""
    best = dict.fromkeys(ways, float("inf"))
    for run in ways.values():
        run()
    for number in range(rounds):
        for name, run in list(ways.items())[:: -1 if number % 2 else 1]:  # nobody always comes after the same other
            time.sleep(PAUSE)
            run()
            begin, count = clock(), 0
            while clock() - begin < 0.01 or count < 6:
                run()
                count += 1
            best[name] = min(best[name], (clock() - begin) / count)
    return best


def lap(run: Callable[[], Any]) -> list[float]:
    """Seconds of a call, by the clock, and of processors, those of other programs that it starts included."""
    begin, before = time.perf_counter(), os.times()
    run()
    after = os.times()
    return [time.perf_counter() - begin, sum(after[:4]) - sum(before[:4])]


def first_call(case: Case, whose: str) -> list[float] | None:
    """What the first call takes more than the third; None if JAX is not there."""
    if whose == "jax":
        run = case.jax
        if run is None:
            return None
        jax_of().jit(lambda x: x + 1)(1.0)  # what it does once for all
    else:
        tensors = [lg.asarray(a) for a in case.arrays]
        case.mine(*tensors)
        compiled = lg.compile(case.mine, fullgraph=True)
        run = lambda: compiled(*tensors)
    first, _, later = (lap(run) for _ in range(3))
    return [max(0.0, a - b) for a, b in zip(first, later, strict=True)]


def compile_time(name: str) -> str:
    """A line of what `first_call` gives, for both."""
    found = {}
    for whose in ("lucidgrad", "jax"):
        with tempfile.TemporaryDirectory() as cache:
            around = {**os.environ, "XDG_CACHE_HOME": cache, "LUCIDGRAD_PROGRESS": "0"}
            command = [sys.executable, "-m", "bench.programs", "--first-call", whose, name]
            done = subprocess.run(command, env=around, check=True, capture_output=True, text=True)
            found[whose] = json.loads(done.stdout.splitlines()[-1])
    texts = ["".join(f"{s:11.2f}" for s in seconds) if seconds else " " * 22 for seconds in found.values()]
    mine, other = found["lucidgrad"], found["jax"]
    return f"{name:32}{''.join(texts)}{f'{mine[1] / other[1]:9.2f}' if other else ''}"


def parts(case: Case) -> str:
    """The parts of a case's program in a line: sizes of what C does, and what Python does between."""
    run, tensors = settled(case, backend="interpret")
    found = parts_of(run.program(*tensors), 2)
    names = collections.Counter(part.primitive.name for part in found if isinstance(part, Equation))
    own = [len(part) for part in found if not isinstance(part, Equation)]
    between = ", ".join(f"{name} ({count})" for name, count in names.items()) or "nothing"
    return f"C: {' + '.join(map(str, own))} equations; Python: {between}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of the names of cases")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--compile-time", action="store_true")
    parser.add_argument("--first-call", choices=["lucidgrad", "jax"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.threads == 1:  # for JAX, which is not imported yet
        os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    torch.set_num_threads(given.threads)
    lg.set_num_threads(given.threads)
    chosen = {name: case for name, case in CASES.items() if not given.names or any(w in name for w in given.names)}
    if given.first_call:
        (make,) = (make for name, (_, make) in CASES.items() if name == given.names[0])
        print(json.dumps(first_call(make(), given.first_call)))
        return
    if given.compile_time:
        print(f"{'case':32}{'lucidgrad':>11}{'processor':>11}{'jax.jit':>11}{'processor':>11}{'ratio':>9}")
        for name in chosen:
            print(compile_time(name), flush=True)
        return
    if given.parts:
        for name, (_, make) in chosen.items():
            print(f"{name:32}{parts(make())}", flush=True)
        return
    print(f"{'case':32}{'torch, us':>12}{'call':>9}{'program':>9}{'eager':>9}{'jax.jit':>9}{'goal':>7}")
    clock = time.process_time if given.threads == 1 else time.perf_counter
    others: dict[str, list[bool]] = {"jax": [], "eager": []}
    for name, (goal, make) in chosen.items():
        best = measured(ways_of(make()), clock, given.rounds)
        columns = ("call", "program", "eager", "jax")
        shown = [f"{best[way] / best['torch']:9.4f}" if way in best else " " * 9 for way in columns]
        for other, found in others.items():
            found += [best["call"] <= best[other]] if other in best else []
        missed = "  missed" if best["call"] > goal * best["torch"] else ""
        print(f"{name:32}{best['torch'] * 1e6:12.1f}{''.join(shown)}{goal:7.2f}{missed}", flush=True)
    for other, what in (("jax", "jax.jit"), ("eager", "the function as it is")):
        print(f"not slower than {what}: {sum(others[other])} of {len(others[other])} cases")


if __name__ == "__main__":
    main()
