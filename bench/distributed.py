"""``python -m bench.distributed``: what training with several processes costs besides the training.

It starts its processes itself (``mpiexec``; ``--ranks``, 2 by default) and prints

- **alone**: a step of `DistributedDataParallel` with one process, as a ratio to the plain module's; goal 1.02;
- **all-reduce**: bytes per second beside those of mpi4py's own call, by size; from 1 MiB on the goal is 0.95; and what
  a call takes of the processor when nothing travels, with one process;
- **overlap**: how many buckets of gradients began to travel before backward ended, and which share of the time that
  they take is hidden behind it. Two processes on two cores can't show that by time, so buckets travel over a link that
  is simulated: it takes half as long for all gradients as backward does, and nothing of the processors;
- **cuda**: launches, calls and bytes of a step on the (emulated) device beside the least that there can be (`least`).

``--record`` writes docs/scaling.json, what `bench.scaling` predicts from: how long layers take, latency and bandwidth.
Processor time is of no use here, so figures count only on a machine that is idle.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SIZES = [1 << k for k in (10, 14, 18, 20, 22, 24)]
LIMITS = {"alone": 1.02, "all-reduce": 0.95}
SINGLE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


# -- models ----------------------------------------------------------------------------------------
def models() -> dict[str, Callable[[], tuple[Any, Callable[[Any], Any]]]]:
    """Modules by name, with a function that gives the loss of a step."""
    import lucidgrad as lg
    from lucidgrad import nn
    from lucidgrad.nn import functional as F

    def mlp() -> Any:
        x, y = lg.randn(128, 784), lg.randint(0, 10, (128,))
        layers = [nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
        return nn.Sequential(*layers), lambda model: F.cross_entropy(model(x), y)

    def cnn() -> Any:
        x, y = lg.randn(32, 3, 32, 32), lg.randint(0, 10, (32,))
        layers = [nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1)]
        layers += [nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 64, 256), nn.ReLU(), nn.Linear(256, 10)]
        return nn.Sequential(*layers), lambda model: F.cross_entropy(model(x), y)

    def gpt() -> Any:
        sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
        from gpt import CONTEXT, GPT

        x, y = (lg.randint(0, 90, (16, CONTEXT)) for _ in range(2))
        return GPT(90), lambda model: F.cross_entropy(model(x).reshape(-1, 90), y.reshape(-1))

    return {"MLP 784-512-512-10": mlp, "CNN 32x3x32x32": cnn, "GPT": gpt}


def _step(model: Any, loss_of: Callable[[Any], Any], optimizer: Any) -> None:
    optimizer.zero_grad()
    loss_of(model).backward()
    optimizer.step()


def _seconds(run: Callable[[], Any], count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - begin) / count


def _in_turns(first: Callable[[], Any], second: Callable[[], Any], rounds: int, count: int) -> tuple[float, float]:
    """The least seconds of each, by turns, and the median of the ratio second / first."""
    found = []
    for k in range(rounds):
        pair = [(_seconds(run, count)) for run in ((first, second) if k % 2 else (second, first))]
        found.append(pair if k % 2 else pair[::-1])
    return min(a for a, _ in found), statistics.median(b / a for a, b in found)


# -- parts, each run by all processes --------------------------------------------------------------
def alone(options: Any) -> dict[str, Any]:
    import lucidgrad as lg
    from lucidgrad.nn.parallel import DistributedDataParallel

    found = {}
    for name, make in models().items():
        runs = []
        for wrap in (lambda m: m, DistributedDataParallel):
            lg.manual_seed(0)
            model, loss_of = make()
            model = wrap(model)
            optimizer = lg.optim.SGD(model.parameters(), lr=0.01)
            runs.append(functools.partial(_step, model, loss_of, optimizer))
        for run in runs:
            _seconds(run, 3)
        found[name] = _in_turns(runs[0], runs[1], options.rounds, 3)[1]
    return found


def reductions(options: Any) -> list[tuple[int, float, float]]:
    from mpi4py import MPI

    import lucidgrad as lg
    from lucidgrad import distributed as dist

    found = []
    comm = MPI.COMM_WORLD.Dup()
    for size in SIZES:
        x = lg.ones(size // 4)
        raw = functools.partial(comm.Allreduce, MPI.IN_PLACE, x.numpy())  # the same memory
        ours = functools.partial(dist.all_reduce, x)
        count = max(3, (1 << 22) // size)
        x.fill_(0.0)
        for run in (raw, ours):
            _seconds(run, 3)
        least, ratio = _in_turns(raw, ours, options.rounds, count)
        found.append((size, least, 1 / ratio))
    comm.Free()
    return found


def calls(options: Any) -> dict[str, float]:
    """Microseconds of the processor that a call takes in one process, to which nothing travels."""
    from mpi4py import MPI

    import lucidgrad as lg
    from lucidgrad import distributed as dist

    x = lg.ones(2)
    ways = {
        "mpi4py": functools.partial(MPI.COMM_WORLD.Allreduce, MPI.IN_PLACE, x.numpy()),
        "all_reduce": functools.partial(dist.all_reduce, x),
        "all_reduce, async_op=True": lambda: dist.all_reduce(x, async_op=True).wait(),
    }
    found = dict.fromkeys(ways, float("inf"))
    for _ in range(10 * options.rounds):
        for name, run in ways.items():
            begin = time.thread_time()
            for _ in range(200):
                run()
            found[name] = min(found[name], (time.thread_time() - begin) / 200 * 1e6)
    return found


class Link:
    """A link between processes that takes its time, and nobody else's: what travels over it arrives later."""

    def __init__(self, engine: Any, seconds_per_byte: float) -> None:
        self._all_reduce, self.pace, self._free = engine.all_reduce, seconds_per_byte, 0.0
        engine.all_reduce = self.all_reduce
        self._engine = engine

    def all_reduce(self, array: Any, op: str) -> Any:
        pending = self._all_reduce(array, op)
        self._free = due = max(self._free, time.perf_counter()) + array.nbytes * self.pace
        done, wait = pending.done, pending.wait

        class Later(type(pending).__mro__[-2]):  # a Pending
            def done(self) -> bool:
                return time.perf_counter() >= due and done()

            def wait(self, timeout: float | None = None) -> None:
                time.sleep(max(0.0, due - time.perf_counter()))
                wait(timeout)

        return Later()

    def remove(self) -> None:
        self._engine.all_reduce = self._all_reduce


