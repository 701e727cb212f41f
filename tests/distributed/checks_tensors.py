"""Collectives of tensors of every sort: dtypes, layouts, sizes, devices; and what is refused."""

import warnings

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import distributed as dist

REALS = [lg.float16, lg.bfloat16, lg.float32, lg.float64]
INTEGERS = [lg.int8, lg.int16, lg.int32, lg.int64, lg.uint8, lg.uint16, lg.uint32, lg.uint64]
COMPLEX = [lg.complex64, lg.complex128]


def _rank():
    return dist.get_rank(), dist.get_world_size()


def check_every_dtype_is_reduced():
    rank, n = _rank()
    for dtype in (*REALS, *INTEGERS, *COMPLEX):
        x = lg.asarray([1, 2, 3]).to(dtype) + rank
        dist.all_reduce(x)
        assert x.dtype == dtype
        assert x.to(lg.complex128).real.tolist() == [n * i + n * (n - 1) / 2 for i in (1, 2, 3)], dtype


def check_every_dtype_is_moved():
    rank, n = _rank()
    for dtype in (lg.bool, *REALS, *INTEGERS, *COMPLEX):
        x = lg.asarray([rank % 2, 1, 0]).to(dtype)
        whole = lg.zeros(3 * n, dtype=dtype)
        dist.all_gather_into_tensor(whole, x)
        assert whole.dtype == dtype
        assert whole.to(lg.complex64).real.tolist() == [v for i in range(n) for v in (i % 2, 1, 0)], dtype


def check_halves_are_summed_in_single_precision():
    """2048 + 1/2 + 1/2 is 2049 by one rounding of halves at the end, and 2048 with a rounding between."""
    rank, n = _rank()
    for dtype, large in ((lg.float16, 2048.0), (lg.bfloat16, 256.0)):
        x = lg.asarray([large if rank == 0 else 2.0 / (n - 1)]).to(dtype)
        expected = lg.asarray([large + 2.0]).to(dtype)
        dist.all_reduce(x)
        assert x.item() == expected.item()
        y = lg.asarray([large, large]).to(dtype)
        dist.all_reduce(y, op=dist.ReduceOp.AVG)  # the sum itself has no place in 16 bits, times many
        assert y.tolist() == [large, large]
    z = lg.full((2,), 60000.0, dtype=lg.float16)
    dist.all_reduce(z, op=dist.ReduceOp.AVG)
    assert z.tolist() == [60000.0, 60000.0]


def check_booleans():
    rank, _ = _rank()
    x = lg.asarray([rank == 0, True, False])
    dist.all_reduce(x, op=dist.ReduceOp.MAX)
    assert x.dtype == lg.bool and x.tolist() == [True, True, False]
    x = lg.asarray([rank == 0, True, False])
    dist.all_reduce(x, op=dist.ReduceOp.MIN)
    assert x.tolist() == [False, True, False]
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.PRODUCT):
        with pytest.raises(TypeError, match="given booleans and ReduceOp.*whether any is true"):
            dist.all_reduce(x, op=op)


def check_refused_reductions():
    z, i = lg.ones(2, dtype=lg.complex64), lg.ones(2, dtype=lg.int32)
    for op in (dist.ReduceOp.MAX, dist.ReduceOp.MIN, dist.ReduceOp.PRODUCT):
        with pytest.raises(TypeError, match="given complex numbers and ReduceOp"):
            dist.all_reduce(z, op=op)
    with pytest.raises(TypeError, match=r"integers and ReduceOp\.AVG; take ReduceOp\.SUM"):
        dist.all_reduce(i, op=dist.ReduceOp.AVG)
    with pytest.raises(TypeError, match=r"given op='sum', expected one of ReduceOp\.SUM"):
        dist.all_reduce(i, op="sum")
    dist.all_reduce(z, op=dist.ReduceOp.AVG)
    assert z.tolist() == [1, 1]


def check_layouts():
    rank, n = _rank()
    base = lg.arange(24.0).reshape(4, 6)
    for view in (lambda x: x.T, lambda x: x[::2], lambda x: x[:, 1::3], lambda x: x[1:3, 2:4].T, lambda x: x[0]):
        whole = base.clone() + rank
        part = view(whole)
        before = whole.clone()
        dist.all_reduce(part)
        expected = before.clone()
        view(expected)[...] = n * view(base) + n * (n - 1) / 2
        assert (whole == expected).all(), "the rest of the memory is as before"
    target = lg.zeros(n * 2, 3).T.contiguous().T  # columns first
    dist.all_gather_into_tensor(target, lg.full((3, 2), float(rank)).T)
    assert target.tolist() == [[i] * 3 for i in range(n) for _ in range(2)]
    parts = [lg.zeros(2, 3)[:, ::2] for _ in range(n)]
    dist.all_gather(parts, lg.full((2, 2), float(rank)))
    assert [p.tolist() for p in parts] == [[[i, i], [i, i]] for i in range(n)]


