"""`gradcheck` and `gradgradcheck`: derivatives against differences."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.refusals import guard as _guard
from lucidgrad.tensor import Tensor

from .differences import Check, GradcheckError, Tolerance, Ways, as_tuple, is_checked, leaf, outputs_of, random_like
from .gradient import grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compare the gradients of a function with central differences.

    Every entry of every Jacobian is compared as ``|analytical - numerical| <= atol + rtol * |numerical|``.
    A complex output counts as two real ones, and the gradient with respect to a complex entry is
    ``dL/dRe + i dL/dIm``, PyTorch's convention. The inputs and their ``.grad`` stay as they are.

    Parameters
    ----------
    func
        A function of tensors that returns a tensor or a sequence of tensors.
    inputs
        Its arguments. Tensors that require grad are checked; they should be float64 or complex128.
    eps
        The step of the differences.
    atol, rtol
        The tolerance.
    raise_exception
        Raise `GradcheckError` that says where and by how much, or just return False.
    nondet_tol
        By how much two backward passes over the same graph may differ.
    check_undefined_grad
        Check that an output without a gradient counts as one with a gradient of zeros.
    check_grad_dtypes
        Check that gradients have their inputs' dtypes.
    check_batched_grad
        Check ``is_grads_batched`` against one call per seed.
    check_batched_forward_grad
        Check a batch of tangents against one call per tangent.
    check_forward_ad
        Compare the tangents of forward mode with differences, too.
    check_backward_ad
        Compare gradients at all.
    fast_mode
        Compare three random projections of the Jacobians: six evaluations per input instead of two per entry. They
        must agree but for rounding; where they don't, every entry is compared.

    Returns
    -------
    bool
        True if all is well.

    Raises
    ------
    GradcheckError
        If a derivative is wrong; if the function has no derivative at this point (its left and right
        derivatives stay apart as the step shrinks); if an output changes with an input but has no history.
    ValueError
        If no input requires grad.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 2.0], dtype=lg.float64, requires_grad=True)
    >>> lg.autograd.gradcheck(lambda x: x * x, (x,))
    True
    >>> (g,) = lg.autograd.grad((x * x).sum(), x)
    >>> g.tolist()
    [1.0, 4.0]
    """
    tolerance = Tolerance(eps, atol, rtol, nondet_tol)
    check = Check("gradcheck", func, inputs, tolerance)
    try:
        check.run(
            Ways(
                fast=fast_mode,
                undefined=check_undefined_grad,
                dtypes=check_grad_dtypes,
                batched=check_batched_grad,
                backward=check_backward_ad,
                forward=check_forward_ad,
                batched_forward=check_batched_forward_grad,
            )
        )
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Any] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
) -> bool:
    """Compare second derivatives with differences of first ones.

    Checks the gradients of ``grad(func(*inputs), inputs, grad_outputs, create_graph=True)`` with respect to
    the inputs and the ``grad_outputs``. See `gradcheck` for the parameters.

    Parameters
    ----------
    grad_outputs
        The seeds, one per output that requires grad; random ones by default. Of given ones, those that require grad
        are checked.
    gen_non_contig_grad_outputs
        Make the random seeds views with gaps in their memory.
    check_fwd_over_rev
        Compare the tangents of the gradients, by forward mode, with differences, too.
    check_rev_over_rev
        Compare the gradients of the gradients at all.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 2.0], dtype=lg.float64, requires_grad=True)
    >>> lg.autograd.gradgradcheck(lambda x: x * x * x, (x,))
    True
    """
    given = as_tuple(inputs)
    fresh = tuple(leaf(x) if is_checked(x) else x for x in given)
    outputs = [y for y in outputs_of(func(*fresh)) if y.requires_grad]
    if grad_outputs is None:
        draw = random.Random(1)
        seeds = tuple(leaf(random_like(y, draw, gaps=gen_non_contig_grad_outputs)) for y in outputs)
    else:
        seeds = as_tuple(grad_outputs)
        if len(seeds) != len(outputs):
            raise ValueError(
                f"gradgradcheck: given {len(seeds)} grad_outputs for {len(outputs)} outputs that require grad"
            )
    wanted = [i for i, x in enumerate(given) if is_checked(x)]

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        xs, gs = args[: len(given)], args[len(given) :]
        ys = [y for y in outputs_of(func(*xs)) if y.requires_grad]
        found = grad(ys, [xs[i] for i in wanted], gs, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    check = Check("gradgradcheck", gradients, (*given, *seeds), Tolerance(eps, atol, rtol, nondet_tol))
    try:
        check.run(
            Ways(
                fast=fast_mode,
                undefined=check_undefined_grad,
                dtypes=check_grad_dtypes,
                batched=check_batched_grad,
                backward=check_rev_over_rev,
                forward=check_fwd_over_rev,
                batched_forward=False,
            )
        )
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


_guard(__name__, __all__)
