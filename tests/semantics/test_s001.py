"""``torch.autograd.grad``; its note on streams has a file of its own."""

import inspect

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.autograd import grad
from lucidgrad.autograd.graph import GradientEdge, get_gradient_edge

from .conftest import fires, same, values

IMPLICIT = "grad can be implicitly created only for scalar outputs"
NO_GRAPH = "of tensors does not require grad and does not have a grad_fn"
NO_ZEROS = "materialize_grads cannot be used when the given input is a GradientEdge"


def test_S001_01_signature():
    parameters = dict(inspect.signature(grad).parameters)
    extension = parameters.pop("chunk_size")
    assert extension.kind is extension.KEYWORD_ONLY and extension.default is None
    assert {name: p.default for name, p in list(parameters.items())[2:]} == {
        "grad_outputs": None,
        "retain_graph": None,
        "create_graph": False,
        "only_inputs": True,
        "allow_unused": None,
        "is_grads_batched": False,
        "materialize_grads": False,
    }
    assert list(parameters)[:2] == ["outputs", "inputs"]
    assert [p.default for p in list(parameters.values())[:2]] == [inspect.Parameter.empty] * 2
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters.values())


def test_S001_02_tuple_and_bare_arguments(leaf):
    x, unused = leaf([1.0, 2.0]), leaf([1.0])
    y = (x * x).sum()
    for outputs in (y, [y], get_gradient_edge(y), [get_gradient_edge(y)]):
        for inputs in (x, [x], get_gradient_edge(x), [get_gradient_edge(x)]):
            result = grad(outputs, inputs, retain_graph=True)
            assert type(result) is tuple
            assert len(result) == 1
            same(result[0], [2.0, 4.0])
    result = grad(y, (x, unused), allow_unused=True)
    assert type(result) is tuple
    assert result[1] is None


def test_S001_03_several_outputs_are_summed(leaf):
    x = leaf([1.0, 2.0])
    y1, y2 = (x * x).sum(), (x * x * x).sum()
    same(grad(y1, x, retain_graph=True)[0], [2.0, 4.0])
    same(grad(y2, x, retain_graph=True)[0], [3.0, 12.0])
    same(grad([y1, y2], [x])[0], [5.0, 16.0])


def test_S001_04_repeated_outputs_and_inputs(leaf):
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    same(grad([y, y], [x], retain_graph=True)[0], [4.0, 8.0])
    first, second = grad(y, [x, x], retain_graph=True)
    same(first, [2.0, 4.0])
    same(second, [2.0, 4.0])
    same(grad([y, y], [y])[0], 2.0)


def test_S001_05_not_accumulated_into_grad(leaf):
    x = leaf([1.0, 2.0])
    m = x * 3
    m.retain_grad()
    y = (m * m).sum()
    gx, gm = grad(y, [x, m], retain_graph=True)
    same(gx, [18.0, 36.0])
    same(gm, [6.0, 12.0])
    grad(y, [x])
    assert x.grad is None
    assert m.grad is None  # also where retain_grad() asks backward() to keep it


def test_S001_06_seeds_as_many_as_outputs(leaf, const):
    x = leaf([1.0, 2.0])
    y = x * x
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        grad([y, y], [x], [const([1.0, 1.0])])
    with pytest.raises(RuntimeError, match="got 1 tensors and 2 gradients"):
        grad([y], [x], [const([1.0, 1.0]), const([1.0, 1.0])])
    with pytest.raises(RuntimeError, match="got 1 tensors and 0 gradients"):
        grad([y.sum()], [x], [])


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_S001_07_none_for_a_scalar(leaf, const, shape):
    x, w = leaf(np.full(shape, 3.0)), leaf([1.0, 2.0])
    y = x * x
    same(grad(y, [x], [None], retain_graph=True)[0], np.full(shape, 6.0))
    same(grad([w * w, y], [x], [const([1.0, 1.0]), None])[0], np.full(shape, 6.0))


def test_S001_08_none_for_a_vector(leaf, const):
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=IMPLICIT):
        grad([x * x], [x], [None])
    with pytest.raises(RuntimeError, match=IMPLICIT):
        grad([x * x, x * 2], [x], [const([1.0, 1.0]), None])


