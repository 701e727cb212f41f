"""Random collectives against NumPy: every process knows what the others have, so it knows what comes out.

All draw the same numbers: the operation, a dtype, shapes and layouts, a group, whether to wait later. Values are such
that sums are exact in any order.
"""

import ml_dtypes
import numpy as np
from thoroughness import seeds

import lucidgrad as lg
from lucidgrad import distributed as dist

REALS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]
FUNCTIONS = {"SUM": np.add, "AVG": np.add, "PRODUCT": np.multiply, "MAX": np.maximum, "MIN": np.minimum}


DTYPES = ["bool", *REALS, *INTEGERS, *COMPLEX]
CALLS = (
    "all_reduce reduce broadcast all_gather all_gather_into_tensor reduce_scatter reduce_scatter_tensor all_to_all "
    "all_to_all_single gather scatter send"
).split()


def allowed(what, dtype):
    """The reductions that a function has for a dtype; those that reduce nothing have one."""
    if "reduce" not in what:
        return ["SUM"]
    if dtype == "bool":
        return ["MAX", "MIN"]
    if dtype in COMPLEX:
        return ["SUM", "AVG"]
    return [op for op in FUNCTIONS if dtype not in INTEGERS or op != "AVG"]


def numpy_dtype(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def values(draw, shape, dtype):
    numbers = draw.integers(0 if dtype.startswith("u") else -3, 4, shape)
    if dtype == "bool":
        return numbers > 0
    if dtype in COMPLEX:
        return (numbers + 1j * draw.integers(-3, 4, shape)).astype(dtype)
    return (numbers * (0.25 if dtype in REALS else 1)).astype(numpy_dtype(dtype))


def tensor(array, layout, device):
    """The values in memory of some layout."""
    wide = array.astype(np.float32) if array.dtype == ml_dtypes.bfloat16 else array
    x = lg.asarray(wide.copy()).to(lg.bfloat16 if array.dtype == ml_dtypes.bfloat16 else x_dtype(array))
    if layout == "reversed axes":
        x = x.permute(*reversed(range(x.ndim))).contiguous().permute(*reversed(range(x.ndim)))
    elif layout == "strided" and x.ndim:
        holder = lg.zeros(*x.shape[:-1], 2 * x.shape[-1] + 1, dtype=x.dtype)
        holder[..., 1::2] = x
        x = holder[..., 1::2]
    return x.to(device) if device != "cpu" else x


def x_dtype(array):
    return getattr(lg, array.dtype.name)


def reduced(arrays, op):
    """What a reduction gives: 16-bit floats in float32, rounded once."""
    dtype = arrays[0].dtype
    wide = np.float32 if dtype.itemsize == 2 and dtype.kind not in "iu" else dtype
    y = arrays[0].astype(wide)
    for a in arrays[1:]:
        y = FUNCTIONS[op](y, a.astype(wide))
    if op == "AVG":
        y = y / np.asarray(len(arrays), y.dtype)
    return y.astype(dtype)


class Case:
    """One random call, but for what was ``chosen``."""

    def __init__(self, seed, groups, device, **chosen):
        draw = self.draw = np.random.default_rng(seed)
        self.group = groups[draw.integers(len(groups))]
        self.members, self.handle = self.group
        self.n, self.device = len(self.members), device
        self.inside = dist.get_rank() in self.members
        self.me = self.members.index(dist.get_rank()) if self.inside else None
        self.what = str(draw.choice(CALLS))
        self.shape = tuple(int(k) for k in draw.integers(0, 5, draw.integers(0, 4)))
        self.dtype = str(draw.choice([name for name in DTYPES if device == "cpu" or name != "bfloat16"]))
        self.op = str(draw.choice(allowed(self.what, self.dtype)))
        self.root = int(draw.integers(self.n))
        self.asynchronous = bool(draw.integers(2))
        self.layouts = [str(name) for name in draw.choice(["plain", "reversed axes", "strided"], 2)]
        vars(self).update(chosen)

    def __repr__(self):
        return f"{self.what} {self.op} of {self.dtype} {self.shape} {self.layouts}, members {self.members}"

    def drawn(self, shape):
        """Values of everybody."""
        return [values(self.draw, shape, self.dtype) for _ in self.members]

    def made(self, array, which=0):
        return tensor(array, self.layouts[which], self.device)

    def target(self, shape):
        return self.made(np.ones(shape, numpy_dtype(self.dtype)), 1)

    def start(self):
        """Begin it; returns pairs of results and what they should be, and the handle."""
        return getattr(self, f"_{self.what}")(dict(group=self.handle, async_op=self.asynchronous))

    def _all_reduce(self, words):
        arrays = self.drawn(self.shape)
        x = self.made(arrays[self.me])
        return [(x, reduced(arrays, self.op))], dist.all_reduce(x, getattr(dist.ReduceOp, self.op), **words)

    def _reduce(self, words):
        arrays = self.drawn(self.shape)
        x = self.made(arrays[self.me])
        expected = reduced(arrays, self.op) if self.me == self.root else arrays[self.me]
        return [(x, expected)], dist.reduce(x, self.members[self.root], getattr(dist.ReduceOp, self.op), **words)

    def _broadcast(self, words):
        arrays = self.drawn(self.shape)
        x = self.made(arrays[self.me])
        return [(x, arrays[self.root])], dist.broadcast(x, group_src=self.root, **words)

    def _all_gather(self, words):
        arrays = self.drawn(self.shape)
        outputs = [self.target(self.shape) for _ in arrays]
        return list(zip(outputs, arrays)), dist.all_gather(outputs, self.made(arrays[self.me]), **words)

    def _all_gather_into_tensor(self, words):
        arrays = self.drawn(self.shape)
        expected = np.stack(arrays)
        output = self.target(expected.shape)
        return [(output, expected)], dist.all_gather_into_tensor(output, self.made(arrays[self.me]), **words)

    def _reduce_scatter(self, words):
        arrays = self.drawn((self.n, *self.shape))
        inputs = [self.made(part) for part in arrays[self.me]]
        output = self.target(self.shape)
        expected = reduced([a[self.me] for a in arrays], self.op)
        return [(output, expected)], dist.reduce_scatter(output, inputs, getattr(dist.ReduceOp, self.op), **words)

    def _reduce_scatter_tensor(self, words):
        arrays = self.drawn((self.n, *self.shape))
        output = self.target(self.shape)
        expected = reduced([a[self.me] for a in arrays], self.op)
        op = getattr(dist.ReduceOp, self.op)
        return [(output, expected)], dist.reduce_scatter_tensor(output, self.made(arrays[self.me]), op, **words)

    def _all_to_all(self, words):
        arrays = self.drawn((self.n, *self.shape))
        inputs, outputs = [self.made(part) for part in arrays[self.me]], [self.target(self.shape) for _ in arrays]
        return list(zip(outputs, (a[self.me] for a in arrays))), dist.all_to_all(outputs, inputs, **words)

    def _all_to_all_single(self, words):
        counts = self.draw.integers(0, 4, (self.n, self.n))  # by sender, then by receiver
        parts = [[values(self.draw, (k, *self.shape), self.dtype) for k in row] for row in counts]
        expected = np.concatenate([row[self.me] for row in parts])
        output, x = self.target(expected.shape), self.made(np.concatenate(parts[self.me]))
        received, sent = ([int(k) for k in part] for part in (counts[:, self.me], counts[self.me]))
        return [(output, expected)], dist.all_to_all_single(output, x, received, sent, **words)

    def _gather(self, words):
        arrays = self.drawn(self.shape)
        outputs = [self.target(self.shape) for _ in arrays] if self.me == self.root else None
        work = dist.gather(self.made(arrays[self.me]), outputs, group_dst=self.root, **words)
        return list(zip(outputs or (), arrays)), work

    def _scatter(self, words):
        arrays = self.drawn(self.shape)
        x = self.target(self.shape)
        inputs = [self.made(a) for a in arrays] if self.me == self.root else None
        return [(x, arrays[self.me])], dist.scatter(x, inputs, group_src=self.root, **words)

    def _send(self, words):
        """Everybody to the next one, round and round."""
        arrays = self.drawn(self.shape)
        if self.n == 1:
            return [], None
        y = self.target(self.shape)
        before, after = (self.me - 1) % self.n, (self.me + 1) % self.n
        tag = int(self.draw.integers(100)) if self.device == "cpu" else 0  # NCCL has none
        sent = dist.isend(self.made(arrays[self.me]), group=self.handle, group_dst=after, tag=tag)
        got = dist.irecv(y, group=self.handle, group_src=before, tag=tag)
        if not self.asynchronous:
            got.wait()
            sent.wait()
        return [(y, arrays[before])], got if self.asynchronous else None


def run(seeds, device="cpu", backend=None):
    n = dist.get_world_size()
    everybody = list(range(n))
    groups = [(everybody, backend and dist.new_group(backend=backend))]
    for members in ([0, 1], [n - 1], everybody[::-1]):
        groups.append((members, dist.new_group(members, backend=backend, sort_ranks=False)))
    later = []
    for seed in seeds:
        case = Case(seed, groups, device)
        if case.inside:
            later.append((case, *case.start()))
        if len(later) == 5 or (later and not later[-1][0].asynchronous):
            settle(later)
            later = []
    settle(later)


def settle(running):
    for _, _, work in reversed(running):
        if work is not None:
            work.wait()
    for case, pairs, _ in running:
        for found, expected in pairs:
            assert str(found.dtype) == case.dtype, case
            array = found.to("cpu").to(lg.float32).numpy() if case.dtype == "bfloat16" else found.to("cpu").numpy()
            assert array.shape == expected.shape, case
            assert (array == expected.astype(array.dtype)).all(), (case, array, expected)


def check_every_call_of_every_dtype():
    """Each with every reduction that it has, of tensors whose elements don't follow one another, and of none."""
    everybody = [(list(range(dist.get_world_size())), None)]
    for what in CALLS:
        for dtype in DTYPES:
            for k, op in enumerate(allowed(what, dtype)):
                for shape in ((3, 2), (0, 2)):
                    chosen = dict(what=what, dtype=dtype, op=op, shape=shape, layouts=["strided", "reversed axes"])
                    case = Case(k, everybody, "cpu", **chosen)
                    settle([(case, *case.start())])


def check_random_collectives():
    run(seeds(60, 1000))