def overlap(options: Any) -> dict[str, Any]:
    import lucidgrad as lg
    from lucidgrad import distributed as dist
    from lucidgrad.nn.parallel import DistributedDataParallel

    found = {}
    engine = dist.group.WORLD.engine("cpu")
    for name, make in models().items():
        lg.manual_seed(0)
        model, loss_of = make()
        size = sum(p.nbytes for p in model.parameters())
        cap = max(size / 8 / 2**20, 1e-3)  # eight buckets or so, as a large model has
        early = DistributedDataParallel(model, bucket_cap_mb_list=[cap])
        late = DistributedDataParallel(make()[0], bucket_cap_mb_list=[2 * size / 2**20 + 1])

        def backward(wrapped: Any, loss_of: Any = loss_of) -> float:
            wrapped.zero_grad()
            loss = loss_of(wrapped)
            dist.barrier()
            return _seconds(loss.backward, 1)

        for wrapped in (early, late):
            for _ in range(3):
                backward(wrapped)
        plain = min(backward(late) for _ in range(options.rounds))
        told = lg.tensor([plain])
        dist.broadcast(told, 0)
        link = Link(engine, told.item() / 2 / size)
        try:
            times = [(backward(early), backward(late)) for _ in range(options.rounds)]
        finally:
            link.remove()
        hidden = statistics.median((b - a) / (told.item() / 2) for a, b in times)
        counts = early._reducer.counts
        found[name] = {
            "buckets": counts["started"] / counts["passes"],
            "early": counts["started_early"] / counts["started"],
            "hidden": hidden,
        }
    return found


def least(plain: dict[str, int], buckets: int, as_views: bool, size: int) -> dict[str, int]:
    """The least that a step of data parallel training takes on a device, from what the plain step takes.

    Each bucket is filled by one launch and reduced by one; where gradients are not views of the buckets, one more
    brings the means back. All bytes of the gradients travel, and the host neither waits nor copies.
    """
    launches = plain["launches"] + buckets * (2 if as_views else 3)
    return {**plain, "launches": launches, "calls": buckets, "bytes": size}


