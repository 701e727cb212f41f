"""Looking up vectors by index, and one-hot vectors."""

from typing import Any

import lucidgrad as lg
from lucidgrad.amp import rounded_once
from lucidgrad.nn.functional.arguments import on_host

__all__ = ["embedding", "embedding_bag", "one_hot"]


class _ScaledGradient(lg.autograd.Function):
    """Passes a value on, and its gradient times a factor."""

    @staticmethod
    def forward(y: lg.Tensor, factor: lg.Tensor) -> lg.Tensor:
        return y.clone()  # a view of an input could not be written in place

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, g: lg.Tensor) -> Any:
        (factor,) = ctx.saved_tensors
        return g * factor, None


def _check(name: str, input: lg.Tensor, rows: int) -> None:
    """Raise for indices that are no rows, where looking costs nothing."""
    if str(input.dtype) not in ("int32", "int64"):
        raise RuntimeError(f"{name}: given indices of dtype {input.dtype}, expected int64 or int32")
    raw = on_host(input)
    if raw is not None and raw.size and (raw.min() < 0 or raw.max() >= rows):
        raise IndexError(f"{name}: index out of range: expected indices from 0 to {rows - 1}")


def _row(name: str, padding_idx: int | None, rows: int) -> int | None:
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError(f"{name}: given padding_idx={padding_idx}, expected a row of {rows}")
    return padding_idx % rows


def _counts(input: lg.Tensor, rows: int, dtype: Any) -> lg.Tensor:
    """How often each row is asked for."""
    flat = lg.reshape(input, (-1,))
    ones = lg.ones(flat.shape, dtype=dtype, device=input.device)
    return lg.index_add(lg.zeros((rows,), dtype=dtype, device=input.device), 0, flat, ones)


def _renormalise(weight: lg.Tensor, input: lg.Tensor, max_norm: float, norm_type: float) -> None:
    """Shorten, in place, the rows that are asked for and too long; no others are read."""
    with lg.no_grad():
        at = lg.reshape(input, (-1,))
        rows = lg.take(weight.detach(), at, axis=0)
        length = lg.linalg.vector_norm(rows, axis=1, ord=norm_type)
        factor = lg.where(length > max_norm, max_norm / (length + 1e-7), 1.0).to(weight.dtype)
        # a row that is asked for twice is written twice, and the same
        weight[at] = rows * lg.expand_dims(factor, axis=1)


