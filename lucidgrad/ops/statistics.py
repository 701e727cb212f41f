"""Statistics made of reductions: averages, covariance, and reductions that leave NaN out."""

from typing import Any

from lucidgrad.core import dtype as dtypes
from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.ops.precision import rounded_once

from . import reduction
from .axes import axes_of, product
from .numbers import INF, NAN, inexact, is_complex
from .reduction import count
from .scan import cumulative_prod, cumulative_sum
from .shape.layout import atleast_2d


# -- averages ------------------------------------------------------------------------------------
@rounded_once
def average(x: Any, /, axis: Any = None, weights: Any = None, *, returned: bool = False, keepdims: bool = False) -> Any:
    """The weighted mean along axes (NumPy's meaning).

    Parameters
    ----------
    x, axis, keepdims
        An array and the axes to reduce, all without one.
    weights
        A tensor of the array's shape, or of the sizes of the axes; None weighs all elements alike.
    returned
        Whether to return the sums of the weights, too.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.average(x, weights=lg.asarray([3.0, 1.0])).backward()
    >>> x.grad.tolist()
    [0.75, 0.25]
    """
    x = inexact(x)
    if weights is None:
        y = reduction.mean(x, axis=axis, keepdims=keepdims)
        return (y, ops.full_like(y, fill_value=count(x.shape, axis))) if returned else y
    w = _weights(x, axis, weights)
    total = reduction.sum(w, axis=axis, keepdims=keepdims)
    y = reduction.sum(x * w, axis=axis, keepdims=keepdims) / total
    return (y, ops.broadcast_to(total, shape=y.shape)) if returned else y


def _weights(x: Any, axis: Any, weights: Any) -> Any:
    """Weights of an array's shape, from those of its axes."""
    if tuple(weights.shape) == tuple(x.shape):
        return weights
    if axis is None:
        raise TypeError(
            f"average: given weights of shape {tuple(weights.shape)} for an array of shape {tuple(x.shape)}, "
            f"expected the same shape or an axis"
        )
    axes = axes_of("average", axis, x.ndim)
    if tuple(weights.shape) != tuple(x.shape[a] for a in axes):
        raise ValueError(
            f"average: given weights of shape {tuple(weights.shape)}, expected {tuple(x.shape[a] for a in axes)}"
        )
    weights = ops.permute_dims(weights, axes=tuple(sorted(range(len(axes)), key=axes.__getitem__)))
    weights = ops.reshape(weights, shape=tuple(n if a in axes else 1 for a, n in enumerate(x.shape)))
    return ops.broadcast_to(weights, shape=x.shape)


def ptp(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The largest value minus the smallest one along axes (NumPy's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([4.0, 1.0, 3.0], requires_grad=True)
    >>> lg.ptp(x).backward()
    >>> x.grad.tolist()
    [1.0, -1.0, 0.0]
    """
    return reduction.max(x, axis=axis, keepdims=keepdims) - reduction.min(x, axis=axis, keepdims=keepdims)


@rounded_once
def var_mean(
    x: Any,
    /,
    axis: Any = None,
    unbiased: bool | None = None,
    keepdims: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Any, Any]:
    """Variance and mean along axes; the variance is unbiased by default (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0, 6.0], requires_grad=True)
    >>> var, mean = lg.var_mean(x)
    >>> var.backward()
    >>> mean.item(), x.grad.tolist()
    (3.0, [-2.0, -1.0, 3.0])
    """
    axis, freedom = _correction("var_mean", axis, unbiased, correction)
    var = reduction.var(x, axis=axis, correction=freedom, keepdims=keepdims)
    return var, reduction.mean(x, axis=axis, keepdims=keepdims)


@rounded_once
def std_mean(
    x: Any,
    /,
    axis: Any = None,
    unbiased: bool | None = None,
    keepdims: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Any, Any]:
    """Standard deviation, unbiased by default, and mean along axes (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, -1.0], requires_grad=True)
    >>> std, mean = lg.std_mean(x, correction=0)
    >>> std.backward()
    >>> mean.item(), x.grad.tolist()
    (0.0, [0.5, -0.5])
    """
    axis, freedom = _correction("std_mean", axis, unbiased, correction)
    std = reduction.std(x, axis=axis, correction=freedom, keepdims=keepdims)
    return std, reduction.mean(x, axis=axis, keepdims=keepdims)


def _correction(name: str, axis: Any, unbiased: bool | None, correction: float | None) -> tuple[Any, float]:
    """The axis, and what is subtracted from the number of elements; ``unbiased`` may stand in the axis's place."""
    if isinstance(axis, bool):
        axis, unbiased = None, axis
    if unbiased is not None and correction is not None:
        raise TypeError(f"{name}: given unbiased={unbiased} and correction={correction}, expected one of both")
    return axis, correction if correction is not None else float(unbiased is not False)