def check_scalars_and_empty_tensors():
    rank, n = _rank()
    x = lg.asarray(float(rank))
    dist.all_reduce(x)
    assert x.shape == () and x.item() == n * (n - 1) / 2
    whole = lg.zeros(n)
    dist.all_gather_into_tensor(whole, lg.asarray(float(rank)))
    assert whole.tolist() == list(range(n))
    for shape in ((0,), (3, 0), (0, 2)):
        e = lg.zeros(*shape)
        dist.all_reduce(e)
        dist.broadcast(e, 0)
        dist.reduce(e, 0)
        dist.all_gather([lg.zeros(*shape) for _ in range(n)], e)
        dist.reduce_scatter_tensor(e, lg.zeros(n, *shape))
        dist.gather(e, [lg.zeros(*shape) for _ in range(n)] if rank == 0 else None)
        dist.scatter(e, [lg.zeros(*shape) for _ in range(n)] if rank == 0 else None)
        dist.all_to_all_single(lg.zeros(0, 2), lg.zeros(0, 2))
        assert e.shape == shape
    dist.all_reduce(x)  # everybody is at the same place
    assert x.item() == n * n * (n - 1) / 2


def check_uneven_parts():
    rank, n = _rank()
    sent = [(rank + to) % 3 for to in range(n)]
    received = [(origin + rank) % 3 for origin in range(n)]
    x = lg.cat([lg.full((k, 2), float(10 * rank + to)) for to, k in enumerate(sent)])
    y = lg.zeros(sum(received), 2)
    dist.all_to_all_single(y, x, received, sent)
    assert y.tolist() == [[10 * origin + rank] * 2 for origin, k in enumerate(received) for _ in range(k)]


def check_writes_are_noticed():
    x = lg.ones(3, requires_grad=True)
    y = x.exp()
    with lg.no_grad():
        dist.all_reduce(y)
    with pytest.raises(RuntimeError, match="in place|modified"):
        y.sum().backward()
    z = x * 2
    with pytest.raises(RuntimeError, match="the tensor has a history.*nn.functional"):
        dist.all_reduce(z)
    with lg.no_grad():
        dist.broadcast(x, 0)
    u = lg.ones(3)
    y = (x * u).sum()
    work = dist.all_reduce(u, async_op=True)
    with pytest.raises(RuntimeError, match="in place|modified"):  # from the start on
        y.backward()
    y = (x * u).sum()
    work.wait()
    with pytest.raises(RuntimeError, match="in place|modified"):
        y.backward()
    out = lg.zeros(3 * dist.get_world_size())
    dist.all_gather_into_tensor(out, z)  # what is only read may have one
    assert not out.requires_grad


