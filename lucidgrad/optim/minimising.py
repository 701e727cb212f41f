"""SciPy's minimisers on functions of tensors, with exact derivatives."""

import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.func import trees

#: Methods that take no gradient, and those that take Hessians, as products or whole.
_WITHOUT_GRADIENT = frozenset({"nelder-mead", "powell", "cobyla", "cobyqa"})
_PRODUCTS = frozenset({"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"})
_WHOLE = frozenset({"dogleg", "trust-exact"})


def minimize_scipy(
    f: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str | None = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
    *,
    argnums: int | Sequence[int] | None = None,
) -> Any:
    """Minimise a function of tensors by `scipy.optimize.minimize`, with exact gradients and Hessian products.

    Parameters
    ----------
    f
        ``f(x, *args)`` is a tensor of one element, or a number made from one.
    x0
        Where to begin: a tensor, or a tree of tensors. SciPy works in float64, and so does ``f``: it is called with
        float64 (or complex128) tensors on the devices of x0.
    args
        Further arguments.
    method
        One of SciPy's methods. ``Newton-CG``, ``trust-ncg``, ``trust-krylov`` and ``trust-constr`` get Hessian
        products, ``dogleg`` and ``trust-exact`` the whole Hessian, all but those without derivatives the gradient.
    bounds
        ``(low, high)``, each None, a number, a tensor or a tree like x0; or what SciPy takes, for all elements in
        order.
    constraints
        As SciPy's, with functions of the same tree as ``f``'s: their Jacobians are exact. A ``LinearConstraint`` is on
        all elements in order.
    tol, options
        SciPy's.
    callback
        Called after each iteration with the tree, or with ``intermediate_result`` if that is its parameter's name.
    argnums
        With it x0 is a tuple of all arguments of ``f``, and those of these numbers are varied; ``x`` of the result is
        the value of the one, or a tuple of them.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's, in which ``x`` is like x0: the same tree, dtypes and devices.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> def rosenbrock(x):
    ...     return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    >>> found = lg.optim.minimize_scipy(rosenbrock, lg.tensor([-1.0, 2.0]), method="trust-ncg")
    >>> [round(v, 5) for v in found.x.tolist()]
    [1.0, 1.0]
    """
    try:
        optimize = importlib.import_module("scipy.optimize")
    except ImportError as error:
        raise ImportError("minimize_scipy needs SciPy, which is not installed: pip install scipy") from error
    pick: Callable[[Any], tuple[Any, ...]] = lambda x: (x, *args)
    if argnums is not None:
        x0, pick = _vary(tuple(x0), argnums, args)
    space = _Space(x0)
    objective = _Function(space, lambda x: f(*pick(x)))
    name = "" if method is None else method.lower()
    derivatives: dict[str, Any] = {}
    if name not in _WITHOUT_GRADIENT:
        derivatives["jac"] = True
    if name in _PRODUCTS:
        derivatives["hessp"] = objective.product
    elif name in _WHOLE:
        derivatives["hess"] = objective.hessian
    given = constraints if isinstance(constraints, (list, tuple)) else [constraints]
    found = optimize.minimize(
        objective.value_and_gradient if "jac" in derivatives else objective.value,
        space.vector(space.start),
        method=method,
        bounds=_bounds(optimize, space, x0, bounds),
        constraints=[_constraint(optimize, space, c, pick) for c in given],
        tol=tol,
        callback=None if callback is None else _told(callback, space),
        options=options,
        **derivatives,
    )
    found.x = space.result(found.x)
    return found


def _vary(x0: tuple[Any, ...], argnums: int | Sequence[int], args: tuple[Any, ...]) -> tuple[Any, Callable[..., Any]]:
    """The arguments that are varied, and how all arguments come from them."""
    single = isinstance(argnums, int)
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    places = [range(len(x0))[n] for n in numbers]

    def pick(x: Any) -> tuple[Any, ...]:
        every = list(x0)
        for place, value in zip(places, [x] if single else x, strict=True):
            every[place] = value
        return (*every, *args)

    return (x0[places[0]] if single else tuple(x0[place] for place in places)), pick