def test_S001_09_none_for_output_without_grad(leaf, const):
    """Needs allow_unused or materialize_grads, by R8."""
    x, c = leaf([1.0, 2.0]), const([3.0, 4.0, 5.0])
    y = (x * x).sum()
    same(grad([c, y], [x], [None, None], allow_unused=True, retain_graph=True)[0], [2.0, 4.0])
    same(grad([y, c], [x], [const(2.0), None], allow_unused=True, retain_graph=True)[0], [4.0, 8.0])
    same(grad([y, c], [x], [None, None], materialize_grads=True)[0], [2.0, 4.0])


def test_S001_10_no_seeds_is_all_none(leaf):
    x = leaf([1.0, 2.0])
    y1, y2 = (x * x).sum(), (3 * x).sum()
    same(grad([y1, y2], [x], None, retain_graph=True)[0], [5.0, 7.0])
    same(grad([y1, y2], [x], [None, None])[0], [5.0, 7.0])


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 1), (1, 2)])
def test_S001_11_seed_shape_is_the_outputs(leaf, const, shape):
    x = leaf([1.0, 2.0])
    y = x * x
    with pytest.raises(RuntimeError, match=r"(?s)[Mm]ismatch in shape.*grad_outputs?\[1\].*outputs?\[1\]"):
        grad([y, y], [x], [const([1.0, 1.0]), const(np.ones(shape))])
    same(grad([y, y], [x], [const([1.0, 1.0]), const([0.0, 2.0])])[0], [2.0, 12.0])


def test_S001_12_seed_is_complex_as_the_output(leaf, const):
    x, z = leaf([1.0, 2.0]), leaf([1.0 + 2.0j, 3.0], lg.complex128)
    real, imaginary = x * 2, z * 2
    for outputs, seed in ((imaginary, const([1.0, 1.0])), (real, const([1.0, 1.0], lg.complex128))):
        with pytest.raises(RuntimeError, match=r"(?i)(?s)for complex tensors.*same dtype"):
            grad(outputs, [x if outputs is real else z], [seed])
    for seed in (1.0j, np.complex64(1.0j), np.array([1.0j, 1.0])):
        with pytest.raises(RuntimeError, match=r"(?i)complex"):
            grad(real, [x], [seed])  # no imaginary part is dropped in silence
    same(grad(imaginary, [z], [const([1.0, 1.0j], lg.complex128)])[0], [2.0, 2.0j])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_S001_13_no_implicit_complex_seed(leaf, dtype):
    z = leaf([1.0 + 2.0j, 3.0], getattr(lg, dtype))
    with pytest.raises(RuntimeError, match=f"(?s)only for real scalar outputs.*{dtype}"):
        grad((z * z).sum(), [z])


def test_S001_14_seed_cast_to_the_outputs_dtype(leaf, const):
    x = leaf([1.0, 2.0], lg.float32)
    (g,) = grad(x * 2, [x], [const([1 / 3, 1e-3], lg.float64)])
    assert g.dtype == lg.float32
    same(g, np.array([1 / 3, 1e-3], np.float32) * np.float32(2))
    x = leaf([1.0, 2.0])
    (g,) = grad(x * 2, [x], [const([1 / 3, 1e-3], lg.float32)])
    assert g.dtype == lg.float64
    same(g, np.array([1 / 3, 1e-3], np.float32).astype(np.float64) * 2)


def test_S001_15_without_retain_graph_freed(leaf):
    x = leaf([1.0, 2.0])
    y = lg.exp(x).sum()
    grad(y, [x], retain_graph=False)
    with pytest.raises(RuntimeError, match="exp.*a second time"):
        grad(y, [x])
    # Addition saves nothing, so there is nothing to miss.
    z = x + 1
    for _ in range(3):
        same(grad(z, [x], [lg.ones_like(z)], retain_graph=False)[0], [1.0, 1.0])


def test_S001_16_retain_graph_defaults_to_create_graph(leaf):
    x = leaf([1.0, 2.0])
    y = (x * x * x).sum()
    for retain_graph in ({}, {"retain_graph": None}):
        (g,) = grad(y, [x], create_graph=True, **retain_graph)
        assert g.requires_grad
    grad(y, [x])
    with pytest.raises(RuntimeError, match="a second time"):
        grad(y, [x], create_graph=True)


def test_S001_17_retained_graph_gives_identical_results(leaf):
    x = leaf([0.1, 0.7, -1.3])
    y = (lg.exp(x) * lg.sin(x)).sum()
    first, second = (grad(y, [x], retain_graph=True, create_graph=False)[0] for _ in range(2))
    assert first is not second
    same(second, values(first))
    assert not (first.requires_grad or second.requires_grad)


