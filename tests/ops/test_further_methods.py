"""Methods of tensors beside functions: random numbers written into them, axes changed in place, memory told of."""

import numpy as np
import pytest

import lucidgrad as lg

N = 20_000

#: Writes of random numbers: what they write, its mean and its standard deviation.
DRAWS = {
    "normal_": ((1.0, 2.0), 1.0, 2.0),
    "uniform_": ((-1.0, 3.0), 1.0, 4 / 12**0.5),
    "bernoulli_": ((0.3,), 0.3, 0.21**0.5),
    "random_": ((2, 6), 3.5, 1.25**0.5),
    "exponential_": ((2.0,), 0.5, 0.5),
    "geometric_": ((0.25,), 4.0, 12**0.5),
    "log_normal_": ((0.0, 0.5), np.exp(0.125), np.sqrt((np.exp(0.25) - 1) * np.exp(0.25))),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_written(name, dtype):
    args, mean, spread = DRAWS[name]
    generator = lg.Generator().manual_seed(3)
    x = lg.zeros((N,), dtype=dtype)
    assert getattr(x, name)(*args, generator=generator) is x
    assert x.dtype == dtype
    values = x.numpy().astype(float)
    assert abs(values.mean() - mean) < 6 * spread / N**0.5
    assert abs(values.std() - spread) < 0.05 * spread
    again = getattr(lg.zeros((N,), dtype=dtype), name)(*args, generator=generator.manual_seed(3))
    assert bool((again == x).all())


def test_random_numbers_of_other_kinds():
    lg.manual_seed(0)
    angles = lg.zeros(N).cauchy_(1.0, 2.0)
    assert abs(float(lg.median(angles)) - 1.0) < 0.1
    assert float(((angles > -1) & (angles < 3)).double().mean()) == pytest.approx(0.5, abs=0.02)
    for dtype, top in (("uint8", 255), ("bool", 1), ("int16", 2**15 - 1), ("float16", 2**11)):
        values = lg.zeros(N, dtype=dtype).random_()
        assert 0.95 * top < float(values.double().max()) <= top
    chances = lg.asarray([0.0, 1.0, 1.0])
    assert lg.zeros(3, dtype=lg.int64).bernoulli_(chances).tolist() == [0, 1, 1]
    assert set(lg.randint_like(lg.zeros(99, dtype=lg.int32), 2, 4).tolist()) == {2, 3}
    x = lg.ones(3, requires_grad=True)
    y = (x * 2).normal_()
    (y * 3).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    for call in (lambda: x.normal_(), lambda: lg.zeros(2, dtype=lg.int64).normal_(), lambda: lg.zeros(2).uniform_(2, 1),
                 lambda: lg.zeros(2).geometric_(1.0), lambda: lg.zeros(2).random_(3, 3)):  # fmt: skip
        with pytest.raises(RuntimeError):
            call()


AXES = {
    "t_": ((2, 3), (), (3, 2)),
    "transpose_": ((2, 3, 4), (0, 2), (4, 3, 2)),
    "swapaxes_": ((2, 3), (0, 1), (3, 2)),
    "squeeze_": ((1, 3, 1), (), (3,)),
    "unsqueeze_": ((3,), (-1,), (3, 1)),
}


@pytest.mark.parametrize("name", AXES)
def test_axes_change_in_place(name):
    before, args, after = AXES[name]
    x = lg.arange(float(np.prod(before))).reshape(before).clone()
    expected, array = getattr(x, name.removesuffix("_"))(*args), x.array
    assert getattr(x, name)(*args) is x
    assert (x.shape, x.tolist()) == (after, expected.tolist())
    assert np.shares_memory(x.array, array)
    x.mul_(2)
    assert expected.tolist() == x.tolist()
    w = lg.ones(before, requires_grad=True)
    with pytest.raises(RuntimeError, match="history"):
        getattr(w * 2, name)(*args)
    with pytest.raises(RuntimeError, match="history"):
        getattr(w, name)(*args)
    base = lg.ones((2, *before)) * lg.ones((2, *before)).requires_grad_()
    view = getattr(base[1], name)(*args)  # a view's history follows it
    view.mul_(3)
    assert (view.shape, view.requires_grad, float(base[1].sum().detach())) == (after, True, 3.0 * np.prod(before))


def test_memory():
    x = lg.arange(12.0).reshape(3, 4).clone()
    assert x[1].data_ptr() - x.data_ptr() == 4 * x.itemsize
    assert (x.T.stride(), x[1:, 1:].storage_offset(), x.stride(-1)) == ((1, 4), 5, 1)
    assert not x.T.is_contiguous()
    assert x.is_set_to(x.detach())
    assert not x.is_set_to(x.clone())
    assert (x.type(), x.type("torch.DoubleTensor").dtype, x.bfloat16().type()) == (
        "torch.FloatTensor",
        "float64",
        "torch.BFloat16Tensor",
    )
    with pytest.raises(RuntimeError, match="transform"):
        lg.vmap(lambda row: row * row.data_ptr())(x)
    data = bytearray(np.arange(4, dtype="float32").tobytes())
    shared = lg.frombuffer(data, dtype="float32", count=2, offset=4)
    shared.mul_(10)
    assert np.frombuffer(data, dtype="float32").tolist() == [0.0, 10.0, 20.0, 3.0]


#: Functions made of others, on CUDA as on the CPU; one of each family.
ON_CUDA = """
lg.frexp(x) | lg.gcd(n, n + 4) | lg.complex(x, x * 2) | lg.block_diag(x, x) | lg.put(x, n[0], x[0]) |
lg.index_reduce(x, 1, n[0], x, 'amax') | lg.unique_consecutive(n) | lg.unique(n, axis=0) | lg.histogramdd(x, 2) |
lg.searchsorted(lg.sort(x), x) | lg.gradient(x) | lg.tensor_split(x, 2) | x.clone().fill_diagonal_(0.0).lerp_(x, 0.5)
""".split("|")


def test_on_cuda():
    x = np.linspace(-1.3, 2.2, 6, dtype="float32").reshape(2, 3)
    n = np.asarray([[0, 2, 1], [6, 4, 4]])
    for call in ON_CUDA:
        given = [{"lg": lg, "x": lg.asarray(x, device=d), "n": lg.asarray(n, device=d)} for d in ("cpu", "cuda")]
        ours, theirs = (list(_tensors(eval(call.strip(), scope))) for scope in given)
        assert all(y.device.type == "cuda" for y in theirs)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(force=True), rtol=1e-6, err_msg=call)


def _tensors(value):
    if isinstance(value, lg.Tensor):
        yield value
    else:
        for part in value:
            yield from _tensors(part)