def counted(wrap: Callable[[Any], Any]) -> dict[str, int]:
    """What a step of a small model takes on the (emulated) device."""
    import lucidgrad as lg
    from lucidgrad import cudasim

    lg.manual_seed(0)
    model = lg.nn.Sequential(lg.nn.Linear(32, 64), lg.nn.Tanh(), lg.nn.Linear(64, 8)).to("cuda")
    x = lg.randn(16, 32, device="cuda")
    wrapped = wrap(model)
    optimizer = lg.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        _step(wrapped, lambda m: (m(x) ** 2).mean(), optimizer)
    with cudasim.counting() as counts:
        _step(wrapped, lambda m: (m(x) ** 2).mean(), optimizer)
    return {
        "launches": sum(counts.launches.values()) + counts.copies_on_device + counts.memsets,
        "calls": getattr(counts, "nccl_calls", 0),
        "bytes": getattr(counts, "nccl_bytes", 0),
        "synchronisations": counts.synchronisations,
        "host copies": counts.copies_to_host + counts.copies_to_device,
    }


def cuda(options: Any) -> dict[str, Any]:
    """The plain step, and for each way of data parallel training what it takes, and the least there can be."""
    from lucidgrad.nn.parallel import DistributedDataParallel

    found = {"plain": counted(lambda m: m)}
    for name, as_views, cap in (
        ("views of a bucket", True, 25),
        ("views of 2 buckets", True, 0.002),
        ("copies", False, 25),
    ):
        made: list[Any] = []
        ways = {"gradient_as_bucket_view": as_views, "bucket_cap_mb": cap}

        def wrap(model: Any, ways: Any = ways, made: Any = made) -> Any:
            made.append(DistributedDataParallel(model, **ways))
            return made[0]

        found[name] = counted(wrap)
        buckets = made[0].communication_counts()["buckets"]
        found[f"{name}, at least"] = least(found["plain"], len(buckets), as_views, sum(buckets))
    return found


def layers(options: Any) -> dict[str, Any]:
    """Steps of `bench.scaling`: seconds of each layer, forward and backward, and of the optimiser."""
    import lucidgrad as lg

    found = {}
    for name, make in models().items():
        lg.manual_seed(0)
        model, loss_of = make()
        optimizer = lg.optim.AdamW(model.parameters(), lr=1e-3)
        parts = [m for m in model.modules() if list(m.parameters(recurse=False))]
        begins: dict[Any, float] = {}
        spent, arrived = dict.fromkeys(parts, 0.0), dict.fromkeys(parts, 0.0)

        def begin(module: Any, args: Any, begins: Any = begins) -> None:
            begins[module] = time.perf_counter()

        def end(module: Any, args: Any, y: Any, begins: Any = begins, spent: Any = spent) -> None:
            spent[module] = time.perf_counter() - begins[module]

        def ready(p: Any, module: Any, arrived: Any) -> None:
            arrived[module] = time.perf_counter()

        for module in parts:
            module.register_forward_pre_hook(begin)
            module.register_forward_hook(end)
            for p in module.parameters(recurse=False):
                p.register_post_accumulate_grad_hook(functools.partial(ready, module=module, arrived=arrived))
        runs = []
        for _ in range(options.rounds):
            optimizer.zero_grad()
            start = time.perf_counter()
            loss = loss_of(model)
            middle = time.perf_counter()
            loss.backward()
            after = time.perf_counter()
            optimizer.step()
            runs.append(
                (middle - start, after - middle, time.perf_counter() - after, dict(spent), dict(arrived), middle)
            )
        forward, back, update, spent_then, arrived_then, middle = min(runs, key=lambda run: run[0] + run[1])
        whole = sum(spent_then.values())
        ahead = sorted(arrived_then.values())
        before = dict(zip(ahead, [middle, *ahead], strict=False))
        backward = [arrived_then[m] - before[arrived_then[m]] for m in parts]
        scale = back / sum(backward)
        found[name] = {
            "forward": [spent_then[m] * forward / whole for m in parts],
            "backward": [t * scale for t in backward],
            "sizes": [sum(p.nbytes for p in m.parameters(recurse=False)) for m in parts],
            "update": update,
        }
    return found


