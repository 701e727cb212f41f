"""Results that are too large for the caches are stored past them: the same bits as those of smaller pieces."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends import codegen
from lucidgrad.backends.cpu.compiled import building, elementwise, threads, toolchain
from lucidgrad.backends.cpu.compiled.layouts import layout_of
from lucidgrad.core.primitive import registry

HALF = toolchain.STREAMED // 8 // 4096 * 4096
SIZE = 2 * HALF + 16 * 5 + 3  # of float32, larger than the caches; neither vectors nor blocks come out even
RNG = np.random.default_rng(11)
X, Y, G = (RNG.standard_normal(SIZE).astype("float32") for _ in range(3))

FUNCTIONS = {
    "relu": lambda x, y: lg.relu(x),
    "gelu": lambda x, y: lg.gelu(x),
    "two gradients": lambda x, y: x * y,
    "a number": lambda x, y: x * 1.5,
    "truth values": lambda x, y: lg.where(x > y, x, y),
}


def results(function, part):
    """The value of a function and its gradients."""
    x, y = (lg.tensor(a[part], requires_grad=True) for a in (X, Y))
    z = function(x, y)
    z.backward(lg.asarray(G[part]))
    return [t.detach().numpy() for t in (z, x.grad, y.grad) if t is not None]


@pytest.fixture(params=[1, 3])
def shared(request):
    before = threads.get_num_threads()
    threads.set_num_threads(request.param)
    yield
    threads.set_num_threads(before)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_large_results_have_the_bits_of_small_ones(name, shared):
    whole = results(FUNCTIONS[name], slice(None))
    parts = zip(results(FUNCTIONS[name], slice(HALF)), results(FUNCTIONS[name], slice(HALF, None)), strict=True)
    for found, expected in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(found, np.concatenate(expected))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_programs_store_the_bits_of_eager(name, shared):
    def both(x, y, g):
        own = [t.detach().requires_grad_() for t in (x, y)]
        z = FUNCTIONS[name](*own)
        found = lg.autograd.grad(z, own, [g], allow_unused=True)
        return [z.detach(), *(t.detach() for t in found if t is not None)]

    given = [lg.asarray(a) for a in (X, Y, G)]
    for found, expected in zip(lg.compile(both, fullgraph=True)(*given), both(*given), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_a_wrong_place_is_noticed():
    kernel = codegen.forward_kernel(registry["relu"], np.ndarray, (X,), {}, language=codegen.PLAIN_C)
    source = codegen.loop_source([("lg", kernel, (True,))], elementwise.OFFSET)
    expected = np.maximum(X, 0)
    for right, wrong in (
        ("lg_stream(y0 + at,", "lg_stream(y0 + (at & ~511),"),
        ("some * sizeof *b0", "some / 8 * 32"),
        ("lg_some(n - at,", "lg_some(0,"),
    ):
        assert right in source
        library = building.load("wrong_place", source.replace(right, wrong))
        run = elementwise.bound(kernel, library.lg_flat, library.lg_rows)
        (found,) = run(layout_of([X]), [X], [])
        assert not np.array_equal(found, expected)


def test_the_last_cache_is_the_largest(tmp_path):
    assert toolchain._last_cache(tmp_path) == 0
    for number, size in enumerate(("32K", "1M", "36608K", "unknown")):
        (tmp_path / f"index{number}").mkdir()
        (tmp_path / f"index{number}" / "size").write_text(f"{size}\n")
    assert toolchain._last_cache(tmp_path) == 36608 << 10
    assert f"-DSTREAMED={toolchain.STREAMED}" in toolchain.FLAGS
