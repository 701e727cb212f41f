"""Jacobians and Hessians, by batches of pulled cotangents or pushed tangents."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core.dispatch import complexes, floats, node_of
from lucidgrad.creation import eye, zeros, zeros_like
from lucidgrad.ops.shape.joining import concat
from lucidgrad.ops.shape.layout import moveaxis, reshape
from lucidgrad.random import recall, remember
from lucidgrad.tensor import Tensor

from . import guests, trees
from .forward import jvp
from .reverse import Inputs, check_outputs, chosen_numbers, run
from .vectorising import check_chunk_size, check_randomness, vmap


def _basis(x: Tensor, start: int, stop: int) -> Tensor:
    """Rows ``start`` to ``stop`` of the identity matrix, each in the shape of x."""
    rows = eye(stop - start, int(x.size), k=start, dtype=x.dtype, device=x.device)
    return reshape(rows, (stop - start, *x.shape))


def _chunks(size: int, chunk_size: int | None) -> list[tuple[int, int]]:
    step = size if chunk_size is None else chunk_size
    return [(k, min(k + step, size)) for k in range(0, size, max(step, 1))]


def jacrev(
    func: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func``, by reverse mode: good for few outputs.

    Parameters
    ----------
    func
        A function of trees of tensors that returns a tree of tensors. The chosen arguments and the results are real:
        for complex ones it raises, since no complex matrix tells the derivative of a function that is not holomorphic.
    argnums
        Which argument to differentiate with respect to; a tuple for several.
    has_aux
        The function returns ``(output, aux)``, the result is ``(jacobian, aux)``.
    chunk_size
        How many rows to compute at once; None for all.

    Returns
    -------
    callable
        Its results have the structure of the output, in it that of the argument, and in it tensors of shape
        ``(*output.shape, *argument.shape)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.func.jacrev(lambda x: x**2)(lg.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    return by_rows("jacrev", func, argnums, has_aux, chunk_size)


def by_rows(
    who: str, func: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool, chunk_size: int | None
) -> Callable[..., Any]:
    """What `jacrev` gives; ``who`` is the name that errors have."""
    check_chunk_size(who, chunk_size)

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        inputs = Inputs(who, args, argnums)
        _check_real(who, "the function was given", inputs.fresh)
        y, aux = run(func, inputs, kwargs, has_aux, who)
        outs, outer = trees.flatten(y)
        check_outputs(who, outs)
        _check_real(who, "the function returned", outs)
        differentiable = inputs.reach_outside(outs)
        blocks = [_rows(inputs, out, differentiable, chunk_size) for out in outs]
        found = trees.unflatten(outer, blocks)
        return (found, inputs.release(aux)) if has_aux else found

    return jacobian


def _rows(inputs: Inputs, out: Tensor, differentiable: bool, chunk_size: int | None) -> Any:
    """The Jacobian of one output tensor, in the structure of the arguments."""
    if node_of(out) is None or not out.size or not inputs.fresh:
        return inputs.derivatives([_no_rows(out, x) for x in inputs.fresh])
    if out.size == 1:  # one row needs no batch
        pulled = inputs.pull_leaves([out], [None], differentiable, retain_graph=True)
        shaped = [reshape(g, (*out.shape, *x.shape)) for g, x in zip(pulled, inputs.fresh, strict=True)]
        return inputs.derivatives(shaped)
    pieces = [
        inputs.pull_rows(out, _basis(out, start, stop), differentiable)
        for start, stop in _chunks(int(out.size), chunk_size)
    ]
    shaped = [
        _no_rows(out, x)
        if column[0] is None
        else reshape(column[0] if len(column) == 1 else concat(list(column), axis=0), (*out.shape, *x.shape))
        for column, x in zip(zip(*pieces, strict=True), inputs.fresh, strict=True)
    ]
    return inputs.derivatives(shaped)


def _no_rows(out: Tensor, x: Tensor) -> Tensor:
    """The Jacobian of an output that does not depend on x."""
    return zeros((*out.shape, *x.shape), dtype=x.dtype, device=x.device)


def jacfwd(
    func: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of ``func``, by forward mode: good for few inputs.

    Parameters and results are those of `jacrev`, which are real; ``randomness`` is that of `vmap`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.func.jacfwd(lambda x: x**2)(lg.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    return by_columns("jacfwd", func, argnums, has_aux, randomness, chunk_size)


def by_columns(
    who: str,
    func: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    randomness: str,
    chunk_size: int | None,
) -> Callable[..., Any]:
    """What `jacfwd` gives; ``who`` is the name that errors have."""
    check_randomness(who, randomness)
    check_chunk_size(who, chunk_size)

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        numbers = chosen_numbers(who, argnums, len(args))
        chosen = args[argnums] if isinstance(argnums, int) else tuple(args[n] for n in numbers)
        own, shape = trees.flatten(chosen)
        xs = guests.welcomed(who, own)
        for x in xs:
            if x.array.dtype not in floats:
                raise TypeError(f"{who}: an argument has dtype {x.dtype}, expected floating-point numbers")
        if not xs:
            raise ValueError(f"{who}: the chosen arguments hold no tensor, expected at least one")
        _check_real(who, "the function was given", xs)

        def of_chosen(*leaves: Tensor) -> Any:
            replaced = trees.unflatten(shape, leaves)
            given = list(args)
            for n, value in zip(numbers, (replaced,) if isinstance(argnums, int) else replaced, strict=True):
                given[n] = value
            return func(*given, **kwargs)

        def push(i: int) -> Callable[[Tensor], Any]:
            still = [zeros_like(x) for x in xs]

            def along(t: Tensor) -> Any:
                ts = tuple(t if k == i else still[k] for k in range(len(xs)))
                y, moved, *aux = jvp(of_chosen, tuple(xs), ts, has_aux=has_aux)
                _check_real(who, "the function returned", trees.flatten(y)[0])
                return (moved, y, aux[0]) if has_aux else (moved, y)

            return along

        blocks, values, aux = [], None, None
        drawn = remember() if randomness == "same" else None
        for i, x in enumerate(xs):
            if drawn is not None and i:
                recall(drawn)
            places = (0, None, None) if has_aux else (0, None)
            basis = _basis(x, 0, int(x.size))
            moved, values, *rest = vmap(push(i), 0, places, randomness, chunk_size=chunk_size)(basis)
            aux = rest[0] if rest else None
            blocks.append(trees.flatten(moved)[0])
        outs, outer = trees.flatten(values)
        found = []
        for k, y in enumerate(outs):
            columns = [_columns(blocks[i][k], y, x) for i, x in enumerate(xs)]
            found.append(trees.unflatten(shape, columns if xs is own else guests.all_returned(own, columns)))
        result = trees.unflatten(outer, found)
        if has_aux and xs is not own:
            aux = trees.map(lambda a: guests.value(own, a), aux)
        return (result, aux) if has_aux else result

    return jacobian


def _columns(moved: Tensor, y: Tensor, x: Tensor) -> Tensor:
    return reshape(moveaxis(moved, 0, -1), (*y.shape, *x.shape))


def hessian(
    func: Callable[..., Any], argnums: int | Sequence[int] = 0, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """A function that gives the matrix of second derivatives, forward over reverse.

    The chosen arguments and the result are real, as for `jacrev`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.func.hessian(lambda x: (x**3).sum())(lg.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    inner = by_rows("hessian", func, argnums, False, None)
    return by_columns("hessian", inner, argnums, False, "error", chunk_size)


def _check_real(who: str, what: str, tensors: Sequence[Tensor]) -> None:
    for x in tensors:
        if x.array.dtype in complexes:
            raise RuntimeError(
                f"{who}: {what} a tensor of dtype {x.dtype}, expected real numbers: where a function is not "
                f"holomorphic no complex matrix is its Jacobian. Give it real and imaginary parts, or use jvp or vjp"
            )
