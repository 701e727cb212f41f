"""What PyTorch means where neither a function of lucidgrad nor a method of `Tensor` means it: little, made of these."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import lucidgrad as lg
from lucidgrad.core.dispatch import floats, promoted
from lucidgrad.core.dtype import checked, rank

Tensor = lg.Tensor
INT64 = lg.int64
FLOATS = floats  # real and complex ones
UNSIGNED = {lg.uint8, lg.uint16, lg.uint32, lg.uint64}  # which add up to int64 in PyTorch


class Histogram(NamedTuple):
    """Numbers of elements, and the edges of the bins that they are in."""

    hist: Any
    bin_edges: Any


# -- arguments -----------------------------------------------------------------------------------
def axes(dim: Any) -> Any:
    """Axes to reduce: no axes at all means every one."""
    return None if dim == () or dim == [] else dim


def cast(x: Any, dtype: Any) -> Any:
    """A tensor in a dtype, if one is given."""
    return x if dtype is None else x.to(dtype)


def listed(tensors: Any) -> Any:
    """Tensors one by one, or in one sequence."""
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors


def contracted(dims: Any) -> Any:
    """Axes of `tensordot`: a number, two lists, or a tensor that holds either."""
    return dims.tolist() if isinstance(dims, lg.Tensor) else dims


def dense(layout: Any, requires_grad: bool) -> bool:
    """Refuse the layouts of sparse tensors; hands on another argument, so that a call remains one expression."""
    if layout is not None and str(layout) != "torch.strided":
        raise TypeError(f"layout: given {layout}, expected torch.strided: all tensors are dense")
    return requires_grad


# -- dtypes --------------------------------------------------------------------------------------
def can_cast(from_: Any, to: Any) -> bool:
    """Whether the kind of a dtype may become another: bool, integer, real, complex, in this order."""
    return rank(checked("can_cast", from_)) <= rank(checked("can_cast", to))


def by_rank(function: Callable[..., Any], *values: Any, **keywords: Any) -> Any:
    """Call a function with 0-d tensors in the dtype of the others, unless they are of a higher kind."""
    tensors = [x for x in values if isinstance(x, Tensor)]
    whole, single = ([x.dtype for x in tensors if bool(x.ndim) is several] for several in (True, False))
    if not whole or not single:
        return function(*values, **keywords)
    given, other = promoted(*whole), promoted(*single)
    if rank(other) <= rank(given):
        target = given
    elif rank(other) == 3:  # which the precision of real numbers decides, too
        target = lg.result_type(given, lg.complex64) if rank(given) == 2 else other
    else:
        target = other
    cast = [isinstance(x, Tensor) and not x.ndim and x.dtype != target for x in values]
    return function(*(x.to(target) if c else x for x, c in zip(values, cast, strict=True)), **keywords)


def told(x: Any, y: Any) -> Any:
    """What is told of bytes is a byte, of everything else a bool."""
    return y.to(lg.uint8) if x.array.dtype == lg.uint8 else y


# -- truth values and integers -------------------------------------------------------------------
def conj(x: Any) -> Any:
    """The complex conjugate; of real numbers a copy."""
    return lg.conj(x) if x.is_complex() else lg.clone(x)


def sign(function: Callable[..., Any], x: Any) -> Any:
    """`sign` or `sgn`; of truth values themselves."""
    return lg.clone(x) if x.array.dtype == lg.bool else function(x)


def square(x: Any) -> Any:
    """The square; truth values are integers first."""
    return lg.square(x.to(lg.int64) if x.array.dtype == lg.bool else x)


def heaviside(x: Any, values: Any) -> Any:
    """The unit step in the dtype of both arguments."""
    if x.dtype != values.dtype:
        raise RuntimeError(f"heaviside: given tensors of dtypes {x.dtype} and {values.dtype}, expected one dtype")
    return lg.heaviside(x, values).to(x.dtype)


def diff(x: Any, n: int, dim: int, prepend: Any, append: Any) -> Any:
    """Differences of neighbours; of truth values, whether they differ."""
    if x.array.dtype != lg.bool:
        return lg.diff(x, n, dim, prepend, append)
    given = [part.to(lg.int8) if part is not None else None for part in (x, prepend, append)]
    return lg.remainder(lg.diff(given[0], n, dim, *given[1:]), 2).to(lg.bool)


# -- making tensors ------------------------------------------------------------------------------
def arange(start: Any, end: Any, step: Any, layout: Any, requires_grad: bool, **options: Any) -> Any:
    """Numbers from a start, 0 where one number is given, up to an end."""
    if start is None and end is None:
        raise TypeError("arange() missing required argument: 'end'")
    start = 0 if start is None else start
    return lg.arange(start, end, step, requires_grad=dense(layout, requires_grad), **options)


def closed_range(start: Any, end: Any, step: Any, layout: Any, requires_grad: bool, **options: Any) -> Any:
    """Numbers from a start to an end, which is one of them."""
    if end is None:
        raise TypeError("range() missing required argument: 'end'")
    if step == 0 or (end - start) / step < 0:
        raise RuntimeError(f"range: given {start}, {end} and step {step}, expected a step that leads to the end")
    dtype = options.pop("dtype") or lg.get_default_dtype()
    made = start + step * lg.arange(int((end - start) / step) + 1, dtype=lg.float64, **options)
    return made.to(dtype).requires_grad_(dense(layout, requires_grad))


def randint(low: Any, high: Any, size: Any, layout: Any, **options: Any) -> Any:
    """Random integers; ``low`` is 0 where one bound is given."""
    dense(layout, False)
    if size is None:  # (high, size)
        low, high, size = (0, low, high) if low is not None else (0, high, None)
    if size is None or high is None:
        raise TypeError(f"randint() missing required argument: {'size' if size is None else 'high'!r}")
    return lg.randint(0 if low is None else low, high, size, **options)


def randint_like(x: Any, low: Any, high: Any, layout: Any, **options: Any) -> Any:
    """Random integers in another tensor's shape and dtype."""
    dense(layout, False)
    low, high = (0, low) if high is None else (0 if low is None else low, high)
    if high is None:
        raise TypeError("randint_like() missing required argument: 'high'")
    return lg.randint_like(x, low, high, **{name: value for name, value in options.items() if value is not None})