def test_S001_18_every_order_and_seeds(leaf):
    x = leaf([1.0, -2.0])
    g, derivatives = x**5, []
    for _ in range(5):
        (g,) = grad(g.sum(), [x], create_graph=True)
        derivatives.append(g)
    assert all(g.requires_grad for g in derivatives[:4])
    same(derivatives[1], [20.0, -160.0])
    same(derivatives[2], [60.0, 240.0])
    same(derivatives[3], [120.0, -240.0])
    same(derivatives[4], [120.0, 120.0])

    seed = leaf([3.0, 4.0])
    (g,) = grad(x * x, [x], [seed], create_graph=True)
    assert g.requires_grad
    gseed, gx = grad((g * g).sum(), [seed, x])  # g = 2 x seed
    same(gseed, [24.0, 128.0])
    same(gx, [72.0, -256.0])
    # A linear function: only the seed keeps its gradient differentiable.
    (g,) = grad(2 * x, [x], [seed], create_graph=True)
    same(grad(g.sum(), [seed])[0], [2.0, 2.0])


def test_S001_19_create_graph_without_retain_graph(leaf):
    x = leaf([1.0, 2.0])
    m = x * x
    (g,) = grad((m * m).sum(), [x], create_graph=True, retain_graph=False)  # g = 4 m x
    same(g, [4.0, 32.0])
    assert g.requires_grad
    same(grad(g.sum(), [m], retain_graph=True)[0], [4.0, 8.0])
    with pytest.raises(RuntimeError, match="a second time"):
        grad(g.sum(), [x])  # the path through m was freed
    # What lies behind the inputs was not walked and is not freed.
    m = x * x
    (g,) = grad((m * m).sum(), [m], create_graph=True, retain_graph=False)
    same(grad(g.sum(), [x])[0], [4.0, 8.0])


def test_S001_20_only_inputs_false_warns(leaf):
    x = leaf([1.0, 2.0])
    with pytest.warns(FutureWarning, match="only_inputs"):
        same(grad((x * x).sum(), [x], only_inputs=False)[0], [2.0, 4.0])


def test_S001_21_allow_unused_none_is_materialize_grads(leaf):
    x, unused = leaf([1.0, 2.0]), leaf([3.0])
    y = (x * x).sum()
    for materialize_grads in ({}, {"materialize_grads": False}):
        with pytest.raises(RuntimeError, match="allow_unused=True"):
            grad(y, [unused], allow_unused=None, **materialize_grads)
    same(grad(y, [unused], allow_unused=None, materialize_grads=True)[0], [0.0])


def test_S001_22_unused_input(leaf):
    x, unused = leaf([1.0, 2.0]), leaf([3.0])
    with pytest.raises(RuntimeError) as error:
        grad((x * x).sum(), [x, unused], allow_unused=False)
    assert error.match(r"One of the differentiated Tensors.* appears to not have been used in the graph")
    assert error.match(r"[Ss]et allow_unused=True")


@pytest.mark.parametrize("allow_unused", [None, False, True])
def test_S001_23_input_without_requires_grad(leaf, const, allow_unused):
    x, c = leaf([1.0, 2.0]), const([3.0, 4.0])
    with pytest.raises(RuntimeError, match="One of the differentiated Tensors.* does not require grad"):
        grad((x * c).sum(), [x, c], allow_unused=allow_unused)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_S001_24_materialized_zeros(leaf, device, dtype):
    x, unused = leaf([1.0, 2.0]), leaf([[1.0, 2.0, 3.0]], getattr(lg, dtype))
    gx, zeros = grad((x * x).sum(), [x, unused], materialize_grads=True)
    same(gx, [2.0, 4.0])
    same(zeros, [[0.0, 0.0, 0.0]])
    assert zeros.dtype == unused.dtype
    assert zeros.device == unused.device == device
    assert zeros.requires_grad is False

    # Derivatives of a linear function: 3, then 0 and 0 again, never an error.
    g = 3 * x
    for expected in ([3.0, 3.0], [0.0, 0.0], [0.0, 0.0]):
        (g,) = grad(g.sum(), [x], create_graph=True, materialize_grads=True)
        same(g, expected)
    (zeros,) = grad((x * x).sum(), [unused], create_graph=True, materialize_grads=True)
    assert zeros.requires_grad is True
    assert zeros.grad_fn is None


