"""A test of this installation, in seconds: gradients against finite differences, and devices against the CPU.

A case is a function of tensors with one number as its value. Its gradient is compared, along a random direction, with
the difference of two values; where a device has no float64, with the CPU's alone.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import lucidgrad as lg
from lucidgrad.nn import functional as F

__all__ = ["CASES", "DEVICES", "SLOW_TO_BEGIN", "Case", "Outcome", "check", "unusable"]

DEVICES = ("cpu", "cuda", "torch", "jax", "dask", "strict")
#: Libraries that compile every operation when it is first met, which takes a minute for all cases.
SLOW_TO_BEGIN = ("jax",)

STEP = 1e-6  # of finite differences
#: How much a gradient may differ, in parts of its size: from finite differences, and from the CPU's by dtype.
FROM_DIFFERENCES = 1e-6
FROM_CPU = {"float64": 1e-8, "float32": 1e-3}


class Case(NamedTuple):
    """A function and the shapes of its arguments; ``brief``: enough of it for a device that is slow to begin."""

    name: str
    function: Callable[..., Any]
    shapes: Sequence[tuple[int, ...]]
    brief: bool = False


class Outcome(NamedTuple):
    """What became of a case on a device: ``"right"``, ``"refused"`` (the library lacks it), or ``"wrong"``, and why."""

    case: str
    verdict: str
    reason: str = ""


# -- the cases -----------------------------------------------------------------------------------
def _elementwise(x: Any, y: Any) -> Any:
    return (lg.tanh(x) * lg.exp(-x * x) + lg.log1p(y * y) / (2 + lg.sin(y)) + lg.sqrt(1 + x * x)).sum()


def _products(x: Any, y: Any, z: Any) -> Any:
    return lg.tanh(lg.einsum("bij,jk->bik", x, y) @ z).sum()


def _reductions(x: Any) -> Any:
    return x.std() + lg.logsumexp(x, axis=0).sum() + lg.amax(x, axis=1).mean()


def _places(x: Any) -> Any:
    i = lg.asarray([3, 0, 3, 1], device=x.device)  # a place twice: gradients add up
    return (x[i] * lg.exp(x[1:, ::2]).sum()).sum() + lg.where(x > 0, x, x * x).sum()


def _written(x: Any, y: Any) -> Any:
    z = 3 * x
    z[1:3] = y
    z *= 2
    return (z * z).sum()


def _scans(x: Any) -> Any:
    weights = lg.arange(x.size, dtype=x.dtype, device=x.device)
    return (lg.cumulative_sum(x) * lg.sort(x) * weights).sum()


def _classes(x: Any) -> Any:
    return F.cross_entropy(x, lg.asarray([2, 0, 1, 2], device=x.device)) + lg.log_softmax(x, axis=0).mean()


def _convolutions(x: Any, w: Any, b: Any) -> Any:
    return (F.max_pool2d(F.gelu(F.conv2d(x, w, b, padding=1)), 2) ** 2).mean()


def _attention(q: Any, k: Any, v: Any) -> Any:
    return (F.scaled_dot_product_attention(q, k, v) ** 2).sum()


def _matrices(x: Any, y: Any) -> Any:
    a = x @ x.mT + 4 * lg.eye(x.shape[0], dtype=x.dtype, device=x.device)
    return lg.linalg.solve(a, y).sum() + lg.linalg.slogdet(a)[1] + lg.linalg.cholesky(a).sum()


def _spectrum(x: Any) -> Any:
    return (lg.abs(lg.fft.rfft(x)) ** 2 * lg.arange(5, dtype=x.dtype, device=x.device)).sum()


def _recurrent(x: Any, h: Any, w: Any, u: Any) -> Any:
    for step in lg.unstack(x):
        h = lg.tanh(step @ w + h @ u)
    return (h * h).sum()


def _second(x: Any, w: Any) -> Any:
    slope: Any = lg.autograd.grad(lg.tanh(x @ w).sum(), x, create_graph=True)[0]
    return (slope * slope).sum()


def _transformed(x: Any, t: Any) -> Any:
    def energy(row: Any) -> Any:
        return (lg.tanh(row) ** 2).sum()

    slopes: Any = lg.func.vmap(lg.func.grad(energy))(x)
    return (slopes * lg.func.jvp(lg.exp, (x,), (t,))[1]).sum()


def _large(x: Any, w: Any, b: Any) -> Any:
    return (F.gelu(lg.softmax(F.layer_norm(x, x.shape[1:], w, b), axis=-1) * 8) * lg.exp(lg.sin(x))).sum()


CASES = (
    Case("elementwise functions", _elementwise, [(3, 4), (4,)], brief=True),
    Case("products of matrices", _products, [(2, 3, 4), (4, 2), (2, 3)], brief=True),
    Case("reductions", _reductions, [(4, 5)], brief=True),
    Case("indexing", _places, [(5, 6)]),
    Case("writing in place", _written, [(4, 3), (2, 3)], brief=True),
    Case("scans and sorting", _scans, [(7,)]),
    Case("classification", _classes, [(4, 3)]),
    Case("convolution and pooling", _convolutions, [(2, 3, 6, 6), (4, 3, 3, 3), (4,)]),
    Case("attention", _attention, [(2, 5, 4), (2, 6, 4), (2, 6, 3)]),
    Case("linear algebra", _matrices, [(4, 4), (4, 2)]),
    Case("Fourier transform", _spectrum, [(8,)]),
    Case("a recurrence", _recurrent, [(5, 2, 3), (2, 4), (3, 4), (4, 4)]),
    Case("a gradient of a gradient", _second, [(5, 3), (3, 2)], brief=True),
    Case("vmap, and forward mode", _transformed, [(4, 3), (4, 3)]),
    Case("large arrays", _large, [(300, 300), (300,), (300,)]),
)


# -- what is checked -----------------------------------------------------------------------------
def unusable(device: str) -> str:
    """Why a device can't be used here; an empty text if it can."""
    try:
        lg.ones(1, device=device)
    except (ImportError, RuntimeError) as error:
        return str(error).removeprefix(f"device '{device}' can't be used: ")
    return ""


