"""Derivatives of functions with PyTorch's older signatures; `lucidgrad.func` has the composable forms."""

from collections.abc import Callable
from typing import Any

from lucidgrad.creation import ones_like
from lucidgrad.func import jacobians, reverse
from lucidgrad.func.forward import check_tangents, jvp as _push
from lucidgrad.tensor import Tensor

from .gradient import grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Tensor | tuple[Tensor, ...]


def _tuple(value: Any, who: str) -> tuple[tuple[Tensor, ...], bool]:
    """The tensors, and whether there was a tuple."""
    several = isinstance(value, (tuple, list))
    items = tuple(value) if several else (value,)
    for item in items:
        if not isinstance(item, Tensor):
            raise TypeError(f"{who}: given a {type(item).__name__}, expected a Tensor or a tuple of them")
    return items, several


def _like(items: tuple[Any, ...], several: bool) -> Any:
    return items if several else items[0]


def _inputs(inputs: Any, create_graph: bool) -> tuple[tuple[Tensor, ...], bool]:
    xs, several = _tuple(inputs, "inputs")
    return (xs if create_graph else tuple(x.detach() for x in xs)), several


def _direction(v: Any, likes: tuple[Tensor, ...], who: str) -> tuple[Tensor, ...]:
    if v is None:
        if len(likes) != 1 or likes[0].size != 1:
            raise RuntimeError(f"{who}: v may be left out only where there is a single element")
        return (ones_like(likes[0]),)
    given, _ = _tuple(v, "v")
    if len(given) != len(likes):
        raise RuntimeError(f"{who}: v has {len(given)} tensors, expected {len(likes)}")
    check_tangents(f"{who}: v[{{}}]", likes, given)
    return given


def _outputs(func: Callable[..., Any], xs: tuple[Tensor, ...], who: str) -> tuple[tuple[Tensor, ...], bool]:
    return _tuple(func(*xs), f"{who}: the function's result")


def _released(items: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    return items if create_graph else tuple(item.detach() for item in items)


def _strictly(items: tuple[Tensor, ...], strict: bool, who: str) -> None:
    if strict and not all(item.requires_grad for item in items):
        raise RuntimeError(f"{who}: a result is independent of the inputs, which strict=True forbids")


def vjp(
    func: Callable[..., Any], inputs: Tensors, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """``(outputs, v^T J)``: the function's value and the product of a vector with its Jacobian.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y, g = lg.autograd.functional.vjp(lg.exp, lg.zeros(2), lg.tensor([1.0, 2.0]))
    >>> g.tolist()
    [1.0, 2.0]
    """
    xs, several = _inputs(inputs, create_graph)
    chosen = reverse.Inputs("vjp", xs, tuple(range(len(xs))))
    y, _ = reverse.run(func, chosen, {}, False, "vjp")
    ys, many = _tuple(y, "vjp: the function's result")
    _strictly(ys, strict, "vjp")
    weights = _direction(v, ys, "vjp")
    found = chosen.pull(ys, weights, create_graph)
    return _like(_released(ys, create_graph), many), _like(_released(found, create_graph), several)


def jvp(
    func: Callable[..., Any], inputs: Tensors, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """``(outputs, J v)``: the function's value and the product of its Jacobian with a vector.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y, t = lg.autograd.functional.jvp(lg.exp, lg.zeros(2), lg.tensor([1.0, 2.0]))
    >>> t.tolist()
    [1.0, 2.0]
    """
    xs, _ = _inputs(inputs, create_graph)
    ts = _direction(v, xs, "jvp")
    y, t = _push(func, xs, ts, strict=strict)
    ys, many = _tuple(y, "jvp: the function's result")
    moved, _ = _tuple(t, "jvp")
    return _like(_released(ys, create_graph), many), _like(_released(moved, create_graph), many)


def jacobian(
    func: Callable[..., Any],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
    chunk_size: int | None = None,
) -> Any:
    """The Jacobian: a tensor, or a tuple (of tuples) for several outputs (and inputs).

    ``vectorize`` is accepted and needs no thought: rows are always computed in batches of ``chunk_size``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.autograd.functional.jacobian(lambda x: x**2, lg.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(f"jacobian: strategy is {strategy!r}, expected 'reverse-mode' or 'forward-mode'")
    xs, several = _inputs(inputs, create_graph)
    if strict:
        probes = tuple(x.detach().requires_grad_() for x in xs)
        _strictly(_outputs(func, probes, "jacobian")[0], strict, "jacobian")
    make = jacobians.jacrev if strategy == "reverse-mode" else jacobians.jacfwd
    found = make(func, tuple(range(len(xs))), chunk_size=chunk_size)(*xs)
    many = bool(found) and isinstance(found[0], tuple)  # several outputs: one row of blocks for each
    rows = tuple(_like(_released(row, create_graph), several) for row in (found if many else (found,)))
    return rows if many else rows[0]


def hessian(
    func: Callable[..., Any],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
    chunk_size: int | None = None,
) -> Any:
    """The matrix of second derivatives of a function with one element: a tensor, or a tuple of tuples.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.autograd.functional.hessian(lambda x: (x**3).sum(), lg.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    xs, several = _inputs(inputs, create_graph)
    numbers = tuple(range(len(xs)))
    if strict:
        probes = tuple(x.detach().requires_grad_() for x in xs)
        first = grad(_outputs(func, probes, "hessian")[0], probes, create_graph=True, materialize_grads=True)
        _strictly(tuple(g for g in first if g is not None), strict, "hessian")
    outer = jacobians.jacfwd if outer_jacobian_strategy == "forward-mode" else jacobians.jacrev
    found = outer(reverse.grad(func, numbers), numbers, chunk_size=chunk_size)(*xs)
    rows = tuple(_released(row, create_graph) for row in found)
    return rows if several else rows[0][0]


def hvp(
    func: Callable[..., Any], inputs: Tensors, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """``(output, H v)``: the value of a function with one element and the product of its Hessian with a vector.

    Forward over reverse: about the cost of two gradients.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y, hv = lg.autograd.functional.hvp(lambda x: (x**3).sum(), lg.tensor([1.0, 2.0]), lg.ones(2))
    >>> hv.tolist()
    [6.0, 12.0]
    """
    xs, several = _inputs(inputs, create_graph)
    ts = _direction(v, xs, "hvp")
    both = reverse.value_and_grad(func, tuple(range(len(xs))))
    (y, _), (_, moved) = _push(lambda *xs: both(*xs), xs, ts, strict=strict)
    return _like(_released((y,), create_graph), False), _like(_released(moved, create_graph), several)


def vhp(
    func: Callable[..., Any], inputs: Tensors, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """``(output, v^T H)``: the same as `hvp`, for the Hessian is symmetric.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y, vh = lg.autograd.functional.vhp(lambda x: (x**3).sum(), lg.tensor([1.0, 2.0]), lg.ones(2))
    >>> vh.tolist()
    [6.0, 12.0]
    """
    return hvp(func, inputs, v, create_graph, strict)