def test_S001_25_materialize_grads_without_allow_unused(leaf):
    x = leaf([1.0, 2.0])
    with pytest.raises(ValueError, match=r"(?s)materialize_grads=True.*allow_unused=False"):
        grad((x * x).sum(), [x], materialize_grads=True, allow_unused=False)


def test_S001_26_unused_edge_is_not_materialized(leaf):
    x, other = leaf([1.0, 2.0]), leaf([3.0])
    y = (x * x).sum()
    unused = get_gradient_edge(other * 2)
    with pytest.raises(RuntimeError, match=NO_ZEROS):
        grad(y, [x, unused], materialize_grads=True)
    # A used edge needs no zeros.
    same(grad(y, [get_gradient_edge(x), other], materialize_grads=True)[0], [2.0, 4.0])


def test_S001_27_batched_seeds_equal_a_loop(leaf, const):
    x, w = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), leaf([0.5, 1.0, 2.0])
    m = x * w
    outputs = [m * m, m.sum(axis=1)]
    seeds = [
        np.arange(24.0).reshape(4, 2, 3),
        np.arange(8.0).reshape(4, 2) - 3,
    ]
    log = fires(m)
    gx, gw = grad(outputs, [x, w], [const(s) for s in seeds], is_grads_batched=True, retain_graph=True)
    assert log == [0]  # one walk, not four
    loop = [grad(outputs, [x, w], [const(s[k]) for s in seeds], retain_graph=True) for k in range(4)]
    same(gx, np.stack([values(g) for g, _ in loop]))
    same(gw, np.stack([values(g) for _, g in loop]))
    assert gx.shape == (4, 2, 3)
    assert gw.shape == (4, 3)


@pytest.mark.parametrize("shape", [(4,), (4, 3), (2,), (2, 4)])
def test_S001_28_batched_seed_of_wrong_shape(leaf, const, shape):
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"is_grads_batched=True") as error:
        grad(x * x, [x], [const(np.ones(shape))], is_grads_batched=True)
    message = str(error.value)
    assert "(2,)" in message
    assert str(shape) in message or str(shape[1:]) in message


def test_S001_28_batches_of_different_size(leaf, const):
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"is_grads_batched=True"):
        grad([x * x, x * 2], [x], [const(np.ones((3, 2))), const(np.ones((1, 2)))], is_grads_batched=True)


