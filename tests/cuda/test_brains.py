"""bfloat16 on CUDA: every pattern of bits, launches, kernels that take it, and planted faults."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import cudasim

ml_dtypes = pytest.importorskip("ml_dtypes")
bf16 = lg.bfloat16
lg.zeros(1, device="cuda")  # loads the back end

from kernels.cases import CASES  # noqa: E402  these need it
from kernels.comparison import compare  # noqa: E402

from lucidgrad.backends.cuda import bfloat16 as brains  # noqa: E402
from lucidgrad.core.primitive import registry  # noqa: E402


def every_number():
    """All that 16 bits hold, but for signalling NaN, which arithmetic makes quiet ones of."""
    bits = np.arange(65536, dtype=np.uint16)
    loud = ((bits & 0x7FFF) > 0x7F80) & ((bits & 0x40) == 0)
    return bits[~loud].view(ml_dtypes.bfloat16)


def halves_and_more():
    """Numbers of float32 on, beside and between those of bfloat16: ties and near ties, infinities, NaN."""
    high = np.asarray([*range(0, 65536, 37), 0x7F80, 0x7FFF, 0xFFFF], dtype=np.uint32) << 16
    low = np.asarray([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], dtype=np.uint32)
    found = (high[:, None] | low).reshape(-1).view(np.float32)
    return found[~(np.abs(found) < np.finfo(np.float32).tiny) | (found == 0)]


def check_bits():
    """Reading and writing in a generated kernel: the identity that computes, and a product that has to round."""
    x = every_number()
    with np.errstate(all="ignore"):
        kept = np.abs(x.astype("float32")) >= np.finfo(np.float32).tiny  # -ftz: CuPy's option
    kept |= ~np.isfinite(x.astype("float32")) | (x == 0)
    y = registry["multiply"].op(lg.tensor(x, device="cuda"), 1.0).numpy(force=True)
    np.testing.assert_array_equal(y[kept].view(np.uint16), x[kept].view(np.uint16))
    wide = halves_and_more()
    base = np.ones(wide.shape, ml_dtypes.bfloat16)
    made = brains.elementwise_kernel(_product(), (True, False), low=True)
    import cupy

    found = made(cupy.asarray(base).view("uint16"), cupy.asarray(wide)).get().view(ml_dtypes.bfloat16)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found.astype("float32"), wide.astype(ml_dtypes.bfloat16).astype("float32"))


def _product():
    """The kernel of a product of two arrays of float32."""
    from lucidgrad.backends import codegen

    x = np.ones(1, "float32")
    return codegen.forward_kernel(registry["multiply"], np.ndarray, (x, x), {})


def test_every_pattern_of_bits():
    check_bits()


@pytest.mark.parametrize(
    ("old", "new"),
    [("0x7fffu", "0x8000u"), ("b >> 16 & 1u", "0u"), ("> 0x7f800000u", "> 0x7fffffffu"), ("<< 16", "<< 15")],
)
def test_a_planted_fault_is_found(monkeypatch, old, new):
    assert old in brains._HELPERS
    wrong = f"// {old} {new}\n" + brains._HELPERS.replace(old, new, 1)
    monkeypatch.setattr(brains, "_HELPERS", wrong)
    monkeypatch.setitem(registry["multiply"].kernels, brains.Brain, None)
    registry["multiply"].kernels.pop(brains.Brain)
    by_dtype = registry["multiply"].by_dtype.pop(brains.Brain, None)
    try:
        with pytest.raises(AssertionError):
            check_bits()
    finally:
        registry["multiply"].kernels.pop(brains.Brain, None)
        registry["multiply"].by_dtype.pop(brains.Brain, None)
        if by_dtype is not None:
            registry["multiply"].by_dtype[brains.Brain] = by_dtype


@pytest.mark.parametrize("name", sorted(set(CASES) & brains._NATIVE))
def test_kernels_written_by_hand(name):
    for case in CASES[name]:
        if not case.large:
            compare(name, case, "bfloat16")


def tensors(*shapes):
    lg.manual_seed(0)
    return [lg.rand(*shape, device="cuda").to(bf16).requires_grad_() for shape in shapes]


CALLS = {
    "x * y": (lambda x, y: x * y, [(4, 8), (4, 8)], 1, 1),
    "gelu": (lg.gelu, [(4, 8)], 1, 1),
    "x * 2.5 + 1": (lambda x: x * 2.5 + 1, [(4, 8)], 2, 1),
    "where": (lambda x: lg.where(x > 0.5, x, 0.0), [(4, 8)], 2, 1),
    "matmul": (lg.matmul, [(4, 8), (8, 3)], 1, 2),
    "concat": (lambda x, y: lg.concat([x, y]), [(4, 8), (4, 8)], 2, 0),
    "convolution": (lambda x, w: lg.nn.functional.conv1d(x, w), [(2, 3, 9), (2, 3, 3)], 1, 2),
    "max pool": (lambda x: lg.nn.functional.max_pool1d(x, 2), [(2, 3, 8)], 1, 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_launches(name):
    """No casts to float32 and back."""
    call, shapes, forth, back = CALLS[name]
    xs = tensors(*shapes)
    for _ in range(2):
        with cudasim.counting() as there:
            y = call(*xs)
        g = lg.ones_like(y)
        with cudasim.counting() as home:
            lg.autograd.grad(y, xs, g)
    assert y.dtype == bf16
    assert sum(there.launches.values()) == forth, there.launches
    assert sum(home.launches.values()) <= back, home.launches


def test_steps_clipping_and_linear_layers():
    xs = tensors((4, 8), (3,))
    for x in xs:
        x.grad = lg.ones_like(x).detach() * 4
    optimizer = lg.optim.AdamW(xs, lr=0.1)
    for _ in range(3):
        with cudasim.counting() as step:
            optimizer.step()
        with cudasim.counting() as clip:
            norm = lg.nn.utils.clip_grad_norm_(xs, 1.0)
    assert sum(step.launches.values()) == 1 and sum(clip.launches.values()) <= 4, (step.launches, clip.launches)
    assert norm.dtype == bf16 and norm.item() == pytest.approx(1.0, rel=1e-2)
    layer, x = lg.nn.Linear(8, 3).to("cuda", bf16), xs[0].detach()
    for _ in range(2):
        with cudasim.counting() as found:
            y = layer(x)
    assert y.dtype == bf16 and sum(found.launches.values()) == 2, found.launches


def test_mixed_with_wider_arrays_and_several_devices():
    x, wide = tensors((2, 3))[0], lg.rand(2, 3, device="cuda").requires_grad_()
    y = x * wide + lg.where(wide > 0.5, x, 0.0)
    y.sum().backward()
    assert y.dtype == lg.float32 and x.grad.dtype == bf16 and wide.grad.dtype == lg.float32
    expected = wide.detach().cpu() + (wide.detach().cpu() > 0.5).float()
    np.testing.assert_allclose(x.grad.float().numpy(force=True), expected.numpy(), rtol=2**-7)
    if lg.cuda.device_count() > 1:
        there = x.detach().to("cuda:1")
        assert str((there * 2 @ there.mT).device) == "cuda:1"


def test_training_under_autocast():
    lg.manual_seed(0)
    model = lg.nn.Sequential(lg.nn.Linear(3, 16), lg.nn.Tanh(), lg.nn.Linear(16, 1)).to("cuda")
    step, x = lg.optim.SGD(model.parameters(), lr=0.1), lg.randn(32, 3, device="cuda")
    losses = []
    for _ in range(30):
        step.zero_grad()
        with lg.autocast("cuda", dtype=bf16):
            loss = lg.nn.functional.mse_loss(model(x), x.sum(-1, keepdim=True))
        loss.backward()
        step.step()
        losses.append(loss.item())
    assert model[0].weight.grad.dtype == lg.float32 and losses[-1] < 0.3 * losses[0]
