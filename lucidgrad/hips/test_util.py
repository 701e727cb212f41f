"""Derivatives beside finite differences, as HIPS autograd's users check them."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.autograd import gradcheck
from lucidgrad.func import trees

from .differential_operators import as_tensors, make_jvp, make_vjp, of_tensors
from .vspaces import vspace
from .wrap_util import unary_to_nary

__all__ = ["check_equivalent", "check_grads", "check_jvp", "check_vjp", "combo_check", "scalar_close"]

TOL = RTOL = 1e-6


def scalar_close(a: Any, b: Any) -> bool:
    """Whether two numbers are the same to six digits."""
    return bool(abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL)


def check_equivalent(x: Any, y: Any) -> None:
    """Raise unless two trees are of one space and the same along a random direction."""
    space = vspace(x)
    if space != vspace(y):
        raise AssertionError(f"check_equivalent: given values of {space!r} and of {vspace(y)!r}")
    v = space.randn()
    a, b = space.inner_prod(x, v), space.inner_prod(y, v)
    if not scalar_close(a, b):
        raise AssertionError(f"check_equivalent: along a random direction the values are {a} and {b}")


def _check(f: Callable[[Any], Any], x: Any, **modes: bool) -> None:
    leaves, shape = trees.flatten(as_tensors(x))

    def of_leaves(*inner: Any) -> tuple[Any, ...]:
        return tuple(trees.flatten(of_tensors(f)(trees.unflatten(shape, inner)))[0])

    inputs = [leaf.clone().requires_grad_() for leaf in leaves]
    try:
        gradcheck(of_leaves, inputs, atol=TOL, rtol=RTOL, **modes)
    except RuntimeError as error:
        raise AssertionError(f"derivatives of {getattr(f, '__name__', 'the function')} are wrong: {error}") from error


def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """Raise unless reverse mode agrees with finite differences."""
    _check(f, x, check_backward_ad=True, check_forward_ad=False)


def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """Raise unless forward mode agrees with finite differences."""
    _check(f, x, check_backward_ad=False, check_forward_ad=True)


@unary_to_nary
def check_grads(f: Callable[[Any], Any], x: Any, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> None:
    """Raise unless derivatives agree with finite differences: in some modes, and up to some order.

    Examples
    --------
    >>> import lucidgrad.hips.numpy as np
    >>> from lucidgrad.hips.test_util import check_grads
    >>> check_grads(lambda x, y: np.sin(x) * y, argnum=(0, 1), modes=["rev"], order=1)(1.0, np.ones(3))
    """
    known = {"fwd": (check_jvp, _pushed), "rev": (check_vjp, _pulled)}
    if not set(modes) <= set(known):
        raise ValueError(f"check_grads: modes is {modes!r}, expected 'fwd' and 'rev'")
    for mode in modes:
        check, derivative = known[mode]
        check(f, x)
        if order > 1:
            of_pair, v = derivative(f, x)
            check_grads(of_pair, modes=modes, order=order - 1)((x, v))


def _pushed(f: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    return lambda pair: make_jvp(f)(pair[0])(pair[1])[1], vspace(x).randn()


def _pulled(f: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    return lambda pair: make_vjp(f)(pair[0])[0](pair[1]), vspace(f(x)).randn()


def combo_check(fun: Callable[..., Any], *argnums: Any, **options: Any) -> Callable[..., None]:
    """Check the derivatives for all combinations of lists of arguments; ``options`` are those of `check_grads`."""

    def check(*args: Sequence[Any], **kwargs: Sequence[Any]) -> None:
        for given in itertools.product(*args):
            for named in itertools.product(*kwargs.values()):
                check_grads(fun, *argnums, **options)(*given, **dict(zip(kwargs, named, strict=True)))

    return check