def test_S001_29_batched_none_passes_through(leaf, const):
    x, unused = leaf([1.0, 2.0]), leaf([3.0])
    seeds = const([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    gx, none = grad(x * x, [x, unused], [seeds], is_grads_batched=True, allow_unused=True)
    same(gx, [[2.0, 0.0], [0.0, 4.0], [2.0, 4.0]])
    assert none is None


def test_S001_30_batched_eye_is_the_jacobian(leaf, const):
    x, matrix = leaf([1.0, 2.0, 3.0]), const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y = matrix @ (x * x)
    (jacobian,) = grad(y, [x], [const(np.eye(2))], is_grads_batched=True)
    same(jacobian, [[2.0, 8.0, 18.0], [8.0, 20.0, 36.0]])


def test_S001_31_gradient_edges(leaf, const):
    x = leaf([1.0, 2.0])
    m = x * 3
    y = m * m
    edge = get_gradient_edge(y)
    assert isinstance(edge, GradientEdge)
    assert edge.node is y.grad_fn
    assert edge.output_nr == 0
    made = GradientEdge(m.grad_fn, 0)
    same(grad(edge, [x], [const([1.0, 10.0])], retain_graph=True)[0], [18.0, 360.0])
    same(grad(y, [made], [const([1.0, 10.0])], retain_graph=True)[0], [6.0, 120.0])
    with pytest.raises(RuntimeError, match=IMPLICIT):
        grad(edge, [x])
    with pytest.raises(RuntimeError, match=r"[Mm]ismatch in shape"):
        grad(edge, [x], [const([1.0])])
    same(grad(get_gradient_edge(y.sum()), [x], retain_graph=True)[0], [18.0, 36.0])

    del m, y  # an edge keeps what it needs
    same(grad(edge, [made], [const([1.0, 1.0])])[0], [6.0, 12.0])


def test_S001_31_edge_found_through_next_functions(leaf, const):
    x = leaf([1.0, 2.0])
    scalar, vector = (x * x).sum() * 2, (x * x) * 2
    inner = GradientEdge(*scalar.grad_fn.next_functions[0])  # of a tensor that nobody holds
    same(grad(inner, [x])[0], [2.0, 4.0])
    inner = GradientEdge(*vector.grad_fn.next_functions[0])
    same(grad(inner, [x], [3.0], retain_graph=True)[0], [6.0, 12.0])
    with pytest.raises(RuntimeError, match=IMPLICIT):
        grad(inner, [x])
    with pytest.raises(RuntimeError, match=r"[Mm]ismatch in shape"):
        grad(inner, [x], [const([1.0, 1.0, 1.0])])
    same(grad(inner, [x], [const([1.0, 10.0])])[0], [2.0, 40.0])


def test_S001_31_edge_of_a_tensor_changed_in_place(leaf):
    x = leaf([1.0, 2.0])
    m = x * 3
    before = get_gradient_edge(m)
    m.mul_(2)
    after = get_gradient_edge(m)
    assert after.node is not before.node
    first, second, gx = grad((m * m).sum(), [before, after, x])
    same(first, [24.0, 48.0])
    same(second, [12.0, 24.0])
    same(gx, [72.0, 144.0])


def test_S001_32_edge_picks_one_of_many_outputs(leaf, const):
    x = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    parts = lg.unstack(x * 2)
    edges = [get_gradient_edge(part) for part in parts]
    assert len({(id(e.node), e.output_nr) for e in edges}) == 3
    expected = np.zeros((3, 2))
    expected[1] = 2.0, 20.0
    same(grad(edges[1], [x], [const([1.0, 10.0])], retain_graph=True)[0], expected)
    y = (parts[0] * parts[1] * parts[1]).sum()
    g0, g1 = grad(y, [edges[0], edges[1]], retain_graph=True)
    same(g0, [36.0, 64.0])
    same(g1, [24.0, 64.0])
    assert grad(y, [edges[2]], allow_unused=True, retain_graph=True) == (None,)


def test_S001_34_output_without_graph(leaf, const):
    x, c = leaf([1.0, 2.0]), const(3.0)
    with pytest.raises(RuntimeError, match=f"element 0 {NO_GRAPH}"):
        grad(c, [x])
    with pytest.raises(RuntimeError, match=f"element 1 {NO_GRAPH}"):
        grad([(x * x).sum(), c], [x])


def test_S001_35_seed_that_is_no_tensor(leaf):
    """Floats and raw arrays are accepted, by R10; anything else is torch's TypeError."""
    x = leaf([1.0, 2.0])
    y = x * x
    same(grad([y], [x], [2.0], retain_graph=True)[0], [4.0, 8.0])
    same(grad([y], [x], [np.array([1.0, 3.0])], retain_graph=True)[0], [2.0, 12.0])
    for seed in ("1.0", object(), {1.0}):
        with pytest.raises(TypeError, match=type(seed).__name__):
            grad([y], [x], [seed])


def test_S001_36_empty_arguments(leaf):
    x = leaf([1.0, 2.0])
    for empty in ([], (), iter([])):
        with pytest.raises(RuntimeError, match="(?s)inputs.*empty|empty.*inputs"):
            grad((x * x).sum(), empty)
    for empty in ([], (), iter([])):
        with pytest.raises(RuntimeError, match="(?s)outputs.*empty|empty.*outputs"):
            grad(empty, [x], allow_unused=True)


def test_S001_37_hooks_of_inputs(leaf):
    x = leaf([1.0, 2.0])
    m = x * 3
    y = (m * m).sum()
    log, seen = fires(m), []
    m.register_hook(lambda g: (seen.append(values(g).tolist()), g * 10)[1])
    same(grad(y, [m], retain_graph=True)[0], [60.0, 120.0])
    assert seen == [[6.0, 12.0]]
    assert log == []  # the node of m is where the walk stops

    x.register_hook(lambda g: -g)
    x.register_hook(lambda g: None)
    same(grad(y, [x])[0], [-180.0, -360.0])
    assert log == [0]
    assert x.grad is None


def test_S001_37_hook_of_a_leaf_that_is_an_output_too(leaf, const):
    x, seen = leaf([1.0, 2.0]), []
    x.register_hook(lambda g: seen.append(values(g).tolist()))
    outputs, seeds = [x, x * x, x * 3], [const([10.0, 10.0]), const([1.0, 1.0]), const([1.0, 1.0])]
    same(grad(outputs, [x], seeds)[0], [15.0, 17.0])
    assert seen == [[15.0, 17.0]]  # once, with all of it