# -- covariance ----------------------------------------------------------------------------------
def _variables(name: str, x: Any, rowvar: bool) -> Any:
    """Observations as a matrix with a row for each variable."""
    if x.ndim > 2:
        raise ValueError(f"{name}: given an array of dimension {x.ndim}, expected at most 2")
    rows = atleast_2d(inexact(x))
    return ops.matrix_transpose(rows) if not rowvar and x.ndim == 2 else rows


def _observation_weights(name: str, weights: Any, n: int) -> None:
    if weights is not None and tuple(weights.shape) != (n,):
        raise ValueError(f"cov: given {name} of shape {tuple(weights.shape)}, expected ({n},)")


@rounded_once
def cov(
    x: Any,
    /,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: Any = None,
    aweights: Any = None,
) -> Any:
    """The matrix of covariances (NumPy's meaning).

    Parameters
    ----------
    x, y
        Observations, and more of them: a matrix with a row for each variable, or a vector.
    rowvar
        Whether variables are rows; else they are columns.
    bias, ddof
        Sums are divided by ``n - ddof``: 1, or 0 with ``bias``, unless ``ddof`` is given.
    fweights, aweights
        How often each observation counts, and how much.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0, 6.0], [0.0, 1.0, 2.0]], requires_grad=True)
    >>> y = lg.cov(x)
    >>> y.tolist()
    [[7.0, 2.5], [2.5, 1.0]]
    >>> y[0, 1].backward()
    >>> x.grad.tolist()
    [[-0.5, 0.0, 0.5], [-1.0, -0.5, 1.5]]
    """
    rows = _variables("cov", x, rowvar)
    if y is not None:
        rows = ops.concat(rows, _variables("cov", y, rowvar), axis=0)
    n = rows.shape[1]
    _observation_weights("fweights", fweights, n)
    _observation_weights("aweights", aweights, n)
    ddof = (0 if bias else 1) if ddof is None else ddof
    w = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    if w is None:
        left: Any = max(n - ddof, 0)
        rows = rows - reduction.mean(rows, axis=1, keepdims=True)
        weighted = rows
    else:
        total = reduction.sum(w)
        lost = ddof if aweights is None else ddof * reduction.sum(w * aweights) / total
        left = ops.maximum(ops.astype(total - lost, dtype=rows.dtype), 0)
        w = ops.astype(w, dtype=rows.dtype)
        rows = rows - reduction.sum(rows * w, axis=1, keepdims=True) / ops.astype(total, dtype=rows.dtype)
        weighted = rows * w
    adjoint = ops.matrix_transpose(ops.conj(weighted) if is_complex(rows.dtype) else weighted)
    c = ops.matmul(rows, adjoint) / left
    return ops.reshape(c, shape=()) if product(c.shape) == 1 else c


@rounded_once
def corrcoef(x: Any, /, y: Any = None, rowvar: bool = True) -> Any:
    """The matrix of correlation coefficients, all between -1 and 1 (NumPy's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0, 3.0], [0.0, 3.0, 0.0]], requires_grad=True)
    >>> lg.corrcoef(x)[0, 1].backward()
    >>> x.grad.tolist()
    [[-0.2887, 0.5774, -0.2887], [-0.2887, 0.0, 0.2887]]
    """
    c = cov(x, y, rowvar)
    if not c.ndim:
        return c / c
    variance = ops.diagonal(ops.real(c) if is_complex(c.dtype) else c)
    deviation = ops.sqrt(variance)
    c = c / ops.expand_dims(deviation, axis=1) / ops.expand_dims(deviation, axis=0)
    return c if is_complex(c.dtype) else ops.clip(c, -1.0, 1.0)


# -- without NaN ---------------------------------------------------------------------------------
def _nan_replaced(x: Any, value: float) -> Any:
    """Another value in place of NaN, which gets no gradient."""
    return x if inexact(x) is not x else ops.where(ops.isnan(x), value, x)


def _known(x: Any, axis: Any, keepdims: bool) -> Any:
    """How many elements are not NaN."""
    return reduction.sum(ops.astype(x == x, dtype=_real(x.dtype)), axis=axis, keepdims=keepdims)


def _real(dtype: Any) -> Any:
    return dtypes.named({"complex64": "float32", "complex128": "float64"}[str(dtype)]) if is_complex(dtype) else dtype


def nansum(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum along axes, in which NaN counts as 0 and gets no gradient.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, float("nan")], requires_grad=True)
    >>> lg.nansum(x).backward()
    >>> x.grad.tolist()
    [1.0, 0.0]
    """
    return reduction.sum(_nan_replaced(x, 0.0), axis=axis, dtype=dtype, keepdims=keepdims)


def nanprod(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product along axes, in which NaN counts as 1 and gets no gradient.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([2.0, float("nan"), 3.0], requires_grad=True)
    >>> lg.nanprod(x).backward()
    >>> x.grad.tolist()
    [3.0, 0.0, 2.0]
    """
    return reduction.prod(_nan_replaced(x, 1.0), axis=axis, dtype=dtype, keepdims=keepdims)