class _Space:
    """Trees of tensors like one, as vectors of float64; complex numbers are two entries."""

    def __init__(self, x0: Any) -> None:
        leaves, self.shape = trees.flatten(x0)
        if not leaves:
            raise ValueError("minimize_scipy: given an x0 without tensors, expected one or a tree of some")
        self.leaves = [x if isinstance(x, lg.Tensor) else lg.tensor(x) for x in leaves]
        self.is_complex = [lg.isdtype(x.dtype, "complex floating") for x in self.leaves]
        for x in self.leaves:
            if not lg.isdtype(x.dtype, ("real floating", "complex floating")):
                raise TypeError(f"minimize_scipy: given an x0 of dtype {x.dtype}, expected floating-point numbers")
        self.sizes = [
            int(x.size) * (1 + is_complex) for x, is_complex in zip(self.leaves, self.is_complex, strict=True)
        ]
        self.start = [x.detach() for x in self.leaves]

    def vector(self, leaves: Sequence[Any]) -> Any:
        """Leaves as a NumPy vector."""
        parts = []
        for x, like, is_complex in zip(leaves, self.leaves, self.is_complex, strict=True):
            x = lg.zeros(like.shape, dtype=lg.complex128 if is_complex else lg.float64) if x is None else x.detach()
            x = x.cpu().reshape(-1)
            parts.append((lg.stack([lg.real(x), lg.imag(x)], axis=1) if is_complex else x).reshape(-1).to(lg.float64))
        return lg.concat(parts).numpy()

    def tensors(self, vector: Any) -> list[Any]:
        """The leaves that a vector means, in double precision on the devices of x0."""
        flat, start, found = lg.tensor(vector, dtype=lg.float64), 0, []
        for like, size, is_complex in zip(self.leaves, self.sizes, self.is_complex, strict=True):
            part = flat[start : start + size]
            if is_complex:
                pairs = part.reshape(-1, 2)
                part = pairs[:, 0] + 1j * pairs[:, 1]
            found.append(part.reshape(like.shape).to(like.device).detach().clone())
            start += size
        return found

    def tree(self, leaves: Sequence[Any]) -> Any:
        return trees.unflatten(self.shape, leaves)

    def result(self, vector: Any) -> Any:
        """The tree that a vector means, in the dtypes of x0."""
        return self.tree([x.to(like.dtype) for x, like in zip(self.tensors(vector), self.leaves, strict=True)])


class _Function:
    """A function of a tree as SciPy calls it: of a vector, with derivatives. The last graph is kept."""

    def __init__(self, space: _Space, f: Callable[[Any], Any]) -> None:
        self.space, self.f = space, f
        self._at: Any = None
        self._leaves: list[Any] = []
        self._grads: list[Any] = []

    def _evaluated(self, vector: Any, record: bool = True) -> Any:
        self._leaves = self.space.tensors(vector)
        for x in self._leaves:
            x.requires_grad_(record)
        with lg.set_grad_enabled(record):
            y = self.f(self.space.tree(self._leaves))
        return y if isinstance(y, lg.Tensor) else lg.tensor(y, dtype=lg.float64)

    def _scalar(self, vector: Any, record: bool = True) -> Any:
        y = self._evaluated(vector, record)
        if y.size != 1 or lg.isdtype(y.dtype, "complex floating"):
            raise ValueError(
                f"minimize_scipy: the function returned shape {y.shape} and dtype {y.dtype}, expected one real number"
            )
        return y.reshape(())

    def value(self, vector: Any) -> float:
        return float(self._scalar(vector, record=False).item())

    def value_and_gradient(self, vector: Any) -> tuple[float, Any]:
        y = self._scalar(vector)
        grads = lg.autograd.grad(y, self._leaves, allow_unused=True) if y.requires_grad else [None] * len(self._leaves)
        return float(y.item()), self.space.vector(grads)

    # -- second derivatives
    def _gradient_graph(self, vector: Any) -> None:
        """Gradients with a history, made once for all products at a place."""
        key = vector.tobytes()
        if key == self._at:
            return
        y = self._scalar(vector)
        if y.requires_grad:
            self._grads = list(lg.autograd.grad(y, self._leaves, create_graph=True, allow_unused=True))
        else:
            self._grads = [None] * len(self._leaves)
        self._held = self._leaves
        self._at = key

    def product(self, vector: Any, p: Any) -> Any:
        """The Hessian times a vector."""
        self._gradient_graph(vector)
        pairs = [
            (g, t.conj() if is_complex else t)
            for g, t, is_complex in zip(self._grads, self.space.tensors(p), self.space.is_complex, strict=True)
            if g is not None and g.requires_grad
        ]
        if not pairs:
            return self.space.vector([None] * len(self._held))
        slope: Any = sum(
            [lg.real(g * t).sum() if lg.isdtype(g.dtype, "complex floating") else (g * t).sum() for g, t in pairs]
        )
        return self.space.vector(lg.autograd.grad(slope, self._held, retain_graph=True, allow_unused=True))

    def hessian(self, vector: Any) -> Any:
        """The whole Hessian, column by column."""
        unit = lg.eye(len(vector), dtype=lg.float64).numpy()
        rows = [lg.from_numpy(self.product(vector, row)) for row in unit]
        return lg.stack(rows).numpy()