def rrelu(x: Any, lower: float, upper: float, training: bool, generator: Any, inplace: bool = False) -> Any:
    """Leaky ReLU with random slopes, which come from lucidgrad's own generator."""
    if generator is not None:
        raise TypeError("rrelu: given a generator, expected None: slopes are drawn by the generator of manual_seed")
    return lg.rrelu(x, lower, upper, training, inplace)


def bernoulli(x: Any, p: Any, generator: Any) -> Any:
    """Zeros and ones in a tensor's shape and dtype, whatever its values are; ``p`` is the probability of ones."""
    chances = lg.zeros(x.shape, device=x.device) + p
    return lg.bernoulli(chances, generator=generator).to(x.dtype)


def drawn(sample: Any) -> Any:
    """A random number, which has no history: whoever asks for a derivative through it asks a distribution."""
    return sample.detach()


# -- reductions ----------------------------------------------------------------------------------
def averaged(x: Any, dtype: Any) -> Any:
    """Numbers that have a mean: real or complex ones, or such as become some by a dtype."""
    if dtype is None and rank(x.dtype) < 2:
        raise RuntimeError(
            f"mean: given a tensor of dtype {x.dtype}, expected floating-point or complex numbers, or dtype="
        )
    return cast(x, dtype)


def _correction(dim: Any, unbiased: Any, correction: Any) -> tuple[Any, Any]:
    """Axes and correction; a bool in the place of the axes says whether the result is unbiased."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return axes(dim), (1 if unbiased else 0) if correction is None else correction


def spread(function: Callable[..., Any], x: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Any:
    """`std` or `var`, unbiased where nothing is said."""
    dim, correction = _correction(dim, unbiased, correction)
    return function(x, axis=dim, correction=correction, keepdims=keepdim)


def spread_and_mean(
    function: Callable[..., Any], x: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any
) -> Any:
    """`std_mean` or `var_mean`."""
    dim, correction = _correction(dim, unbiased, correction)
    return function(x, axis=dim, correction=correction, keepdims=keepdim)


def histogram(x: Any, bins: Any, range: Any, weight: Any, density: bool) -> Histogram:
    """Numbers of elements between edges, as numbers of the elements' dtype."""
    hist, edges = lg.histogram(x, bins, range, density, weight)
    return Histogram(hist.to(x.dtype), edges)


