"""Programs of `lucidgrad.levels.program` on the CPU, as C and as a list of NumPy calls, beside PyTorch eager.

``python -m bench.programs [names]`` prints, for each case, the time of PyTorch and ratios to it; all run by turns in
one process, and the best of all rounds counts. ``--one-thread`` compares processor time of one thread instead, which
other programs on the machine disturb little.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

import lucidgrad as lg
from lucidgrad import func
from lucidgrad.backends.cpu.programs import compiled
from lucidgrad.compiling.passes import improved
from lucidgrad.levels.program import Program
from lucidgrad.levels.traced import program_of as traced

F, TF = lg.nn.functional, torch.nn.functional
_random = np.random.default_rng(0)

#: A function of PyTorch's to time, the program that does the same, its inputs, and which outputs go into which.
Case = tuple[Callable[[], Any], Program, list[Any], dict[int, int]]


def draw(*shape: int) -> Any:
    return _random.normal(size=shape).astype(np.float32)


def chain() -> Case:
    def run(x: Any) -> Any:
        for _ in range(25):
            x = (x * 0.5 + 0.5) * x - x
        return x

    x = draw(100) * np.float32(0.5)
    t = torch.tensor(x)
    return lambda: run(t), traced(run, x), [x], {}


def _small() -> tuple[list[Any], Any, Any]:
    return [draw(32, 32), draw(32), draw(1, 32), draw(1)], draw(16, 32), draw(16, 1)


def _loss(p: Sequence[Any], x: Any, y: Any, f: Any, tanh: Any) -> Any:
    return f.mse_loss(f.linear(tanh(f.linear(x, p[0], p[1])), p[2], p[3]), y)


def tiny_sgd() -> Case:
    params, x, y = _small()

    def step(*given: Any) -> Any:
        *p, x, y = given
        g, value = func.grad_and_value(lambda p: _loss(p, x, y, F, lg.tanh))(p)
        return (*(a - 0.01 * b for a, b in zip(p, g, strict=True)), value)

    theirs = [torch.tensor(p, requires_grad=True) for p in params]
    optimiser, tx, ty = torch.optim.SGD(theirs, 0.01), torch.tensor(x), torch.tensor(y)

    def run() -> None:
        optimiser.zero_grad()
        _loss(theirs, tx, ty, TF, torch.tanh).backward()
        optimiser.step()

    return run, traced(step, *params, x, y), [*params, x, y], {k: k for k in range(4)}


def hvp() -> Case:
    params, x, y = _small()
    tangents = _small()[0]

    def product(*given: Any) -> Any:
        p, v, (x, y) = given[:4], given[4:8], given[8:]
        gradient = lambda *p: tuple(func.grad(lambda p: _loss(p, x, y, F, lg.tanh))(list(p)))
        return func.jvp(gradient, tuple(p), tuple(v))[1]

    theirs = [torch.tensor(p, requires_grad=True) for p in params]
    tv, tx, ty = [torch.tensor(v) for v in tangents], torch.tensor(x), torch.tensor(y)

    def run() -> None:
        g = torch.autograd.grad(_loss(theirs, tx, ty, TF, torch.tanh), theirs, create_graph=True)
        torch.autograd.grad(g, theirs, tv)

    given = [*params, *tangents, x, y]
    return run, traced(product, *given), given, {}


def recurrent() -> Case:
    """A recurrent network of 200 steps, with its gradients."""
    params, x = [draw(16, 32) * np.float32(0.1), draw(32, 32) * np.float32(0.1)], draw(200, 8, 16)

    def mine(u: Any, w: Any, x: Any) -> Any:
        def body(h: Any, x: Any) -> Any:
            h = lg.tanh(x @ u + h @ w)
            return h, h

        return (func.scan(body, lg.zeros(8, 32), x)[1] ** 2).mean()

    def step(u: Any, w: Any, x: Any) -> Any:
        return func.grad(mine, (0, 1))(u, w, x)

    ts, tx = [torch.tensor(p, requires_grad=True) for p in params], torch.tensor(x)

    def theirs() -> None:
        h, found = torch.zeros(8, 32), []
        for one in tx:
            h = torch.tanh(one @ ts[0] + h @ ts[1])
            found.append(h)
        torch.autograd.grad((torch.stack(found) ** 2).mean(), ts)

    return theirs, improved(traced(step, *params, x)), [*params, x], {}


def _both_ways(mine: Callable[..., Any], theirs: Callable[..., Any], *arrays: Any) -> Case:
    """A function and its cotangents, given ones."""

    def run(*xs: Any) -> Any:
        y = mine(*(x.requires_grad_() for x in xs))
        return [y.detach(), *(g.detach() for g in lg.autograd.grad(y, list(xs), [lg.ones_like(y)]))]

    ts = [torch.tensor(a, requires_grad=True) for a in arrays]
    one = torch.ones_like(theirs(*ts))
    return lambda: torch.autograd.grad(theirs(*ts), ts, one), traced(run, *arrays), list(arrays), {}


def _layer_norm(f: Any) -> Callable[..., Any]:
    return lambda x, w, b: f.layer_norm(x, (512,), w, b)


CASES: dict[str, Callable[[], Case]] = {
    "100 small operations": chain,
    "tiny MLP, SGD step": tiny_sgd,
    "tiny MLP, Hessian-vector product": hvp,
    "scan of 200 steps": recurrent,
    "tanh, 4M": lambda: _both_ways(lg.tanh, torch.tanh, draw(2048, 2048)),
    "gelu, 4M": lambda: _both_ways(F.gelu, TF.gelu, draw(2048, 2048)),
    "exp-log mix, 4M": lambda: _both_ways(
        lambda x: lg.log(lg.exp(x) + 1) * x, lambda x: torch.log(torch.exp(x) + 1) * x, draw(2048, 2048)
    ),
    "softmax, 4096 x 512": lambda: _both_ways(
        lambda x: F.softmax(x, -1), lambda x: torch.softmax(x, -1), draw(4096, 512)
    ),
    "layer norm, 4096 x 512": lambda: _both_ways(
        _layer_norm(F), _layer_norm(TF), draw(4096, 512), draw(512), draw(512)
    ),
}


def measured(case: Case, clock: Callable[[], float], rounds: int = 15) -> dict[str, float]:
    """The best time of each, in seconds."""
    theirs, program, arrays, into = case
    c, flat = compiled(program, into, "c"), compiled(program, into, "flat")
    ways: dict[str, Callable[[], Any]] = {"torch": theirs, "c": lambda: c(arrays), "flat": lambda: flat(arrays)}
    best = dict.fromkeys(ways, float("inf"))
    for run in ways.values():
        run()
    for _ in range(rounds):
        for name, run in ways.items():
            begin, count = clock(), 0
            while clock() - begin < 0.01 or count < 2:
                run()
                count += 1
            best[name] = min(best[name], (clock() - begin) / count)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of cases")
    parser.add_argument("--one-thread", action="store_true")
    given = parser.parse_args()
    threads = 1 if given.one_thread else 2
    torch.set_num_threads(threads)
    lg.set_num_threads(threads)
    print(f"{'case':34}{'torch, us':>12}{'C':>9}{'flat':>9}")
    for name, make in CASES.items():
        if not given.names or any(word in name for word in given.names):
            best = measured(make(), time.thread_time if given.one_thread else time.perf_counter)
            ratios = "".join(f"{best[way] / best['torch']:9.4f}" for way in ("c", "flat"))
            print(f"{name:34}{best['torch'] * 1e6:12.1f}{ratios}", flush=True)


if __name__ == "__main__":
    main()