def check_bad_calls():
    rank, n = _rank()
    x = lg.ones(3)
    for call, error, words in (
        (lambda: dist.all_reduce([1.0]), TypeError, "given a list, expected a Tensor"),
        (lambda: dist.broadcast(x), ValueError, "expected one of src and group_src"),
        (lambda: dist.broadcast(x, n), ValueError, f"given src={n}, which is not among the processes"),
        (lambda: dist.broadcast(x, group_src=n), ValueError, f"given group_src={n}, expected 0 to {n - 1}"),
        (lambda: dist.all_gather([x], x), ValueError, f"given 1 tensors.*each of {n} processes"),
        (lambda: dist.all_gather([lg.ones(2)] * n, x), ValueError, r"has shape \(2,\).*expected \(3,\)"),
        (lambda: dist.all_gather_into_tensor(lg.ones(n, 2), x), ValueError, rf"expected \({3 * n},\) or \({n}, 3\)"),
        (lambda: dist.all_gather_into_tensor(lg.ones(3 * n).double(), x), TypeError, "expected one dtype"),
        (lambda: dist.all_to_all_single(x, lg.ones(n + 1)), ValueError, "can't be divided equally"),
        (lambda: dist.all_to_all_single(x, x, [3] + [0] * (n - 1), [2] * n), ValueError, "whose sum is 3"),
        (lambda: dist.send(x, rank), ValueError, "given this process itself"),
        (lambda: dist.send(x, (rank + 1) % n, tag=-1), ValueError, "given tag=-1"),
        (lambda: dist.all_reduce(x.expand(2, 3)), RuntimeError, "can't be written"),
        (lambda: dist.all_reduce(x, group="world"), TypeError, "given a group of type str"),
        (lambda: dist.new_group([0, 0]), ValueError, "expected different numbers"),
        (lambda: dist.init_process_group(), ValueError, "there is a group already"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()
    with pytest.raises(RuntimeError, match="inside vmap or a derivative.*nn.functional"):
        lg.vmap(lambda v: dist.all_reduce(v))(lg.ones(2, 2))
    assert x.tolist() == [1, 1, 1]
    dist.all_reduce(x)
    assert x.tolist() == [n] * 3


def check_groups_of_others():
    rank, n = _rank()
    first = dist.new_group([0])
    x = lg.full((2,), float(rank))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        dist.all_reduce(x, group=first)
    assert x.tolist() == [rank] * 2
    assert bool(told) == (rank != 0)
    turned = dist.new_group(list(reversed(range(n))), sort_ranks=False)
    assert dist.get_rank(turned) == n - 1 - rank and dist.get_world_size(turned) == n
    assert dist.get_global_rank(turned, 0) == n - 1 and dist.get_group_rank(turned, n - 1) == 0
    assert dist.get_process_group_ranks(turned) == list(reversed(range(n)))
    y = lg.full((1,), float(rank))
    whole = lg.zeros(n)
    dist.all_gather_into_tensor(whole, y, group=turned)
    assert whole.tolist() == list(reversed(range(n)))
    dist.broadcast(y, group=turned, group_src=0)
    assert y.item() == n - 1
    last = [n - 2, n - 1]
    pair = dist.new_group(last, use_local_synchronization=True) if rank in last else None
    if pair is not None:
        z = lg.full((1,), float(rank))
        dist.broadcast(z, n - 2, group=pair)
        assert z.item() == n - 2
        dist.destroy_process_group(pair)
        with pytest.raises(RuntimeError, match="was destroyed"):
            dist.all_reduce(z, group=pair)


def check_several_groups_at_once():
    rank, n = _rank()
    groups = [dist.new_group() for _ in range(3)]
    xs = [lg.full((2000,), float(rank + i)) for i in range(3)]
    works = [dist.all_reduce(x, group=g, async_op=True) for x, g in zip(xs, groups)]
    order = (0, 1, 2) if rank % 2 else (2, 0, 1)  # waiting is in any order
    for i in order:
        works[i].wait()
    for i, x in enumerate(xs):
        assert (x == n * i + n * (n - 1) / 2).all()


def check_asynchronous_copies():
    """What goes through a copy is there after wait, and only then."""
    rank, n = _rank()
    whole = lg.zeros(4, 4, dtype=lg.float16)
    part = whole[:, 1]
    part += rank + 1
    work = dist.all_reduce(part, async_op=True)
    work.wait()
    assert whole[:, 1].tolist() == [n * (n + 1) / 2] * 4 and whole[:, 0].tolist() == [0] * 4
    x = lg.arange(5.0)
    if rank == 0:
        sent = [dist.isend(x * i, 1, tag=i) for i in range(4)]
        for work in sent:
            work.wait()
    elif rank == 1:
        ys = [lg.zeros(10)[::2] for _ in range(4)]
        got = [dist.irecv(y, 0, tag=i) for i, y in enumerate(ys)]
        for i in (3, 1, 0, 2):
            got[i].wait()
            assert (ys[i] == x * i).all()


def check_objects():
    rank, n = _rank()
    sent = [{"lr": 0.1, "w": lg.arange(3), "words": ["a", None, True], "t": (1, 2.5)}, rank, "text"]
    got = sent if rank == 0 else [None] * 3
    dist.broadcast_object_list(got, 0)
    assert got[0]["w"].tolist() == [0, 1, 2] and got[0]["t"] == (1, 2.5) and got[1:] == [0, "text"]
    every = [None] * n
    dist.all_gather_object(every, {"rank": rank, "long": "x" * rank * 100})
    assert every == [{"rank": i, "long": "x" * i * 100} for i in range(n)]
    some = [None] * n if rank == 0 else None
    dist.gather_object([rank], some)
    assert some is None or some == [[i] for i in range(n)]
    mine = [None]
    dist.scatter_object_list(mine, ["a" * i for i in range(n)] if rank == 0 else None, src=0)
    assert mine == ["a" * rank]
    if rank == 0:
        dist.send_object_list(["hello", {"x": 1}], 1)
    elif rank == 1:
        received = [None, None]
        assert dist.recv_object_list(received, 0) == 0
        assert received == ["hello", {"x": 1}]


def check_objects_and_pickle():
    rank, n = _rank()
    with pytest.raises(TypeError, match="pickle=True"):
        dist.all_gather_object([None] * n, object)
    every = [None] * n
    dist.all_gather_object(every, {rank, "set"}, pickle=True)
    assert every == [{i, "set"} for i in range(n)]
    if rank == 0:
        dist.broadcast_object_list([complex], 0, pickle=True)
    else:
        with pytest.raises(RuntimeError, match="another process sent a pickle"):
            dist.broadcast_object_list([None], 0)


def check_other_array_libraries():
    strict = pytest.importorskip("array_api_strict")
    _, n = _rank()
    x = lg.asarray(strict.asarray([1.0, 2.0]))
    if type(x.array) is not np.ndarray:
        dist.all_reduce(x)
        assert x.tolist() == [n, 2 * n]