def _looked_up(
    name: str,
    input: lg.Tensor,
    weight: lg.Tensor,
    padding: int | None,
    max_norm: float | None,
    norm_type: float,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> lg.Tensor:
    _check(name, input, weight.shape[0])
    if max_norm is not None:
        _renormalise(weight, input, max_norm, norm_type)
    y: lg.Tensor
    if sparse:
        from lucidgrad.ops.rows import take_rows  # which few programs need

        y = take_rows(weight, input, padding)
    else:
        y = lg.take(weight, input, axis=0)
    if not y.requires_grad or (padding is None and not scale_grad_by_freq):
        return y
    with lg.no_grad():
        factor = lg.ones(input.shape, dtype=weight.dtype, device=weight.device)
        if scale_grad_by_freq:
            factor = factor / lg.take(_counts(input, weight.shape[0], weight.dtype), input, axis=0)
        if padding is not None:
            factor = lg.where(input == padding, 0.0, factor)
        factor = lg.expand_dims(factor, axis=-1)
    return _ScaledGradient.apply(y, factor)


def embedding(
    input: lg.Tensor,
    weight: lg.Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> lg.Tensor:
    """Rows of a matrix by index.

    Parameters
    ----------
    input : Tensor
        Indices, of any shape.
    weight : Tensor
        Of shape (rows, length).
    padding_idx : int, optional
        A row that gets no gradient.
    max_norm : float, optional
        Rows that are longer are shortened to it first, in ``weight`` itself.
    norm_type : float
        The p of that norm.
    scale_grad_by_freq : bool
        Divide the gradient of a row by how often it is asked for.
    sparse : bool
        Let the gradient of a leaf be row-sparse: indices and the rows that were looked up, and nothing as large as
        ``weight``. `SGD`, `Adagrad` and `SparseAdam` step on these rows alone; anything else makes it dense first.
        Where it is recorded (``create_graph=True``), mapped or compiled, it is dense.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.ones((3, 2), requires_grad=True)
    >>> lg.nn.functional.embedding(lg.tensor([2, 0, 2]), w).sum().backward()
    >>> w.grad
    tensor([[1., 1.],
            [0., 0.],
            [2., 2.]])
    >>> w.grad = None
    >>> lg.nn.functional.embedding(lg.tensor([2, 0, 2]), w, sparse=True).sum().backward()
    >>> w.grad.coalesce()
    tensor(indices=tensor([[0, 2]]),
           values=tensor([[1., 1.],
                          [2., 2.]]),
           size=(3, 2), nnz=2, layout=row-sparse)
    """
    padding = _row("embedding", padding_idx, weight.shape[0])
    return _looked_up("embedding", input, weight, padding, max_norm, norm_type, scale_grad_by_freq, sparse)


def embedding_bag(
    input: lg.Tensor,
    weight: lg.Tensor,
    offsets: lg.Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: lg.Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> lg.Tensor:
    """Sums, means or maxima of the rows in bags of indices.

    Parameters
    ----------
    input : Tensor
        Of shape (bags, indices in each), or one axis that ``offsets`` divides into bags.
    weight : Tensor
        Of shape (rows, length).
    offsets : Tensor, optional
        Where each bag starts.
    max_norm, norm_type, scale_grad_by_freq, sparse
        As in `embedding`.
    mode : {"mean", "sum", "max"}
        What is made of a bag.
    per_sample_weights : Tensor, optional
        Factors of the rows, of the shape of ``input``; for sums only.
    include_last_offset : bool
        Whether the last of ``offsets`` is the end of the last bag.
    padding_idx : int, optional
        A row that doesn't count.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.tensor([[1.0], [10.0], [100.0]])
    >>> bags, starts = lg.tensor([0, 1, 2, 2]), lg.tensor([0, 3])
    >>> lg.nn.functional.embedding_bag(bags, w, starts, mode="sum")
    tensor([[111.],
            [100.]])
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum or mean" if mode == "" else f"mode: given {mode!r}, expected "
                         "'sum', 'mean' or 'max'")  # fmt: skip
    if per_sample_weights is not None:
        if mode != "sum":
            raise ValueError(
                "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
                f"(got mode='{mode}')."
            )
        if per_sample_weights.shape != input.shape:
            raise ValueError(
                f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
                f"same shape as the input ({input.shape})"
            )
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    input, bags, count = _bags(input, offsets, include_last_offset)
    padding = _row("embedding_bag", padding_idx, weight.shape[0])
    y = _looked_up("embedding_bag", input, weight, padding, max_norm, norm_type, scale_grad_by_freq, sparse)
    used = None if padding is None else (input != padding).to(weight.dtype)
    factor = used
    if per_sample_weights is not None:
        flat = lg.reshape(per_sample_weights, (-1,))
        factor = flat if used is None else flat * used
    return _bag_maxima(y, bags, count, used) if mode == "max" else _bag_sums(y, bags, count, used, factor, mode)


@rounded_once
def _bag_sums(y: Any, bags: Any, count: int, used: Any, factor: Any, mode: str) -> Any:
    if factor is not None:
        y = y * lg.expand_dims(factor, axis=-1)
    total = lg.index_add(lg.zeros((count, y.shape[1]), dtype=y.dtype, device=y.device), 0, bags, y)
    if mode == "sum":
        return total
    sizes = _bag_sizes(bags, count, used, y)
    return total / lg.expand_dims(lg.clip(sizes, 1, None), axis=-1)


def _bags(input: lg.Tensor, offsets: lg.Tensor | None, include_last_offset: bool) -> tuple[lg.Tensor, lg.Tensor, int]:
    """The indices along one axis, the bag of each, and how many bags there are."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        count, each = input.shape
        bags = lg.repeat(lg.arange(count, device=input.device), each)
        return lg.reshape(input, (-1,)), bags, count
    if input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    raw = on_host(offsets)
    if raw is not None and raw.size:
        if raw[0] != 0:
            raise RuntimeError(
                "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
                f"However, got {int(raw[0])}"
            )
        if raw[-1] > input.shape[0]:
            raise RuntimeError(
                f"offsets[-1] can not be greater than input's length({input.shape[0]}) but got offsets[-1] of "
                f"{int(raw[-1])}"
            )
    count = offsets.shape[0] - include_last_offset
    places = lg.arange(input.shape[0], device=input.device, dtype=offsets.dtype)
    bags = lg.searchsorted(offsets[:count], places, side="right") - 1
    return input, bags, count


def _bag_sizes(bags: lg.Tensor, count: int, used: lg.Tensor | None, y: lg.Tensor) -> lg.Tensor:
    ones = lg.ones(bags.shape, dtype=y.dtype, device=y.device) if used is None else used
    return lg.index_add(lg.zeros((count,), dtype=y.dtype, device=y.device), 0, bags, ones)


def _bag_maxima(y: lg.Tensor, bags: lg.Tensor, count: int, used: lg.Tensor | None) -> lg.Tensor:
    sizes = _bag_sizes(bags, count, used, y)
    if used is not None:
        y = lg.where(lg.expand_dims(used, axis=-1) > 0, y, -lg.inf)
    start = lg.full((count, y.shape[1]), -lg.inf, dtype=y.dtype, device=y.device)
    places = lg.broadcast_to(lg.expand_dims(bags, axis=-1), y.shape)
    found = lg.scatter_reduce(start, 0, places, y, "amax", include_self=False)
    return lg.where(lg.expand_dims(sizes, axis=-1) > 0, found, 0.0)  # an empty bag gives zeros


def one_hot(tensor: lg.Tensor, num_classes: int = -1) -> lg.Tensor:
    """Vectors that are one at an index and zero elsewhere.

    Parameters
    ----------
    tensor : Tensor
        Indices, of dtype int64.
    num_classes : int
        The length of the vectors; by default the largest index decides, which must be fetched from the device.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.one_hot(lg.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if str(tensor.dtype) != "int64":
        raise RuntimeError(f"one_hot is only applicable to index tensor of type int64, given {tensor.dtype}")
    raw = on_host(tensor)
    if raw is not None and raw.size:
        if raw.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        if num_classes >= 0 and raw.max() >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
    if num_classes == -1:
        if not tensor.size:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(lg.max(tensor).item()) + 1
    elif num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    places = lg.arange(num_classes, device=tensor.device)
    return (lg.expand_dims(tensor, axis=-1) == places).to(lg.int64)
