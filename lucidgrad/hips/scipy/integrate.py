"""Ordinary differential equations, differentiated by the adjoint equation."""

from typing import Any

import scipy.integrate as _source

from .. import numpy as np
from ..differential_operators import make_vjp
from ..extend import defvjp_argnums, primitive
from ..misc.flatten import flatten

__all__ = ["odeint"]


def _integrated(func: Any, y0: Any, t: Any, func_args: tuple[Any, ...] = (), **options: Any) -> Any:
    return _source.odeint(func, y0, t, args=tuple(func_args), **options)


odeint = primitive(_integrated)
odeint.__name__ = odeint.__qualname__ = "odeint"
odeint.__doc__ = """The solution of ``dy/dt = func(y, t, *func_args)`` at the times t, from y0 at the first of them.

Examples
--------
>>> import lucidgrad.hips.numpy as np
>>> from lucidgrad.hips import grad
>>> from lucidgrad.hips.scipy.integrate import odeint
>>> end = lambda rate: odeint(lambda y, t, rate: -rate * y, np.array([1.0]), np.array([0.0, 1.0]), (rate,))[-1, 0]
>>> round(float(grad(end)(2.0)), 5)  # of exp(-rate)
-0.13534
"""


def _pulled(argnums: Any, ans: Any, args: Any, options: dict[str, Any]) -> Any:
    """Backwards in time go the state, its cotangent, and the sum of what the other arguments are due."""
    func, _, t = args[:3]
    func_args = tuple(args[3]) if len(args) > 3 else ()
    flat_args, unflatten = flatten(func_args)
    size = np.shape(ans)[1]

    def of_vector(y: Any, t: Any, flat: Any) -> Any:
        return np.reshape(func(y, t, *unflatten(flat)), (size,))

    def backwards(state: Any, minus_t: Any, flat: Any) -> Any:
        y, u = state[:size], state[size : 2 * size]
        pull, dy = make_vjp(lambda x: of_vector(x[0], -minus_t, x[1]))((y, flat))
        return np.concatenate([-dy, *pull(u)])

    def vjp(g: Any) -> Any:
        u, due = g[-1], np.zeros(np.shape(flat_args))
        times: list[Any] = []
        for i in range(len(ans) - 1, 0, -1):
            here = np.dot(of_vector(ans[i], t[i], flat_args), g[i])  # what a later time is due
            times.append(here)
            start = np.concatenate([ans[i], u, due])
            states = odeint(backwards, start, np.array([-t[i], -t[i - 1]]), (flat_args,), **options)
            u, due = states[1, size : 2 * size] + g[i - 1], states[1, 2 * size :]
        first = -np.dot(of_vector(ans[0], t[0], flat_args), u - g[0])
        by_number = {1: u, 2: np.array([first, *times[::-1]]), 3: unflatten(due)}
        return tuple(by_number.get(number) for number in argnums)

    return vjp


defvjp_argnums(odeint, _pulled)
