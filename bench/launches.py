"""``python -m bench.launches``: kernel launches per op, per VJP and per training step on CUDA, against the minimum.

The minimum is one launch per operation that computes something (views compute nothing) and one per vector-Jacobian
product: one for all cotangents of an elementwise operation or of a joint rule, one per input otherwise, none where the
cotangent is passed on as it is; and one for the optimiser's step. Copies and fills of memory are launches, too. A
compiled step is a graph: what counts is how often something is given to a stream, and how many kernels that is. It runs
on the emulated device, which counts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

#: How many times the minimum a training step may launch.
GOALS = {"MLP 784-512-512-10, SGD": 1.1, "CNN 2 convolutions, SGD": 1.2, "transformer block, SGD": 1.15}
#: Runs before one that is counted: by then memory is found again, and tables of addresses in it.
BEFORE = 7
#: Of a compiled step: the words of a run, and the graph.
MOST_CALLS = 2


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.launches", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--kernels", action="store_true", help="also list the kernels of each training step")
    options = parser.parse_args()
    from lucidgrad import cudasim

    cudasim.install()
    print(f"{'op':24} {'forward':>8} {'backward':>9} {'minimum':>8}")
    for name, (function, *shapes) in ops().items():
        forward, backward, least = count_op(function, shapes)
        print(f"{name:24} {forward:8} {backward:9} {f'{least[0]}+{least[1]}':>8}")
    missed = []
    print(f"\n{'layer or call':32} {'launches':>8} {'most':>8}  syncs  copies to host or device")
    for name, (run, most) in layers().items():
        total, counts = run()
        print(
            f"{name:32} {total:8g} {most:8}  {counts.synchronisations:5}  "
            f"{counts.copies_to_host + counts.copies_to_device}"
        )
        if total > most or counts.synchronisations or counts.copies_to_host or counts.copies_to_device:
            missed.append(name)
    print(f"\n{'training step':32} {'launches':>8} {'minimum':>8} {'ratio':>6} {'goal':>5}  syncs  copies to host")
    for name, (make, batch) in models().items():
        counts, least = count_step(make, batch)
        total = calls_of(counts)
        goal = GOALS.get(name)
        print(
            f"{name:32} {total:8} {least:8} {total / least:6.2f} {goal or '':>5}  {counts.synchronisations:5}  "
            f"{counts.copies_to_host}"
        )
        if (goal is not None and total > goal * least) or counts.synchronisations or counts.copies_to_host:
            missed.append(name)
        if options.kernels:
            for kernel, times in sorted(counts.launches.items(), key=lambda item: -item[1]):
                print(f"    {times:4} {kernel}")
    print(f"\n{'compiled step':32} {'calls':>8} {'graphs':>8} {'kernels':>8} {'eager':>6}  syncs  copies to host")
    for name, (make, batch) in models().items():
        counts, eager = count_compiled(make, batch), calls_of(count_step(make, batch)[0])
        kernels, calls = sum(counts.launches.values()), calls_of(counts)
        print(
            f"{name:32} {calls:8} {counts.graph_launches:8} {kernels:8} {eager:6}  {counts.synchronisations:5}  "
            f"{counts.copies_to_host}"
        )
        if calls > MOST_CALLS or counts.synchronisations or counts.copies_to_host:
            missed.append(f"{name}, compiled")
        if options.kernels:
            for kernel, times in sorted(counts.launches.items(), key=lambda item: -item[1]):
                print(f"    {times:4} {kernel}")
    return 1 if missed else 0


# -- counting --------------------------------------------------------------------------------------
def least_of(loss: Any) -> tuple[int, int]:
    """The minimum for the graph of a tensor: launches of its operations and of their VJPs."""
    from lucidgrad.core.tape import Fork, Node

    seen, stack, forward, backward = set(), [loss._node], 0, 0
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        stack.extend(node.inputs)
        if not isinstance(node, (Node, Fork)):
            continue
        primitive = node.recipe.primitive
        if primitive.view:
            continue
        forward += 1
        pulled = [p for p in node.inputs if p is not None]
        if primitive.name in _PASSED_ON and node.fit is None:
            continue
        if primitive.name in _PASSED_ON:  # a sum over what was broadcast, per input that was
            backward += sum(f is not None and f[0] != max((f[0] for f in node.fit if f), key=len) for f in node.fit)
        else:
            backward += 1 if node.recipe.joint is not None or primitive.kind.name == "elementwise" else len(pulled)
    return forward, backward


_PASSED_ON = {"add", "positive", "clone"}  # their cotangents are that of the output


def count_op(function: Callable[..., Any], shapes: list[Any]) -> tuple[int, int, tuple[int, int]]:
    """Launches of an operation and of its backward, with kernels compiled before."""
    import lucidgrad as lg
    from lucidgrad import cudasim

    def arguments() -> list[Any]:
        lg.manual_seed(0)
        return [
            lg.rand(*shape, device="cuda").requires_grad_() if isinstance(shape, tuple) else shape for shape in shapes
        ]

    for _ in range(2):  # the first time compiles and fills caches
        xs = arguments()
        with cudasim.counting() as forward:
            y = function(*xs)
        least = least_of(y)
        seed = lg.ones(*y.shape, device="cuda")
        with cudasim.counting() as backward:
            lg.autograd.grad(y, [x for x in xs if isinstance(x, lg.Tensor) and x.requires_grad], seed)
    return calls_of(forward), calls_of(backward), least


def count_step(make: Callable[[], Any], batch: Callable[[], Any]) -> tuple[Any, int]:
    """What one training step does, after others, and the minimum."""
    from lucidgrad import cudasim
    from lucidgrad.ops.steps import sgd_step

    parameters, loss_of = make()
    for _ in range(BEFORE + 1):
        data = batch()
        for p in parameters:
            p.grad = None
        with cudasim.counting() as counts:
            loss = loss_of(*data)
            least = sum(least_of(loss)) + 1
            loss.backward()
            sgd_step(parameters, [p.grad for p in parameters], lr=0.01)
    return counts, least


def count_compiled(make: Callable[[], Any], batch: Callable[[], Any]) -> Any:
    """What one step does as a program, after others: traced, run, recorded, and launched with batches elsewhere."""
    import lucidgrad as lg
    from lucidgrad import cudasim

    parameters, loss_of = make()
    optimizer = lg.optim.SGD(parameters, lr=0.01)

    @lg.compile
    def step(*data: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(*data)
        loss.backward()
        optimizer.step()
        return loss.detach()

    batches = [batch() for _ in range(6)]  # all of them at addresses of their own
    loss_of(*batches[0]).backward()
    for data in batches[:-1]:
        step(*data)
    with cudasim.counting() as counts:
        step(*batches[-1])
    return counts


def calls_of(counts: Any) -> int:
    """How often something was given to a stream: kernels, copies and fills outside of graphs, and graphs."""
    work = sum(counts.launches.values()) + counts.copies_on_device + counts.memsets
    return work - counts.graph_nodes + counts.graph_launches


def _repeated(prepare: Callable[[], Any], call: Callable[[Any], Any]) -> tuple[float, Any]:
    """Launches of a call, and all counts, after another one that compiles."""
    from lucidgrad import cudasim

    for _ in range(2):
        given = prepare()
        with cudasim.counting() as counts:
            call(given)
    return calls_of(counts), counts


def _per_step(kind: str) -> tuple[float, Any]:
    """Launches of one step of a recurrent layer, forth and back: how many more a longer sequence takes."""
    import lucidgrad as lg

    layer = getattr(lg.nn, kind)(16, 16).to("cuda")

    def count(length: int) -> tuple[float, Any]:
        def prepare() -> Any:
            layer.zero_grad()
            return lg.rand(length, 4, 16, device="cuda")

        return _repeated(prepare, lambda x: layer(x)[0].sum().backward())

    (few, _), (many, counts) = count(4), count(12)
    return (many - few) / 8, counts


def _of_layer(layer: Any, *shape: int) -> tuple[float, Any]:
    """Launches of a layer forth and back, to its input, weights and bias."""
    import lucidgrad as lg

    x = lg.rand(*shape, device="cuda").requires_grad_()
    leaves, seed = [x, *layer.parameters()], lg.ones_like(layer(x)).detach()
    return _repeated(lambda: x, lambda x: lg.autograd.grad(layer(x), leaves, seed))


def _of_many(call: Callable[[Any], Any]) -> tuple[float, Any]:
    """Launches of a call on 200 parameters with gradients."""
    import lucidgrad as lg

    def prepare() -> Any:
        made = [lg.nn.Parameter(lg.ones(k % 9 + 1, 5, device="cuda")) for k in range(200)]
        for p in made:
            p.grad = lg.ones_like(p).detach()
        return made

    return _repeated(prepare, call)


# -- what is counted -------------------------------------------------------------------------------
def layers() -> dict[str, tuple[Callable[[], tuple[float, Any]], int]]:
    """Layers and calls by name: what counts them, and how many launches they may take."""
    import lucidgrad as lg

    def unscale() -> tuple[float, Any]:
        scaler = lg.GradScaler()
        scaler.scale(lg.ones((), device="cuda"))

        def call(params: Any) -> None:
            scaler.unscale_(lg.optim.SGD(params, lr=0.1))

        return _of_many(call)

    def average() -> tuple[float, Any]:
        found: dict[str, Any] = {}

        def prepare() -> Any:
            if not found:
                found["ema"] = lg.optim.EMA([lg.ones(k % 9 + 1, 5, device="cuda") for k in range(200)])
            return found["ema"]

        return _repeated(prepare, lambda ema: ema.update())

    return {
        "LSTM, a step forth and back": (lambda: _per_step("LSTM"), 4),
        "GRU, a step forth and back": (lambda: _per_step("GRU"), 4),
        "Linear, forth and back": (lambda: _of_layer(lg.nn.Linear(32, 16).to("cuda"), 8, 32), 2 + 3),
        "Conv2d, forth and back": (
            lambda: _of_layer(lg.nn.Conv2d(8, 16, 3, padding=1).to("cuda"), 4, 8, 8, 8),
            2 + 4,
        ),
        "clip_grad_norm_, 200 tensors": (lambda: _of_many(lambda ps: lg.nn.utils.clip_grad_norm_(ps, 1.0)), 3),
        "GradScaler.unscale_, 200 tensors": (unscale, 2),  # one fills the flag
        "EMA.update, 200 tensors": (average, 1),
    }


def ops() -> dict[str, tuple[Any, ...]]:
    """Operations by name, with the shapes of their inputs."""
    import lucidgrad as lg
    from lucidgrad.ops import losses, normalisation, pooling, windows

    targets = lg.arange(32, device="cuda") % 8
    mask = lg.rand(32, 8, device="cuda") > 0.5
    steps = dict(stride=(1, 1), padding=(1, 1), dilation=(1, 1))
    pool = dict(window=(2, 2), stride=(2, 2), padding=(0, 0), dilation=(1, 1))
    row, image = (32, 8), (2, 3, 8, 8)
    return {
        "x + y": (lg.add, row, row),
        "x + row": (lg.add, row, (8,)),
        "x * y": (lg.multiply, row, row),
        "x / y": (lg.divide, row, row),
        "x ** y": (lg.pow, row, row),
        "exp": (lg.exp, row),
        "tanh": (lg.tanh, row),
        "gelu": (lg.gelu, row),
        "softplus": (lg.softplus, row),
        "where": (lambda x, y: lg.where(mask, x, y), row, row),
        "sum": (lambda x: lg.sum(x, axis=1), row),
        "mean": (lambda x: lg.mean(x, axis=1), row),
        "var": (lambda x: lg.var(x, axis=1), row),
        "max": (lambda x: lg.max(x, axis=1), row),
        "matmul": (lg.matmul, row, (8, 16)),
        "softmax": (lambda x: lg.softmax(x, axis=-1), row),
        "log_softmax": (lambda x: lg.log_softmax(x, axis=-1), row),
        "logsumexp": (lambda x: lg.logsumexp(x, axis=-1), row),
        "attention": (lg.nn.functional.scaled_dot_product_attention, *[(2, 32, 8)] * 3),
        "cross entropy": (lambda x: losses.cross_entropy_rows(x, targets), row),
        "layer norm": (lambda x, w, b: normalisation.layer_norm(x, w, b), row, (8,), (8,)),
        "batch norm": (lambda x, w, b: normalisation.batch_norm(x, w, b)[0], image, (3,), (3,)),
        "convolution": (lambda x, w: windows.convolution(x, w, **steps), image, (4, 3, 3, 3)),
        "max pool": (lambda x: pooling.max_pool(x, **pool)[0], image),
        "average pool": (lambda x: pooling.avg_pool(x, **{k: v for k, v in pool.items() if k != "dilation"}), image),
        "embedding": (lambda x: lg.take(x, targets, axis=0), row),
    }


def _parameters(*shapes: tuple[int, ...]) -> list[Any]:
    import lucidgrad as lg

    return [(lg.randn(*shape, device="cuda") * 0.05).detach().requires_grad_() for shape in shapes]


def mlp() -> tuple[list[Any], Callable[..., Any]]:
    import lucidgrad as lg
    from lucidgrad.ops.losses import cross_entropy_rows

    p = _parameters((784, 512), (512,), (512, 512), (512,), (512, 10), (10,))

    def loss(x: Any, i: Any) -> Any:
        h = lg.relu(x @ p[0] + p[1])
        h = lg.relu(h @ p[2] + p[3])
        return lg.mean(cross_entropy_rows(h @ p[4] + p[5], i))

    return p, loss


def cnn() -> tuple[list[Any], Callable[..., Any]]:
    import lucidgrad as lg
    from lucidgrad.ops.losses import cross_entropy_rows
    from lucidgrad.ops.pooling import max_pool
    from lucidgrad.ops.windows import convolution

    p = _parameters((8, 1, 3, 3), (8, 1, 1), (16, 8, 3, 3), (16, 1, 1), (16 * 7 * 7, 10), (10,))
    same = dict(stride=(1, 1), padding=(1, 1), dilation=(1, 1))
    half = dict(window=(2, 2), stride=(2, 2), padding=(0, 0), dilation=(1, 1))

    def loss(x: Any, i: Any) -> Any:
        for k in (0, 2):
            x = max_pool(lg.relu(convolution(x, p[k], **same) + p[k + 1]), **half)[0]
        return lg.mean(cross_entropy_rows(lg.reshape(x, (x.shape[0], -1)) @ p[4] + p[5], i))

    return p, loss


def transformer_block() -> tuple[list[Any], Callable[..., Any]]:
    import lucidgrad as lg
    from lucidgrad.ops.normalisation import layer_norm

    d, heads = 64, 4
    p = _parameters((d, 3 * d), (3 * d,), (d, d), (d,), (d,), (d,), (d, 4 * d), (4 * d,), (4 * d, d), (d,), (d,), (d,))

    def loss(x: Any, _: Any) -> Any:
        n, t, _ = x.shape
        h = layer_norm(x, p[4], p[5]) @ p[0] + p[1]
        q, k, v = lg.permute_dims(lg.reshape(h, (n, t, 3, heads, d // heads)), (2, 0, 3, 1, 4))
        y = lg.nn.functional.scaled_dot_product_attention(q, k, v)
        joined = lg.reshape(lg.permute_dims(y, (0, 2, 1, 3)), (n, t, d))
        x = x + joined @ p[2] + p[3]
        h = lg.gelu(layer_norm(x, p[10], p[11]) @ p[6] + p[7])
        return lg.mean((x + h @ p[8] + p[9]) ** 2)

    return p, loss


def models() -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Training steps by name: the model, and a batch for it."""
    import lucidgrad as lg

    def labels(n: int) -> Any:
        return lg.arange(n, device="cuda") % 10

    return {
        "MLP 784-512-512-10, SGD": (mlp, lambda: (lg.rand(32, 784, device="cuda"), labels(32))),
        "CNN 2 convolutions, SGD": (cnn, lambda: (lg.rand(8, 1, 28, 28, device="cuda"), labels(8))),
        "transformer block, SGD": (transformer_block, lambda: (lg.rand(2, 16, 64, device="cuda"), None)),
    }


if __name__ == "__main__":
    sys.exit(main())