def nancumsum(x: Any, /, axis: int | None = None, *, dtype: Any = None) -> Any:
    """Running sums along an axis, or of the flattened array, in which NaN counts as 0 (NumPy's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, float("nan"), 2.0], requires_grad=True)
    >>> lg.nancumsum(x).sum().backward()
    >>> x.grad.tolist()
    [3.0, 0.0, 1.0]
    """
    return cumsum(_nan_replaced(x, 0.0), axis, dtype=dtype)


def cumsum(x: Any, /, axis: int | None = None, *, dtype: Any = None) -> Any:
    """Running sums along an axis, or of the flattened array (NumPy's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> lg.cumsum(x).sum().backward()
    >>> x.grad.tolist()
    [[4.0, 3.0], [2.0, 1.0]]
    """
    x = ops.reshape(x, shape=(product(x.shape),)) if axis is None else x
    return cumulative_sum(x, axis=0 if axis is None else axis, dtype=dtype)


def cumprod(x: Any, /, axis: int | None = None, *, dtype: Any = None) -> Any:
    """Running products along an axis, or of the flattened array (NumPy's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([2.0, 3.0], requires_grad=True)
    >>> lg.cumprod(x).sum().backward()
    >>> x.grad.tolist()
    [4.0, 2.0]
    """
    x = ops.reshape(x, shape=(product(x.shape),)) if axis is None else x
    return cumulative_prod(x, axis=0 if axis is None else axis, dtype=dtype)


@rounded_once
def nanmean(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """The mean along axes of the elements that are not NaN; NaN where there are none.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, float("nan"), 3.0], requires_grad=True)
    >>> lg.nanmean(x).backward()
    >>> x.grad.tolist()
    [0.5, 0.0, 0.5]
    """
    x = inexact(x if dtype is None else ops.astype(x, dtype=dtype))
    return nansum(x, axis, keepdims=keepdims) / _known(x, axis, keepdims)


@rounded_once
def nanvar(x: Any, /, axis: Any = None, *, ddof: float = 0, correction: Any = None, keepdims: bool = False) -> Any:
    """The variance along axes of the elements that are not NaN; NaN where ``ddof`` leaves none.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, float("nan"), 3.0], requires_grad=True)
    >>> lg.nanvar(x).backward()
    >>> x.grad.tolist()
    [-1.0, 0.0, 1.0]
    """
    x = inexact(x)
    d = ops.where(x == x, x - nanmean(x, axis, keepdims=True), 0.0)
    squares = ops.real(d * ops.conj(d)) if is_complex(d.dtype) else d * d
    left = _known(x, axis, keepdims) - (ddof if correction is None else correction)
    return reduction.sum(squares, axis=axis, keepdims=keepdims) / ops.where(left > 0, left, NAN)


@rounded_once
def nanstd(x: Any, /, axis: Any = None, *, ddof: float = 0, correction: Any = None, keepdims: bool = False) -> Any:
    """The standard deviation along axes of the elements that are not NaN; its gradient is 0 where it is 0.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, float("nan"), 3.0], requires_grad=True)
    >>> lg.nanstd(x).backward()
    >>> x.grad.tolist()
    [-0.5, 0.0, 0.5]
    """
    y = nanvar(x, axis, ddof=ddof, correction=correction, keepdims=keepdims)
    return ops.where(y == 0, 0.0, ops.sqrt(ops.where(y == 0, 1.0, y)))


def _nan_extreme(x: Any, axis: Any, keepdims: bool, sign: int) -> Any:
    extreme = reduction.max if sign < 0 else reduction.min
    y = extreme(_nan_replaced(x, sign * INF), axis=axis, keepdims=keepdims)
    if inexact(x) is not x:
        return y
    return ops.where(reduction.all(ops.isnan(x), axis=axis, keepdims=keepdims), NAN, y)


def nanmax(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The largest value along axes that is not NaN; NaN where there is none. Ties share the gradient.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, float("nan"), 3.0], requires_grad=True)
    >>> lg.nanmax(x).backward()
    >>> x.grad.tolist()
    [0.0, 0.0, 1.0]
    """
    return _nan_extreme(x, axis, keepdims, -1)


def nanmin(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The smallest value along axes that is not NaN; NaN where there is none. Ties share the gradient.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, float("nan"), 3.0], requires_grad=True)
    >>> lg.nanmin(x).backward()
    >>> x.grad.tolist()
    [1.0, 0.0, 0.0]
    """
    return _nan_extreme(x, axis, keepdims, 1)
