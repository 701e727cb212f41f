"""Numbers taken apart and put together: fraction, mantissa and exponent, real and imaginary part, common divisors."""

import math
from collections.abc import Sequence
from typing import Any

from lucidgrad.core import dtype as dtypes
from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.core.primitive import LINEAR, primitive
from lucidgrad.levels.batching import of_one_batch
from lucidgrad.levels.layer import Layer
from lucidgrad.ops.conventions import MantissaAndExponent
from lucidgrad.ops.numbers import is_complex, is_inexact, only_real, together
from lucidgrad.ops.shape.layout import broadcast_arrays

__all__ = ["complex", "frac", "frexp", "gcd", "lcm", "ldexp", "polar", "view_as_complex", "view_as_real"]

#: The complex dtype of which a real one has a part.
_WHOLE = {"float32": "complex64", "float64": "complex128"}
_UP, _NEITHER = map(complex, ("infj", "nanj"))  # Python's: ours is defined below


# -- fraction, mantissa and exponent -------------------------------------------------------------
def frac(x: Any, /) -> Any:
    """What is left of a number without its integer part; it has the number's sign (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.5, -2.25], requires_grad=True)
    >>> y = lg.frac(x)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([0.5, -0.25], [1.0, 1.0])
    """
    only_real("frac", x)
    if not is_inexact(x.dtype):
        raise RuntimeError(f"frac: given {x.dtype}, expected floating-point numbers")
    return x - ops.trunc(x)


def ldexp(x1: Any, x2: Any, /) -> Any:
    """``x1 * 2**x2``, in two steps: so it overflows only where the result does.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.5, -2.0], requires_grad=True)
    >>> lg.ldexp(x, lg.asarray([3, -1])).sum().backward()
    >>> x.grad.tolist()
    [8.0, 0.5]
    """
    only_real("ldexp", x1, x2)
    x1, x2 = together(x1, x2)
    if not hasattr(x2, "dtype"):
        x2 = ops.asarray(x2, dtype=x1.dtype, device=x1.device)
    like = x1.dtype if not is_inexact(x2.dtype) else ops.result_type(x1, x2)
    x2 = ops.astype(x2, dtype=like)
    near = ops.trunc(x2.detach() * 0.5)
    return x1 * ops.exp2(near) * ops.exp2(x2 - near)


def frexp(x: Any, /) -> MantissaAndExponent:
    """Mantissa, from 0.5 to below 1 in size, and exponent of a number: ``x = mantissa * 2**exponent``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([3.0, 0.0], requires_grad=True)
    >>> y = lg.frexp(x)
    >>> y.mantissa.sum().backward()
    >>> y.mantissa.tolist(), y.exponent.tolist(), x.grad.tolist()
    ([0.75, 0.0], [2, 0], [0.25, 1.0])
    """
    only_real("frexp", x)
    if not is_inexact(x.dtype):
        raise RuntimeError(f"frexp: given {x.dtype}, expected floating-point numbers")
    size = ops.abs(x).detach()
    plain = ops.isfinite(size) & (size != 0)
    e = ops.where(plain, ops.floor(ops.log2(ops.where(plain, size, 1.0))) + 1, 0.0)
    m = ldexp(size, -e)
    e = ops.where(plain & (m >= 1), e + 1, ops.where(plain & (m < 0.5), e - 1, e))  # where log2 was rounded
    return MantissaAndExponent(ldexp(x, -e), ops.astype(e, dtype=dtypes.named("int32")))


# -- common divisors -----------------------------------------------------------------------------
def _integers(name: str, x1: Any, x2: Any) -> tuple[Any, Any]:
    x1, x2 = (x if hasattr(x, "dtype") else ops.asarray(x, device=o.device) for x, o in ((x1, x2), (x2, x1)))
    for x in (x1, x2):
        if "int" not in str(x.dtype):
            raise TypeError(f"{name}: given {x.dtype}, expected integers")
    return x1, x2


def gcd(x1: Any, x2: Any, /) -> Any:
    """The greatest common divisor of integers, not negative.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.gcd(lg.asarray([12, -9, 0]), lg.asarray([18, 6, 5])).tolist()
    [6, 3, 5]
    """
    x1, x2 = broadcast_arrays(*_integers("gcd", x1, x2))
    a, b = ops.abs(x1 + x2 * 0), ops.abs(x2 + x1 * 0)
    for _ in range(12 * a.dtype.itemsize):  # Euclid's steps are fewest for Fibonacci's numbers: 92 below 2**63
        if not isinstance(b.array, Layer) and not bool(ops.any(b)):
            break
        done = b == 0
        rest = ops.remainder(a, ops.where(done, 1, b))
        a, b = ops.where(done, a, b), ops.where(done, 0, rest)
    return a