def check(device: str, brief: bool = False) -> Iterator[Outcome]:
    """The outcome of each case on a device."""
    dtype = _widest(device)
    for number, case in enumerate(CASES):
        if brief and not case.brief:
            continue
        try:
            outcome = _outcome(case, number, device, dtype)
        except lg.DeviceError as error:
            outcome = Outcome(case.name, "refused", str(error))
        except Exception as error:
            outcome = Outcome(case.name, "wrong", f"{type(error).__name__}: {error}")
        yield outcome


def _widest(device: str) -> Any:
    """The widest floating-point dtype of a device: JAX has float64 only where it is asked for."""
    return lg.ones(1, dtype=lg.float64, device="cpu").to(device).dtype


def _outcome(case: Case, number: int, device: str, dtype: Any) -> Outcome:
    xs, direction = _arguments(case, number)
    if device == "cpu":
        _, *gradients = _gradients(case, xs, device, dtype)
        slope = sum(float((g * t).sum()) for g, t in zip(gradients, direction, strict=True))
        ends = [_value(case, [x + h * t for x, t in zip(xs, direction, strict=True)]) for h in (STEP, -STEP)]
        measured = (ends[0] - ends[1]) / (2 * STEP)
        size = sum(float((g * g).sum()) for g in gradients) ** 0.5
        if not abs(slope - measured) <= FROM_DIFFERENCES * (1 + size):
            return Outcome(case.name, "wrong", f"the gradient gives a slope of {slope:.6g}, differences {measured:.6g}")
        return Outcome(case.name, "right")
    expected = _gradients(case, xs, "cpu", dtype)
    for n, (a, b) in enumerate(zip(_gradients(case, xs, device, dtype), expected, strict=True)):
        off = float((a.cpu() - b).abs().max())
        if not off <= FROM_CPU[str(dtype)] * (1 + float(b.abs().max())):
            what = f"gradient {n}" if n else "the value"
            return Outcome(case.name, "wrong", f"{what} differs from the CPU's by {off:.2g}")
    return Outcome(case.name, "right")


def _arguments(case: Case, number: int) -> tuple[list[Any], list[Any]]:
    """Arguments and a direction, the same in every run; the random numbers of others are not touched."""
    drawn = lg.Generator().manual_seed(number)
    made = [
        [lg.randn(*shape, generator=drawn, dtype=lg.float64, device="cpu") for shape in case.shapes] for _ in range(2)
    ]
    return made[0], made[1]


def _value(case: Case, xs: Sequence[Any]) -> float:
    return float(case.function(*(x.detach().requires_grad_() for x in xs)))


def _gradients(case: Case, xs: Sequence[Any], device: str, dtype: Any) -> list[Any]:
    """The value and the gradients of all arguments."""
    leaves = [x.to(dtype).to(device).detach().requires_grad_() for x in xs]
    y = case.function(*leaves)
    found = lg.autograd.grad(y, leaves, materialize_grads=True)
    return [y.detach(), *found]
