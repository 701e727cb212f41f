"""What ``backward`` finds in ``ctx.saved_tensors``, and what others find there: here and in PyTorch."""

import gc
import weakref

import pytest
from golden import installed, peer

import lucidgrad as lg

VALUES = [1.0, 2.0]


#: PyTorch is held to the same, where it is installed.
LIBRARIES = ["lucidgrad", *["torch"] * installed()]


@pytest.fixture(params=LIBRARIES)
def lib(request):
    return lg if request.param == "lucidgrad" else peer("torch")


def leaf(lib, values=VALUES):
    return lib.tensor(values, requires_grad=True)


def function(lib, rule, save=lambda x, y: (x,)):
    """A Function that doubles, whose backward is a rule of ctx and the gradient."""

    class Doubled(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(*save(x, y))
            ctx.y, ctx.number = y, 3
            return y

        @staticmethod
        def backward(ctx, g):
            return rule(ctx, g)

    return Doubled


MODES = [{}, {"retain_graph": True}, {"create_graph": True}]


@pytest.fixture(params=MODES, ids=["plain", "retain_graph", "create_graph"])
def mode(request):
    return request.param


def test_a_saved_leaf_is_the_leaf(lib, mode):
    seen = []

    def rule(ctx, g):
        (saved,) = ctx.saved_tensors
        seen.append((saved.requires_grad, saved.is_leaf, saved.grad_fn, lib.is_grad_enabled()))
        return g * saved

    x = leaf(lib)
    function(lib, rule).apply(x).sum().backward(**mode)
    assert seen == [(True, True, None, "create_graph" in mode)]
    assert x.grad.tolist() == [1.0, 2.0]


def test_a_saved_input_has_its_history(lib, mode):
    seen = []

    def rule(ctx, g):
        (saved,) = ctx.saved_tensors
        seen.append((saved.requires_grad, saved.is_leaf, saved.grad_fn is m.grad_fn))
        return g

    x = leaf(lib)
    m = x * 1
    function(lib, rule).apply(m).sum().backward(**mode)
    assert seen == [(True, False, True)]


def test_a_saved_output_has_its_history(lib, mode):
    seen = []

    def rule(ctx, g):
        (y,) = ctx.saved_tensors
        seen.append((y.requires_grad, y.is_leaf, ctx.y.requires_grad, ctx.needs_input_grad))
        return g

    x = leaf(lib)
    function(lib, rule, lambda x, y: (y,)).apply(x).sum().backward(**mode)
    assert seen == [(True, False, True, (True,))]


@pytest.mark.parametrize("interior", [False, True])
def test_gradients_by_grad_inside(lib, mode, interior):
    w = leaf(lib, [2.0, 3.0])

    def rule(ctx, g):
        (saved,) = ctx.saved_tensors
        with lib.enable_grad():
            value = (saved * saved * w).sum()
            (found,) = lib.autograd.grad(value, saved)
        return g * found

    x = leaf(lib)
    m = x * 1 if interior else x
    (function(lib, rule).apply(m) * 1).sum().backward(**mode)
    assert x.grad.tolist() == [4.0, 12.0]
    assert w.grad is None


def test_a_backward_inside_reaches_leaves_that_are_closed_over(lib, mode):
    w = leaf(lib, [2.0, 3.0])

    def rule(ctx, g):
        (saved,) = ctx.saved_tensors
        with lib.enable_grad():
            (saved.detach() * w).sum().backward()
        return g * 2

    x = leaf(lib)
    function(lib, rule).apply(x * 1).sum().backward(**mode)
    assert w.grad.tolist() == [1.0, 2.0]
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_backward_inside_reaches_saved_leaves(lib, mode):
    w = leaf(lib, [2.0, 3.0])

    def rule(ctx, g):
        (saved,) = ctx.saved_tensors
        with lib.enable_grad():
            (saved * w).sum().backward()
        return g * 2

    x = leaf(lib)
    function(lib, rule).apply(x).sum().backward(**mode)
    assert w.grad.tolist() == [1.0, 2.0]
    assert x.grad.tolist() == [4.0, 5.0]


def test_a_backward_inside_that_frees_the_rest_of_the_graph_is_told(lib, mode):
    def rule(ctx, g):
        (saved,) = ctx.saved_tensors
        with lib.enable_grad():
            saved.sum().backward()
        return g * 2

    x = leaf(lib)
    y = function(lib, rule).apply(x * x)
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward(**mode)


def test_hooks_that_walk_may_free_as_well(lib):
    x = leaf(lib)
    m = x * x
    y, total = m.exp(), m.sum()
    y.register_hook(lambda g: total.backward())
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


def test_saved_tensors_are_there_until_they_are_freed(lib):
    x = leaf(lib)
    y = function(lib, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
    assert [t.tolist() for t in y.grad_fn.saved_tensors] == [VALUES]
    assert y.grad_fn.saved_tensors[0] is x
    assert (y.grad_fn.number, y.grad_fn.needs_input_grad) == (3, (True,))
    with pytest.raises(AttributeError, match="nothing"):
        y.grad_fn.nothing
    y.sum().backward(retain_graph=True)
    assert y.grad_fn.saved_tensors[0].requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="freed"):
        y.grad_fn.saved_tensors


def test_saved_tensors_that_were_written_are_refused(lib):
    x = leaf(lib)
    y = function(lib, lambda ctx, g: g).apply(x)
    with lib.no_grad():
        x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an in-?place operation"):
        y.grad_fn.saved_tensors


def test_a_context_that_was_kept_tells_the_same():
    kept = []

    def save(x, y):
        return (x, y, None)

    class Keeps(function(lg, lambda ctx, g: g, save)):
        @staticmethod
        def forward(ctx, x):
            kept.append(ctx)
            y = x * 2
            ctx.save_for_backward(*save(x, y))
            return y

    x = leaf(lg)
    y = Keeps.apply(x)
    saved = kept[0].saved_tensors
    assert saved[0] is x
    assert saved[1].grad_fn is y.grad_fn
    assert saved[2] is None
    del y, saved
    gc.collect()
    with pytest.raises(RuntimeError, match="the graph that kept them is gone"):
        kept[0].saved_tensors


def test_nothing_is_kept_alive_by_a_context():
    y = function(lg, lambda ctx, g: g, lambda x, y: (x,)).apply(leaf(lg) * 1)
    node = weakref.ref(y.grad_fn)
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        gc.enable()