class _Vector(_Function):
    """A function of a tree with several results, and its Jacobian."""

    def values(self, vector: Any) -> Any:
        return self._evaluated(vector, record=False).detach().cpu().to(lg.float64).reshape(-1).numpy()

    def jacobian(self, vector: Any) -> Any:
        y = self._evaluated(vector).reshape(-1)
        rows = []
        for k in range(int(y.size)):
            grads: list[Any] = [None] * len(self._leaves)
            if y.requires_grad:
                grads = list(lg.autograd.grad(y[k], self._leaves, retain_graph=True, allow_unused=True))
            rows.append(lg.from_numpy(self.space.vector(grads)))
        return lg.stack(rows).numpy() if rows else lg.zeros(0, len(vector), dtype=lg.float64).numpy()

    def hessian_for(self, vector: Any, weights: Any) -> Any:
        """The Hessian of a weighted sum of the results."""
        inner = self.f

        def weighted(x: Any) -> Any:
            y = inner(x)
            return (y.reshape(-1) * lg.tensor(weights, dtype=lg.float64, device=y.device)).sum()

        return _Function(self.space, weighted).hessian(vector)


def _constraint(optimize: Any, space: _Space, given: Any, pick: Callable[[Any], tuple[Any, ...]]) -> Any:
    """A constraint on trees as one on vectors, with its derivatives."""
    if isinstance(given, dict):
        more = given.get("args", ())
        made = _Vector(space, lambda x: given["fun"](x, *more))
        return {"type": given["type"], "fun": made.values, "jac": made.jacobian}
    if isinstance(given, optimize.NonlinearConstraint):
        made = _Vector(space, given.fun)
        return optimize.NonlinearConstraint(
            made.values,
            given.lb,
            given.ub,
            jac=made.jacobian,
            hess=made.hessian_for,
            keep_feasible=given.keep_feasible,
        )
    if isinstance(given, optimize.LinearConstraint):
        return given
    raise TypeError(
        f"minimize_scipy: given a constraint of type {type(given).__name__}, expected a dict, a NonlinearConstraint or "
        f"a LinearConstraint"
    )


def _bounds(optimize: Any, space: _Space, x0: Any, bounds: Any) -> Any:
    """Bounds as SciPy takes them."""
    sides = isinstance(bounds, tuple) and len(bounds) == 2 and all(_is_side(side, space, x0) for side in bounds)
    if not sides:
        return bounds
    flat = []
    for side, nothing in zip(bounds, (-float("inf"), float("inf")), strict=True):
        side = nothing if side is None else side
        values = trees.flatten(side)[0] if trees.flatten(side)[1] == space.shape else [side] * len(space.leaves)
        leaves = []
        for value, like, is_complex in zip(values, space.leaves, space.is_complex, strict=True):
            if is_complex:
                raise TypeError("minimize_scipy: given bounds for complex numbers, which have no order")
            value = lg.asarray(nothing if value is None else value, dtype=lg.float64)
            leaves.append(lg.broadcast_to(value.cpu(), like.shape))
        flat.append(space.vector(leaves))
    return optimize.Bounds(*flat)


def _is_side(side: Any, space: _Space, x0: Any) -> bool:
    if side is None or isinstance(side, (int, float, lg.Tensor)):
        return True
    return not isinstance(x0, lg.Tensor) and trees.flatten(side)[1] == space.shape


def _told(callback: Callable[..., Any], space: _Space) -> Callable[..., Any]:
    """The caller's function, which hears of trees."""
    if list(inspect.signature(callback).parameters) == ["intermediate_result"]:

        def with_result(intermediate_result: Any) -> Any:
            told = type(intermediate_result)(intermediate_result)
            told.x = space.result(intermediate_result.x)
            return callback(intermediate_result=told)

        return with_result
    return lambda x, *rest: callback(space.result(x), *rest)
