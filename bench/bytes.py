"""``python -m bench.bytes``: launches, blocks and bytes of reductions, norms, losses and attention on CUDA.

Counted on the emulated device, at every launch: the arrays among a kernel's arguments, each of which it reads or writes
once in memory, and what is filled with zeros. What a block reads again lies in its cache: a row that it goes through
twice, a tile of keys; and so do sums that blocks add to. The minimum is what an operation is given, once, and what it
gives, once. A launch that is not one of these kernels, or a fill that was not seen, is told, and counts as a miss.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Bytes, over the minimum, that an operation may move.
MOST = 1.2
#: The same where nothing may be added atomically: attention's cotangents of queries then have a launch of their own,
#: and q, k, v and h, 4 of 8 matrices, are read by two.
MOST_FIXED = 1.55


#: The name of a fill among launches.
FILL = "zeros"


def main() -> int:
    argparse.ArgumentParser(prog="python -m bench.bytes", description=__doc__.partition("\n\n")[0]).parse_args()
    from lucidgrad import cudasim

    cudasim.install()
    print(f"{'op':34} {'launches':>8} {'blocks':>7} {'bytes':>10} {'minimum':>10} {'ratio':>6}")
    missed = []
    for name, (function, arrays) in ops().items():
        for back in (False, True):
            for fixed in (False, True) if back and name == "attention" else (False,):
                found = count(function, arrays, back, fixed)
                if found is None:
                    continue
                launches, blocks, moved, least, others = found
                word = f"{name}{', back' if back else ''}{', fixed order' if fixed else ''}"
                print(f"{word:34} {launches:8} {blocks:7} {moved:10} {least:10} {moved / least:6.2f}{others}")
                if moved > (MOST_FIXED if fixed else MOST) * least or others:
                    missed.append(word)
    return 1 if missed else 0


@contextmanager
def watched() -> Iterator[list[tuple[str, int, int]]]:
    """Launches of kernels written by hand and fills: name, blocks, and bytes of the arrays that they are given."""
    import cupy

    from lucidgrad.backends.cuda.compiling import Sources

    seen: list[tuple[str, int, int]] = []
    usual, zeros = Sources.kernel, cupy.zeros

    def filled(*args: Any, **more: Any) -> Any:
        made = zeros(*args, **more)
        seen.append((FILL, 0, made.nbytes))
        return made

    def kernel(self: Any, name: str, *args: Any) -> Any:
        made = usual(self, name, *args)

        def launch(grid: tuple[int, ...], block: tuple[int, ...], given: tuple[Any, ...], **more: Any) -> None:
            arrays = {id(a): a.nbytes for a in given if isinstance(a, cupy.ndarray)}
            blocks = 1
            for n in grid:
                blocks *= n
            seen.append((name, blocks, sum(arrays.values())))
            made(grid, block, given, **more)

        return launch

    Sources.kernel, cupy.zeros = kernel, filled  # type: ignore[assignment, method-assign]
    try:
        yield seen
    finally:
        Sources.kernel, cupy.zeros = usual, zeros  # type: ignore[method-assign]


def count(function: Callable[..., Any], make: Callable[[], list[Any]], back: bool, fixed: bool = False) -> Any:
    """Launches, the most blocks, bytes moved, the minimum, and what else was launched; None without a derivative."""
    import lucidgrad as lg
    from lucidgrad import cudasim

    xs = make()
    leaves = [x for x in xs if x.requires_grad]
    for _ in range(2):  # the first time compiles
        with cudasim.counting() as counts, watched() as seen:
            y = function(*xs)
        ys = [y] if isinstance(y, lg.Tensor) else list(y)
        least = sum(x.array.nbytes for x in (*xs, *ys))
        if back and not ys[0].requires_grad:
            return None
        if back:
            node = ys[0]
            seed = lg.rand(*node.shape, device="cuda").to(node.dtype)
            lg.use_deterministic_algorithms(fixed)
            try:
                with cudasim.counting() as counts, watched() as seen:
                    found = lg.autograd.grad(node, leaves, seed)
            finally:
                lg.use_deterministic_algorithms(False)
            kept = node.array.nbytes if "attention" in function.__name__ else 0
            least = sum(x.array.nbytes for x in (*xs, seed, *found)) + kept
    own = [name for name, _, _ in seen]
    others = {name: n for name, n in counts.launches.items() if name not in own}
    if counts.memsets != own.count(FILL):
        others["fills"] = counts.memsets - own.count(FILL)
    if not seen:  # by a generated kernel, or none: nothing of this is here
        return None
    told = f"  and {others}" if others else ""
    return len(seen), max(blocks for _, blocks, _ in seen), sum(n for _, _, n in seen), least, told


def ops() -> dict[str, tuple[Callable[..., Any], Callable[[], list[Any]]]]:
    """Operations by name, and what makes their arguments."""
    import lucidgrad as lg
    from lucidgrad.ops import attention as attentions, losses, normalisation

    def given(*shapes: Any, dtype: Any = lg.float32, slopes: bool = True) -> Callable[[], list[Any]]:
        def make() -> list[Any]:
            lg.manual_seed(0)
            xs = [lg.rand(*shape, device="cuda").to(dtype) for shape in shapes]
            return [x.requires_grad_() for x in xs] if slopes else xs

        return make

    rows, columns, short, long = (64, 512), (512, 64), (2048, 8), (40000,)
    found: dict[str, Any] = {}
    for name in ("sum", "mean", "max", "argmax", "logsumexp", "var"):
        function = getattr(lg, name)
        for word, shape, axis in (
            ("rows", rows, 1),
            ("columns", columns, 0),
            ("short rows", short, 1),
            ("one long row", long, 0),
        ):
            call = lambda x, function=function, axis=axis: function(x, axis=axis)
            found[f"{name}, {word}"] = call, given(shape)
    norm = lambda x: lg.linalg.vector_norm(x)
    found["norm of all"] = norm, given(long)
    for word, shape, axis in (("rows", rows, 1), ("columns", columns, 0)):
        found[f"softmax, {word}"] = (lambda x, axis=axis: lg.softmax(x, axis=axis)), given(shape)
        found[f"log_softmax, {word}"] = (lambda x, axis=axis: lg.log_softmax(x, axis=axis)), given(shape)
    targets = lg.arange(64, device="cuda") % 8
    found["cross entropy"] = (lambda x: losses.cross_entropy_rows(x, targets)), given(rows)
    found["mean squared error"] = losses.mean_squared_error, given(rows, rows)
    found["layer norm"] = normalisation.layer_norm, given((1024, 64), (64,), (64,))
    found["batch norm, images"] = (lambda *xs: normalisation.batch_norm(*xs)[0]), given((8, 16, 12, 12), (16,), (16,))
    found["batch norm, rows"] = (lambda *xs: normalisation.batch_norm(*xs)[0]), given((256, 64), (64,), (64,))

    def attention(q: Any, k: Any, v: Any) -> Any:
        return attentions.attention(q, k, v, causal=True)[0]

    found["attention"] = attention, given(*[(4, 128, 32)] * 3)
    return found


if __name__ == "__main__":
    sys.exit(main())