def histogramdd(x: Any, bins: Any, range: Any, weight: Any, density: bool) -> Histogram:
    """The same for points of several coordinates."""
    return Histogram(*lg.histogramdd(x, bins, range, density, weight))


def searchsorted(ranks: Any, x: Any, out_int32: bool, right: bool, side: Any, sorter: Any) -> Any:
    """Where values belong in sorted sequences; ``right`` and ``side`` say the same."""
    if side not in (None, "left", "right"):
        raise RuntimeError(f"searchsorted: given side={side!r}, expected 'left' or 'right'")
    if right and side == "left":
        raise RuntimeError("searchsorted: given right=True and side='left', expected one of them")
    side = "right" if right or side == "right" else "left"
    return lg.searchsorted(ranks, x, side=side, sorter=sorter, out_int32=out_int32)


def gradient(x: Any, spacing: Any, dim: Any, edge_order: int) -> tuple[Any, ...]:
    """Slopes along axes, one tensor for each; distances or coordinates are given for all, or axis by axis."""
    dims = (dim,) if isinstance(dim, int) else tuple(range(x.ndim)) if dim is None else tuple(dim)
    if spacing is None:
        steps: tuple[Any, ...] = ()
    elif isinstance(spacing, (tuple, list)):
        steps = tuple(spacing)
    else:
        steps = (spacing,)
    found = lg.gradient(x, *steps, axis=dims, edge_order=edge_order)
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


# -- layers and losses ---------------------------------------------------------------------------
def reduction(code: Any) -> Any:
    """The name of a reduction that is given as a number."""
    return ("none", "mean", "sum")[code] if isinstance(code, int) else code


def embedding(weight: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, sparse: bool = False) -> Any:
    """Rows of a table; a negative number of the row for padding means that there is none."""
    padding = padding_idx if padding_idx >= 0 else None
    return lg.nn.functional.embedding(indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


# -- choosing, joining and repeating --------------------------------------------------------------
def where(condition: Any, x: Any, y: Any) -> Any:
    """One of two values by a condition; where the condition holds, if there are none."""
    if x is None and y is None:
        return condition.nonzero(as_tuple=True)
    if float in (kinds := {type(x), type(y)}) and kinds <= {int, float}:  # of the default dtype
        return lg.where(condition, lg.scalar_tensor(float(x)), lg.scalar_tensor(float(y)))
    return by_rank(functools.partial(lg.where, condition), x, y)


def cat(tensors: Any, dim: int) -> Any:
    """Tensors one after another; those of shape (0,) may stand beside any others."""
    try:
        return lg.cat(tensors, dim)
    except (ValueError, IndexError):
        kept = [x for x in tensors if tuple(x.shape) != (0,)]
        if len(kept) in (0, len(tensors)):
            raise
    return lg.cat(kept, dim).to(lg.result_type(*tensors))


def repeat_interleave(x: Any, repeats: Any, dim: Any, output_size: Any) -> Any:
    """Each element so many times; with numbers alone their positions."""
    if x is None:
        x, repeats = repeats, None
    return lg.repeat_interleave(x, repeats, dim, output_size=output_size)


# -- matrices ------------------------------------------------------------------------------------
def solve(a: Any, b: Any, left: bool) -> Any:
    """The solution of linear equations; a right side of one dimension less is a batch of vectors."""
    vectors = left and b.ndim == a.ndim - 1 and b.ndim > 1 and tuple(b.shape) == tuple(a.shape[:-1])
    return lg.linalg.solve(a, b[..., None])[..., 0] if vectors else lg.linalg.solve(a, b, left=left)


def lstsq(a: Any, b: Any, rcond: Any, driver: Any) -> Any:
    """Least squares, with what the driver gives beside the solution: on the CPU it is "gelsy" where none is named."""
    made = lg.linalg.lstsq(a, b, rcond, driver=driver or ("gelsy" if a.device.type == "cpu" else "gels"))
    return made._replace(singular_values=made.singular_values.detach())