def lcm(x1: Any, x2: Any, /) -> Any:
    """The least common multiple of integers, not negative.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.lcm(lg.asarray([4, -6, 0]), lg.asarray([6, 4, 5])).tolist()
    [12, 12, 0]
    """
    x1, x2 = _integers("lcm", x1, x2)
    divisor = gcd(x1, x2)
    return ops.abs(x1 // ops.where(divisor == 0, 1, divisor) * x2)


# -- real and imaginary part ---------------------------------------------------------------------
def _joined_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    return call(*of_one_batch(values, batched))


@primitive(LINEAR, vjp=(lambda xp, g: xp.real(g), lambda xp, g: -xp.imag(g)), batch=_joined_batch)
def join_parts(xp: Any, real: Any, imag: Any, /) -> Any:
    """A complex array of its parts, which have one shape and dtype; an infinite part leaves the other as it is.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.elementwise.composition import join_parts
    >>> x = lg.ones(2, requires_grad=True)
    >>> y = join_parts(x, lg.asarray([2.0, 3.0]))
    >>> lg.real(y * y).sum().backward()
    >>> x.grad.tolist()
    [2.0, 2.0]
    """
    whole = dtypes.named(_WHOLE[dtypes.plain_name(real.dtype)])
    pairs = xp.stack(real, imag, axis=-1)
    if hasattr(pairs, "flags"):  # memory that can be seen as that of another dtype
        return xp.reshape(pairs.view(whole), shape=tuple(real.shape))
    return xp.astype(real, dtype=whole) + _imaginary(xp, imag, whole)


def _imaginary(xp: Any, x: Any, whole: Any) -> Any:
    """The numbers times i, by which infinite ones and NaN don't become part of the real part."""
    y = xp.astype(xp.where(xp.isfinite(x), x, xp.zeros_like(x)), dtype=whole) * 1j
    for odd, found in ((_UP, x == math.inf), (_UP.conjugate(), x == -math.inf), (_NEITHER, xp.isnan(x))):
        y = xp.where(found, xp.full_like(y, fill_value=odd), y)
    return y


def complex(real: Any, imag: Any) -> Any:
    """Complex numbers of real and imaginary parts, which broadcast and have one dtype (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> y = lg.complex(x, lg.asarray([3.0, 4.0]))
    >>> lg.abs(y * y).sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([(1+3j), (2+4j)], [2.0, 4.0])
    """
    if real.dtype != imag.dtype or str(real.dtype) not in _WHOLE:
        raise RuntimeError(f"complex: given {real.dtype} and {imag.dtype}, expected float32 or float64 twice")
    return join_parts(*broadcast_arrays(real, imag))


def polar(abs: Any, angle: Any) -> Any:
    """Complex numbers of absolute values and angles (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> r = lg.tensor([2.0], requires_grad=True)
    >>> lg.real(lg.polar(r, lg.zeros(1))).sum().backward()
    >>> r.grad.tolist()
    [1.0]
    """
    if abs.dtype != angle.dtype or str(abs.dtype) not in _WHOLE:
        raise RuntimeError(f"polar: given {abs.dtype} and {angle.dtype}, expected float32 or float64 twice")
    return complex(abs * ops.cos(angle), abs * ops.sin(angle))


def view_as_real(x: Any, /) -> Any:
    """Real and imaginary parts along a new last axis of size 2; a copy (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0 + 2.0j], requires_grad=True)
    >>> y = lg.view_as_real(x)
    >>> y[0, 1].backward()
    >>> y.tolist(), x.grad.tolist()
    ([[1.0, 2.0]], [1j])
    """
    if not is_complex(x.dtype):
        raise RuntimeError(f"view_as_real: given {x.dtype}, expected complex numbers")
    return ops.stack(ops.real(x), ops.imag(x), axis=-1)


def view_as_complex(x: Any, /) -> Any:
    """The complex numbers whose parts the last axis, of size 2, has; a copy (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0]], requires_grad=True)
    >>> y = lg.view_as_complex(x)
    >>> lg.imag(y).sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([(1+2j)], [[0.0, 1.0]])
    """
    if x.ndim < 1 or x.shape[-1] != 2:
        raise RuntimeError(f"view_as_complex: given shape {tuple(x.shape)}, expected a last axis of size 2")
    return complex(x[..., 0], x[..., 1])
