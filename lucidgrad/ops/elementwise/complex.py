"""Modulus and sign, and the parts of complex numbers.

Rules are plain transposes: a cotangent ``c`` stands for the change ``Re(c * dx)``, so the rules of real
and complex inputs can be read off the differential. What isn't holomorphic has a forward rule of its own.
"""

from typing import Any

from lucidgrad.core.dispatch import complexes
from lucidgrad.core.primitive import ELEMENTWISE, LINEAR, primitive

from .copies import itself


# -- parts ---------------------------------------------------------------------------------------
@primitive(LINEAR, vjp=lambda xp, g: g, batch=itself, view=True, dtype="real")
def real(xp: Any, x: Any, /) -> Any:
    """Real part.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0 + 2.0j], requires_grad=True)
    >>> lg.real(x * x).sum().backward()
    >>> x.grad.tolist()
    [(2-4j)]
    """
    return xp.real(x)


def _imag_vjp(xp: Any, g: Any, x_meta: Any) -> Any:
    return xp.astype(g, dtype=x_meta.dtype) * -1j if x_meta.dtype in complexes else xp.zeros_like(g)


@primitive(LINEAR, vjp=_imag_vjp, batch=itself, view=True, dtype="real")
def imag(xp: Any, x: Any, /) -> Any:
    """Imaginary part.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0 + 2.0j], requires_grad=True)
    >>> lg.imag(x * x).sum().backward()
    >>> x.grad.tolist()
    [(4+2j)]
    """
    return xp.imag(x)


@primitive(LINEAR, vjp=lambda xp, g: xp.conj(g), batch=itself)
def conj(xp: Any, x: Any, /) -> Any:
    """Complex conjugate.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0 + 2.0j], requires_grad=True)
    >>> lg.real(x * lg.conj(x)).sum().backward()
    >>> x.grad.tolist()
    [(2+4j)]
    """
    return xp.conj(x)


def _angle_vjp(xp: Any, g: Any, x: Any) -> Any:
    if x.dtype not in complexes:
        return xp.zeros_like(g)
    return xp.where(x == 0, 0, xp.unscale(xp.astype(g, dtype=x.dtype) * -1j, x))


def _angle_jvp(xp: Any, y: Any, xs: Any, ts: Any) -> Any:
    (x,), (t,) = xs, ts
    return xp.imag(xp.where(x == 0, 0, xp.unscale(t, x))) if x.dtype in complexes else xp.zeros_like(y)


@primitive(ELEMENTWISE, vjp=_angle_vjp, jvp=_angle_jvp, dtype="real")
def angle(xp: Any, x: Any, /) -> Any:
    """Angle of a complex number with the positive real axis; its derivative at zero is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0 + 1.0j], requires_grad=True)
    >>> lg.angle(x).sum().backward()
    >>> x.grad.tolist()
    [(-0.5+0.5j)]
    """
    if x.dtype in complexes:
        return xp.atan2(xp.imag(x), xp.real(x))
    return xp.atan2(xp.zeros_like(x), x)


# -- modulus and sign ----------------------------------------------------------------------------
def _abs_vjp(xp: Any, g: Any, x: Any) -> Any:
    return g * (xp.conj(xp.sign(x)) if x.dtype in complexes else xp.sign(x))


def _abs_jvp(xp: Any, y: Any, xs: Any, ts: Any) -> Any:
    t = _abs_vjp(xp, ts[0], xs[0])
    return xp.real(t) if t.dtype in complexes else t


@primitive(ELEMENTWISE, vjp=_abs_vjp, jvp=_abs_jvp, dtype="real")
def abs(xp: Any, x: Any, /) -> Any:
    """Absolute value; its derivative at zero is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    >>> lg.abs(x).sum().backward()
    >>> x.grad.tolist()
    [-1.0, 0.0, 1.0]
    """
    return xp.abs(x)


@primitive(
    ELEMENTWISE,
    vjp=(lambda xp, g, y, x1: xp.unscale(xp.scale(g, x1), y), lambda xp, g, y, x2: xp.unscale(xp.scale(g, x2), y)),
    dtype="float",
    real=True,
)
def hypot(xp: Any, x1: Any, x2: Any, /) -> Any:
    """``sqrt(x1**2 + x2**2)`` without overflow; its derivatives at (0, 0) are zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 3.0], requires_grad=True)
    >>> lg.hypot(x, 4.0).sum().backward()
    >>> x.grad.tolist()
    [0.0, 0.6]
    """
    return xp.hypot(x1, x2)


def _sign_vjp(xp: Any, g: Any, x: Any) -> Any:
    if x.dtype not in complexes:
        return xp.zeros_like(g)
    y = xp.sign(x)
    return xp.where(x == 0, 0, xp.unscale(g - xp.real(g * y) * xp.conj(y), xp.abs(x)))


def _sign_jvp(xp: Any, y: Any, xs: Any, ts: Any) -> Any:
    (x,), (t,) = xs, ts
    if x.dtype not in complexes:
        return xp.zeros_like(t)
    return xp.where(x == 0, 0, xp.unscale(t - xp.real(xp.conj(y) * t) * y, xp.abs(x)))


@primitive(ELEMENTWISE, vjp=_sign_vjp, jvp=_sign_jvp)
def sign(xp: Any, x: Any, /) -> Any:
    """Sign: -1, 0 or 1, and ``x / abs(x)`` of a complex number; its derivative at zero is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([2.0 + 0.0j], requires_grad=True)
    >>> lg.imag(lg.sign(x)).sum().backward()
    >>> x.grad.tolist()
    [0.5j]
    """
    return xp.sign(x)


sgn = sign


@primitive(
    ELEMENTWISE,
    vjp=(lambda xp, g, y, x1: g * (xp.sign(x1) * xp.sign(y)), lambda xp, g: xp.zeros_like(g)),
    dtype="float",
    real=True,
)
def copysign(xp: Any, x1: Any, x2: Any, /) -> Any:
    """``abs(x1)`` with the sign of ``x2``; its derivative where ``x1`` is zero is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([2.0, -3.0], requires_grad=True)
    >>> lg.copysign(x, -1.0).sum().backward()
    >>> x.grad.tolist()
    [-1.0, 1.0]
    """
    return xp.copysign(x1, x2)
