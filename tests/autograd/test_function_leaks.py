"""Calls of custom functions leave nothing behind, whichever transform they go through."""

import gc
import sys
import weakref

import pytest
from thoroughness import cases

import lucidgrad as lg
from lucidgrad import func

forward_ad = lg.autograd.forward_ad


class Cube(lg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x * x * g

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 3 * x * x * t


class Split(lg.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x, x + 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return 2 * x * g + h


class Mapped(Split):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        return Split.apply(x), (in_dims[0], in_dims[0])


def cube(x):
    return Cube.apply(x).sum()


def split(x):
    y, z = Split.apply(x)
    return (y * z).sum()


def mapped(x):
    y, z = Mapped.apply(x)
    return (y * z).sum()


def dual(f, x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, lg.ones_like(x)))).tangent


USES = {
    "backward": lambda f, x: f(x.clone().requires_grad_()).backward(),
    "grad": lambda f, x: func.grad(f)(x),
    "grad of grad": lambda f, x: func.grad(lambda y: func.grad(f)(y).sum())(x),
    "jvp": lambda f, x: func.jvp(f, (x,), (lg.ones_like(x),)),
    "dual numbers": dual,
    "vmap": lambda f, x: func.vmap(f)(x.reshape(2, 2)),
    "vmap of grad": lambda f, x: func.vmap(func.grad(f))(x.reshape(2, 2)),
    "jacrev": lambda f, x: func.jacrev(f)(x),
    "jacfwd": lambda f, x: func.jacfwd(f)(x),
    "hessian": lambda f, x: func.hessian(f)(x),
    "checkpoint": lambda f, x: lg.utils.checkpoint.checkpoint(
        f, x.clone().requires_grad_(), use_reentrant=False
    ).backward(),
}


@pytest.fixture(autouse=True)
def _only_what_is_new():
    gc.collect()
    gc.freeze()  # what is there already need not be looked at


def objects():
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.parametrize("f", [cube, split, mapped])
@pytest.mark.parametrize("name", USES)
def test_calls_leave_nothing_behind(f, name):
    use, x, count = USES[name], lg.tensor([1.0, 2.0, 3.0, 4.0]), cases(20, 200)
    try:
        use(f, x)
    except RuntimeError as error:  # e.g. no vmap rule
        pytest.skip(str(error))
    for _ in range(3):
        use(f, x)
    before = objects()
    for _ in range(count):
        use(f, x)
    assert objects() - before < count


@pytest.mark.skipif(
    sys.version_info[:2] == (3, 13) and not sys._is_gil_enabled(),
    reason="free-threaded Python 3.13 never lets go of classes once it had a second thread",
)
@pytest.mark.parametrize("name", ["jvp", "dual numbers", "jacfwd", "hessian"])
def test_a_function_made_for_one_call_is_let_go(name):
    made = type("Once", (Cube,), {})
    gone = weakref.ref(made)
    use = made.apply
    USES[name](lambda x, use=use: use(x).sum(), lg.ones(4))
    del made, use
    gc.collect()
    assert gone() is None