PARTS = {f.__name__: f for f in (alone, reductions, calls, overlap, cuda, layers)}


# -- the program -----------------------------------------------------------------------------------
def launched(part: str, ranks: int, rounds: int, device: bool = False) -> Any:
    """What a part gives, in processes of its own."""
    beside = Path(sys.executable).with_name("mpiexec")
    python = [sys.executable, *(["-m", "lucidgrad.cudasim", sys.executable] if device else [])]
    command = [str(beside) if beside.exists() else "mpiexec", "-n", str(ranks), *python]
    command += ["-m", "bench.distributed", "--part", part, "--rounds", str(rounds)]
    done = subprocess.run(
        command, env={**os.environ, **SINGLE}, capture_output=True, text=True, timeout=600, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise RuntimeError(f"{part}: {done.stdout}{done.stderr}")
    return json.loads(lines[0])["found"]


def run_part(options: Any) -> None:
    from lucidgrad import distributed as dist

    dist.init_process_group("mpi" if options.part == "calls" else None)
    found = PARTS[options.part](options)
    if dist.get_rank() == 0:
        print(json.dumps({"found": found}), flush=True)
    dist.destroy_process_group()


def fitted(rows: list[tuple[int, float, float]], ranks: int) -> tuple[float, float]:
    """Latency and bytes per second by which all-reduces took their time: that of the smallest, and of the largest."""
    import math

    (_, small, _), (size, large, _) = rows[0], rows[-1]
    hops = 2 * math.ceil(math.log2(ranks))
    return small / hops, 2 * size * (ranks - 1) / ranks / (large - small)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.distributed", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--ranks", type=int, default=2, metavar="N", help="processes, default 2")
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="rounds of each measurement, default 15")
    parser.add_argument("--record", action="store_true", help="write docs/scaling.json")
    parser.add_argument("--part", choices=list(PARTS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        run_part(options)
        return 0
    missed = False
    for name, ratio in launched("alone", 1, options.rounds).items():
        missed |= ratio > LIMITS["alone"]
        print(f"one process, {name:22} {ratio:6.3f} of the plain step (goal {LIMITS['alone']})")
    rows = launched("reductions", options.ranks, options.rounds)
    for size, seconds, share in rows:
        missed |= size >= 1 << 20 and share < LIMITS["all-reduce"]
        print(f"all-reduce of {size:>9,} bytes: mpi4py {seconds * 1e6:9.1f} µs, {share:5.2f} of its speed")
    for name, microseconds in launched("calls", 1, options.rounds).items():
        print(f"a call, {name:26} {microseconds:6.2f} µs")
    hidden = launched("overlap", options.ranks, options.rounds)
    for name, it in hidden.items():
        print(
            f"overlap, {name:22} {it['buckets']:4.1f} buckets, {it['early']:4.0%} began before backward ended, "
            f"{it['hidden']:4.0%} of the communication hidden"
        )
    steps_on_cuda = launched("cuda", options.ranks, 1, device=True)
    for name, it in steps_on_cuda.items():
        missed |= it != steps_on_cuda.get(f"{name}, at least", it)
        print(f"cuda, {name:28} " + ", ".join(f"{value:,} {what}" for what, value in it.items()))
    if options.record:
        from lucidgrad.bench import machine

        from . import scaling

        os.environ.setdefault(machine.PINNED, "1")
        steps = launched("layers", 1, options.rounds)
        latency, bandwidth = fitted(rows, options.ranks)
        share = min(1.0, max(0.0, statistics.mean(it["hidden"] for it in hidden.values())))
        made = {name: scaling.Step(**{k: tuple(v) if isinstance(v, list) else v for k, v in it.items()}) for name, it in
                steps.items()}  # fmt: skip
        about = {"measured": {"all-reduce": rows, "overlap": hidden, "machine": machine.describe()}}
        scaling.write(made, scaling.Network(latency, bandwidth, share), about)
        print(f"written: {scaling.DATA.name}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
