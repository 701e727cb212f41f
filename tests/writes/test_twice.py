"""Gradients with ``create_graph=True`` can be differentiated again: to zeros where they are constant (S001-18)."""

import contextlib
import warnings

import numpy as np
import pytest
from expressions import arguments, evaluate, expressions, name_of, names_in, torch

import lucidgrad as lg

UNREADABLE = (AttributeError, TypeError, ValueError, BufferError, IndexError, NotImplementedError)

#: Linear functions whose gradients PyTorch ties to x, which it keeps for its shape: beside others these have none here.
LINEAR = """pad avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d lp_pool2d
max_unpool1d max_unpool2d max_unpool3d interpolate nll_loss Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d
ConvTranspose3d PReLU""".split()

#: Random numbers, places that are named twice, vectors of any sign, arguments of which PyTorch forgets that a part is
#: not read, or another meaning than PyTorch's function of that name.
UNLIKE = """rrelu rrelu_ gumbel_softmax dropout normal scatter std var median nanmedian lstsq index_copy
scatter_reduce lobpcg cholesky_solve cholesky_inverse""".split()


def _leaves(library, expression):
    """The arguments as products of two leaves each, and all leaves."""
    leaves = arguments(library, names_in(expression), requires_grad=True)
    scales = {k: library.ones_like(t).requires_grad_() for k, t in leaves.items() if t.requires_grad}
    given = {k: t * scales[k] if k in scales else t for k, t in leaves.items()}
    return given, [t for k in scales for t in (leaves[k], scales[k])]


def _total(ys):
    return sum((y.real + 2 * y.imag).sum() if y.is_complex() else y.sum() for y in ys)


def _twice(library, expression, composed):
    """First and second derivatives, or None where there are no first ones."""
    if composed:
        given, leaves = _leaves(library, expression)
    else:
        given = arguments(library, names_in(expression), requires_grad=True)
        leaves = [t for t in given.values() if t.requires_grad]
    ys = [y for y in evaluate(library, expression, given) if y.requires_grad]
    if not ys or not leaves:
        return None
    first = library.autograd.grad(_total(ys), leaves, create_graph=True, allow_unused=True)
    used = [(g, x) for g, x in zip(first, leaves, strict=True) if g is not None]
    if library is lg:
        assert all(g.requires_grad for g, _ in used), "a gradient does not require grad"
    return first, library.autograd.grad(_total([g for g, _ in used]), [x for _, x in used])


def _peers(expression, composed):
    """PyTorch's derivatives, None where it has none, gives up, or draws numbers of its own."""
    if torch is None:
        return None
    with contextlib.suppress(RuntimeError, *UNREADABLE):
        found = _twice(torch, expression, composed)
        return found and [[None if g is None else g.detach().numpy(force=True) for g in gs] for gs in found]
    return None


def _broken(expression, composed):
    unlike = expression.startswith("nn.") or name_of(expression) in UNLIKE
    peers = _peers(expression, composed)
    try:
        found = _twice(lg, expression, composed)
    except (RuntimeError, AssertionError) as error:
        if "no derivative with respect to" in str(error) or "would leave the tape" in str(error):
            return None
        if peers is None or name_of(expression) in LINEAR:
            return None  # PyTorch does not know of a second derivative, either
        return str(error)
    if found is None or peers is None or unlike:
        return None
    for ours, theirs in zip(found, peers, strict=True):
        for a, b in zip(ours, theirs, strict=False):
            if a is not None and b is not None and not np.allclose(a.detach().numpy(), b, 1e-6, 1e-8, equal_nan=True):
                return "differs from PyTorch's"
    return None


@pytest.mark.parametrize("composed", [False, True], ids=["of leaves", "composed"])
@pytest.mark.parametrize("start", ["lg.", "F.", "nn.", "special.", ""])
def test_gradients_can_be_differentiated_again(start, composed):
    spaces = ("lg.", "F.", "nn.", "special.")
    chosen = [e for e in expressions() if (e.startswith(start) if start else not e.startswith(spaces))]
    chosen = [e for e in chosen if ".eval()" not in e]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not {e: words for e in chosen if (words := _broken(e, composed))}


PIECES = {
    "relu": lg.nn.functional.relu,
    "leaky_relu": lg.nn.functional.leaky_relu,
    "hardtanh": lg.nn.functional.hardtanh,
    "abs": lg.abs,
    "clamp": lambda x: x.clamp(-1.0, 1.0),
    "maximum": lambda x: lg.maximum(x, 0.5),
    "max": lambda x: x.max(),
    "max_pool1d": lambda x: lg.nn.functional.max_pool1d(x.reshape(1, 1, 4), 2),
}


@pytest.mark.parametrize("name", PIECES)
def test_second_derivatives_of_pieces_are_zeros_also_in_a_network(name):
    x, w = lg.tensor([1.0, -2.0, 3.0, -0.5], requires_grad=True), lg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = PIECES[name](x * w)
    (g,) = lg.autograd.grad((y * y.detach()).sum(), x, create_graph=True)
    of_x, of_w = lg.autograd.grad(g.sum(), (x, w))
    assert of_x.tolist() == [0.0] * 4  # the slope y.detach() / w is a constant
    np.testing.assert_allclose((of_w * w).detach().numpy(), g.detach().numpy())  # g is linear in w


def test_constants_stay_constants_where_that_matters():
    with pytest.raises(RuntimeError, match="strict"):
        lg.autograd.functional.hessian(lambda x: x.sum(), lg.ones(2), strict=True)
    x = lg.ones(2, requires_grad=True)
    (g,) = lg.autograd.grad((3 * x).sum(), x, create_graph=True)
    (h,) = lg.autograd.grad(g.sum(), x, create_graph=True)
    assert g.requires_grad and h.requires_grad and h.tolist() == [0.0, 0.0]
