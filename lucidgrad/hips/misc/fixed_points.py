"""Fixed points, differentiated by what they are and not by how they were found."""

from collections.abc import Callable
from typing import Any

from lucidgrad.func import trees

from ..differential_operators import make_vjp
from ..extend import defvjp, primitive
from ..vspaces import vspace

__all__ = ["fixed_point"]


@primitive
def fixed_point(f: Callable[..., Any], a: Any, x0: Any, distance: Callable[..., Any], tol: float) -> Any:
    """Where ``x = f(a)(x)``, by iteration from x0 until ``distance(x, previous)`` is below tol.

    Examples
    --------
    >>> import lucidgrad.hips.numpy as np
    >>> from lucidgrad.hips import grad
    >>> from lucidgrad.hips.misc.fixed_points import fixed_point
    >>> newton = lambda a: lambda x: 0.5 * (x + a / x)
    >>> root = lambda a: fixed_point(newton, a, 1.0, lambda x, y: np.abs(x - y), 1e-12)
    >>> round(float(grad(root)(2.0)), 6)  # 1 / (2 sqrt(2))
    0.353553
    """
    step, before = f(a), x0
    x = step(before)
    while distance(x, before) > tol:
        x, before = step(x), x
    return x


def _pulled(ans: Any, f: Callable[..., Any], a: Any, x0: Any, distance: Callable[..., Any], tol: float) -> Any:
    """A cotangent g goes to ``u = g + u df/dx``, a fixed point itself, and then to ``u df/da``."""

    def series(params: tuple[Any, Any, Any]) -> Callable[[Any], Any]:
        ans, a, g = params
        pull, _ = make_vjp(f(a))(ans)
        return lambda u: vspace(g).add(g, pull(u))

    def vjp(g: Any) -> Any:
        start = trees.map(lambda x: x * 0.0, g)
        u = fixed_point(series, (ans, a, g), start, distance, tol)
        return make_vjp(lambda a: f(a)(ans))(a)[0](u)

    return vjp


defvjp(fixed_point, None, _pulled, None)
