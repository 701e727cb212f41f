"""What hooks may return: every kind of hook with every kind of value, here and in PyTorch."""

import pytest
from golden import peer

import lucidgrad as lg

#: What a hook that sees the gradient g returns.
VALUES = {
    "None": lambda lib, g: None,
    "itself": lambda lib, g: g,
    "another": lambda lib, g: g * 2,
    "a float": lambda lib, g: 2.0,
    "zero": lambda lib, g: 0,
    "False": lambda lib, g: False,
    "a string": lambda lib, g: "g",
    "a list": lambda lib, g: [g],
    "a dict": lambda lib, g: {},
    "a tuple": lambda lib, g: (g,),
    "no tuple entries": lambda lib, g: (),
    "too many": lambda lib, g: (g, g, g),
    "a tuple of None": lambda lib, g: (None,),
    "a tuple of a float": lambda lib, g: (1.0,),
    "a tuple of another shape": lambda lib, g: (lib.ones(3),),
    "a tuple of another dtype": lambda lib, g: (lib.ones(2, dtype=lib.float64),),
    "another tuple": lambda lib, g: (lib.ones(2) * 7,),
    "another shape": lambda lib, g: lib.ones(3),
    "a shape to broadcast": lambda lib, g: lib.ones(1),
    "a number's shape": lambda lib, g: lib.tensor(2.0),
    "another precision": lambda lib, g: g.to(lib.float64),
    "integers": lambda lib, g: lib.ones(2, dtype=lib.int64),
    "complex numbers": lambda lib, g: lib.ones(2, dtype=lib.complex64),
}


def first(g):
    return g[0] if isinstance(g, (tuple, list)) else g


#: How a hook is registered that gets ``x`` (a leaf), ``y`` (made of it by an operation with one input).
HOOKS = {
    "tensor": lambda lib, x, y, hook: y.register_hook(hook),
    "leaf": lambda lib, x, y, hook: x.register_hook(hook),
    "accumulated": lambda lib, x, y, hook: x.register_post_accumulate_grad_hook(hook),
    "node, before": lambda lib, x, y, hook: y.grad_fn.register_prehook(hook),
    "node, after": lambda lib, x, y, hook: y.grad_fn.register_hook(lambda gs, _: hook(gs)),
    "leaf's node, before": lambda lib, x, y, hook: leaf_node(y).register_prehook(hook),
    "leaf's node, after": lambda lib, x, y, hook: leaf_node(y).register_hook(lambda _, gs: hook(gs)),
    "several": lambda lib, x, y, hook: lib.autograd.graph.register_multi_grad_hook((x, y), hook),
    "any": lambda lib, x, y, hook: lib.autograd.graph.register_multi_grad_hook((x, y), hook, mode="any"),
}


def leaf_node(y):
    return y.grad_fn.next_functions[0][0]


def outcome(lib, kind, value):
    """The gradient, or the class of the error."""
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    HOOKS[kind](lib, x, y, lambda g: VALUES[value](lib, first(g)))
    try:
        (y * 3).sum().backward()
    except TypeError:
        return "TypeError"
    except RuntimeError:
        return "RuntimeError"
    return None if x.grad is None else x.grad.tolist()


@pytest.mark.parametrize("kind", HOOKS)
def test_values_are_used_or_refused_as_in_pytorch(kind):
    torch = peer("torch")
    for value in VALUES:
        ours, theirs = outcome(lg, kind, value), outcome(torch, kind, value)
        if isinstance(ours, str) or isinstance(theirs, str):
            assert ours == theirs, value
        else:
            assert ours == (theirs if theirs is None else pytest.approx(theirs, rel=1e-6)), value


#: Kinds of hooks, and what they may return without an error; the class of the error where it is wrong.
ACCEPTED = {
    "tensor": ["None", "itself", "another"],
    "leaf": ["None", "itself", "another"],
    "accumulated": ["None", "itself"],
    "node, before": ["None", "a tuple", "a tuple of None", "another tuple"],
    "node, after": ["None", "a tuple", "a tuple of None", "another tuple"],
    "leaf's node, before": ["None", "a tuple", "a tuple of None", "another tuple"],
    "leaf's node, after": ["None", "no tuple entries"],
    "several": list(VALUES),
    "any": list(VALUES),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("kind", ACCEPTED)
def test_nothing_wrong_is_ignored(kind, value):
    found = outcome(lg, kind, value)
    assert isinstance(found, str) == (value not in ACCEPTED[kind])


def test_a_wrong_return_of_an_accumulate_hook_says_what_was_expected():
    x = lg.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda t: t.grad * 2)
    with pytest.raises(RuntimeError, match="post accumulate grad hook returned Tensor, expected None"):
        x.sum().backward()


class Mixed(lg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * 3
        ctx.save_for_backward(y)
        return 5, x * 2, "text", y, None, x.argmax()

    @staticmethod
    def backward(ctx, *gs):
        (y,) = ctx.saved_tensors
        return gs[1] * 2 + gs[3] * y


def test_outputs_that_are_no_tensors_count():
    x = lg.tensor([1.0, 2.0], requires_grad=True)
    results = Mixed.apply(x)
    one, two = results[1], results[3]
    assert (one.output_nr, two.output_nr) == (1, 3)
    seen = []
    one.grad_fn.register_prehook(lambda gs: seen.append([None if g is None else g.tolist() for g in gs]))
    one.grad_fn.register_hook(lambda gs, outer: seen.append([None if g is None else g.tolist() for g in outer]))
    two.sum().backward(retain_graph=True)
    assert seen == [[None, None, None, [1.0, 1.0], None, None]] * 2
    assert x.grad.tolist() == [3.0, 6.0]
    edge = lg.autograd.graph.GradientEdge(one.grad_fn, 3)
    assert lg.autograd.grad((two * two).sum(), edge, retain_graph=True)[0].tolist() == [6.0, 12.0]
    with pytest.raises(IndexError, match="output 2 of MixedBackward is no tensor"):
        lg.autograd.grad(two.sum(), lg.autograd.graph.GradientEdge(one.grad_fn, 2))
    (g,) = lg.autograd.grad(two.sum(), x, create_graph=True)  # which is y, so backward gives y again
    assert lg.autograd.grad(g.sum(), x)[0].tolist() == [3.0, 6.0]


def test_a_prehook_may_take_every_gradient_away():
    x = lg.tensor([1.0, 2.0], requires_grad=True)
    y, z = lg.unstack(x * 1)
    y.grad_fn.register_prehook(lambda gs: (None, None))
    (y + z).backward()
    assert x.grad.tolist() == [0.0, 0.0]
