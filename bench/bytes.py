"""``python -m bench.bytes``: launches, blocks and bytes of reductions, norms, losses and attention on CUDA.

Counted on the emulated device, at every launch: the arrays among a kernel's arguments, each of which it reads or writes
once in memory. What a block reads again lies in its cache: a row that it goes through twice, a tile of keys. The
minimum is what an operation is given, once, and what it gives, once. A launch that is not one of these kernels is told,
and counts as a miss.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Bytes, over the minimum, that an operation may move.
MOST = 1.2
#: What takes two launches that need all that is given, where nothing is added atomically; how much more than that it
#: may move: a few numbers for each query.
TWICE, MOST_TWICE = ("attention, back",), 1.03


def main() -> int:
    argparse.ArgumentParser(prog="python -m bench.bytes", description=__doc__.partition("\n\n")[0]).parse_args()
    from lucidgrad import cudasim

    cudasim.install()
    print(f"{'op':34} {'launches':>8} {'blocks':>7} {'bytes':>10} {'minimum':>10} {'ratio':>6}")
    missed = []
    for name, (function, arrays) in ops().items():
        for back in (False, True):
            found = count(function, arrays, back)
            if found is None:
                continue
            launches, blocks, moved, least, twice, others = found
            word = f"{name}, back" if back else name
            is_twice = word in TWICE
            told = f", {moved / twice:.2f} of that of two launches" if is_twice else ""
            print(f"{word:34} {launches:8} {blocks:7} {moved:10} {least:10} {moved / least:6.2f}{told}{others}")
            if moved > (MOST_TWICE * twice if is_twice else MOST * least) or others:
                missed.append(word)
    return 1 if missed else 0


@contextmanager
def watched() -> Iterator[list[tuple[str, int, int]]]:
    """Launches of kernels that are written by hand: name, blocks, and bytes of the arrays that they are given."""
    import cupy

    from lucidgrad.backends.cuda.compiling import Sources

    seen: list[tuple[str, int, int]] = []
    usual = Sources.kernel

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

    Sources.kernel = kernel  # type: ignore[assignment, method-assign]
    try:
        yield seen
    finally:
        Sources.kernel = usual  # type: ignore[method-assign]


def count(function: Callable[..., Any], make: Callable[[], list[Any]], back: bool) -> Any:
    """Launches, the most blocks, bytes moved, the minimum, that of two launches, and what else was launched.

    None without a derivative.
    """
    import lucidgrad as lg
    from lucidgrad import cudasim

    xs = make()
    leaves = [x for x in xs if x.requires_grad]
    for _ in range(2):  # the first time compiles
        with cudasim.counting() as counts, watched() as seen:
            y = function(*xs)
        ys = [y] if isinstance(y, lg.Tensor) else list(y)
        least = sum(x.array.nbytes for x in (*xs, *ys))
        twice = least
        if back and not ys[0].requires_grad:
            return None
        if back:
            node = ys[0]
            seed = lg.rand(*node.shape, device="cuda").to(node.dtype)
            with cudasim.counting() as counts, watched() as seen:
                found = lg.autograd.grad(node, leaves, seed)
            kept = node.array.nbytes if "attention" in function.__name__ else 0
            least = sum(x.array.nbytes for x in (*xs, seed, *found)) + kept
            twice = least + sum(x.array.nbytes for x in (*xs, seed))
    own = {name for name, _, _ in seen}
    others = {name: n for name, n in counts.launches.items() if name not in own}
    if not seen:  # by a generated kernel, or none: nothing of this is here
        return None
    told = f"  and {others}" if others else ""
    return len(seen), max(blocks for _, blocks, _ in seen), sum(n for _, _, n in seen), least, twice, told


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
