"""Derivatives of functions with PyTorch's older signatures; `lucidgrad.func` has the composable forms."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core.dispatch import node_of
from lucidgrad.core.plan import reach
from lucidgrad.creation import ones_like
from lucidgrad.func import jacobians, reverse
from lucidgrad.func.forward import check_tangents, jvp as _push
from lucidgrad.refusals import guard as _guard
from lucidgrad.tensor import Tensor

from .gradient import differentiate
from .modes import enable_grad, inference_mode

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Tensor | tuple[Tensor, ...]


def _tuple(value: Any, who: str) -> tuple[tuple[Tensor, ...], bool]:
    """The tensors, and whether there was a tuple."""
    several = isinstance(value, (tuple, list))
    items = tuple(value) if several else (value,)
    if not items:
        raise ValueError(f"{who}: given an empty {type(value).__name__}, expected at least one Tensor")
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


def _tensors_of(func: Callable[..., Any], who: str) -> Callable[..., Any]:
    """The function, whose result is checked: a tensor or a tuple of them."""

    @functools.wraps(func)
    def checked(*xs: Tensor) -> Any:
        y = func(*xs)
        _tuple(y, f"{who}: the function's result")
        return y

    return checked


def _number_of(func: Callable[..., Any], who: str) -> Callable[..., Any]:
    """The function, whose result is checked: one tensor with one element."""

    @functools.wraps(func)
    def checked(*xs: Tensor) -> Any:
        y = func(*xs)
        if not isinstance(y, Tensor):
            error = RuntimeError if isinstance(y, (tuple, list)) else TypeError
            raise error(f"{who}: the function returned a {type(y).__name__}, expected a tensor with one element")
        if y.size != 1:
            raise RuntimeError(f"{who}: the function returned a tensor of shape {y.shape}, expected one element")
        return y

    return checked


def _released(items: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    return items if create_graph else tuple(item.detach() for item in items)


def _jacobian(
    who: str, func: Callable[..., Any], count: int, strategy: str, chunk_size: int | None
) -> Callable[..., Any]:
    numbers = tuple(range(count))
    if strategy == "forward-mode":
        return jacobians.by_columns(who, func, numbers, False, "error", chunk_size)
    return jacobians.by_rows(who, func, numbers, False, chunk_size)


# -- strict=True -----------------------------------------------------------------------------------
_FORBIDDEN = "which strict=True forbids"


def _probe(func: Callable[..., Any], xs: tuple[Tensor, ...], who: str) -> tuple[list[Tensor], tuple[Tensor, ...]]:
    """Inputs of their own, and what the function makes of them."""
    probes = reverse.Inputs(who, [x.detach() for x in xs], tuple(range(len(xs))))
    y, _ = reverse.run(func, probes, {}, False, who)
    return probes.fresh, tuple(y) if isinstance(y, (tuple, list)) else (y,)


def _check_dependence(who: str, ends: Sequence[Tensor], starts: Sequence[Tensor], pairs: bool = False) -> None:
    """Raise unless each output depends on something and each input is used (with ``pairs``: by each output)."""
    for k, end in enumerate(ends):
        if node_of(end) is None:
            raise RuntimeError(f"{who}: output {k} is independent of the inputs, {_FORBIDDEN}")
    for k, group in enumerate([[end] for end in ends] if pairs else [ends]):
        reached, *_ = reach([node_of(end) for end in group])
        for i, start in enumerate(starts):
            if node_of(start) not in reached:
                what = f"output {k} is" if pairs else "the outputs are"
                raise RuntimeError(f"{who}: {what} independent of input {i}, {_FORBIDDEN}")


def _check_slopes(who: str, slopes: Sequence[Tensor | None]) -> None:
    """Raise unless first derivatives can be differentiated again."""
    for i, g in enumerate(slopes):
        if g is None or node_of(g) is None:
            raise RuntimeError(f"{who}: the derivative with respect to input {i} is a constant, {_FORBIDDEN}")


def _slopes(ends: Sequence[Tensor], starts: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
    with inference_mode(False):
        return differentiate(ends, starts, [ones_like(end) for end in ends], None, True, allow_unused=True)[0]


@enable_grad()
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
    weights = _direction(v, ys, "vjp")
    if strict:
        _check_dependence("vjp", ys, chosen.fresh)
    found = chosen.pull(ys, weights, create_graph)
    if strict and create_graph:
        _check_slopes("vjp", found)
    return _like(_released(ys, create_graph), many), _like(_released(found, create_graph), several)


@enable_grad()
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
    func = _tensors_of(func, "jvp")
    if strict:
        probes, ends = _probe(func, xs, "jvp")
        _check_dependence("jvp", ends, probes)
        if create_graph:
            _check_slopes("jvp", _slopes(ends, probes))
    y, t = _push(func, xs, ts)
    ys, many = _tuple(y, "jvp")
    moved, _ = _tuple(t, "jvp")
    return _like(_released(ys, create_graph), many), _like(_released(moved, create_graph), many)


@enable_grad()
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
    func = _tensors_of(func, "jacobian")
    if strict:
        probes, ends = _probe(func, xs, "jacobian")
        _check_dependence("jacobian", ends, probes, pairs=True)
        for end in ends if create_graph else ():
            _check_slopes("jacobian", _slopes([end], probes))
    found = _jacobian("jacobian", func, len(xs), strategy, chunk_size)(*xs)
    many = bool(found) and isinstance(found[0], tuple)  # several outputs: one row of blocks for each
    rows = tuple(_like(_released(row, create_graph), several) for row in (found if many else (found,)))
    return rows if many else rows[0]


@enable_grad()
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
    if outer_jacobian_strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(
            f"hessian: outer_jacobian_strategy is {outer_jacobian_strategy!r}, expected 'reverse-mode' or "
            f"'forward-mode'"
        )
    xs, several = _inputs(inputs, create_graph)
    func = _number_of(func, "hessian")
    if strict:
        probes, ends = _probe(func, xs, "hessian")
        _check_dependence("hessian", ends, probes)
        slopes = _slopes(ends, probes)
        _check_slopes("hessian", slopes)
        _check_dependence("hessian: of the first derivatives", [g for g in slopes if g is not None], probes, pairs=True)
    first = reverse.grad(func, tuple(range(len(xs))))
    found = _jacobian("hessian", first, len(xs), outer_jacobian_strategy, chunk_size)(*xs)
    rows = tuple(_released(row, create_graph) for row in found)
    return rows if several else rows[0][0]


@enable_grad()
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
    func = _number_of(func, "hvp")
    if strict:
        probes, ends = _probe(func, xs, "hvp")
        _check_dependence("hvp", ends, probes)
        _check_slopes("hvp", _slopes(ends, probes))
    both = reverse.value_and_grad(func, tuple(range(len(xs))))
    (y, _), (_, moved) = _push(both, xs, ts)
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


_guard(__name__, __all__)
