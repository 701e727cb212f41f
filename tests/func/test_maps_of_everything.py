"""Inside vmap: functions that draw with weights, solve least squares, and make tensors of arrays."""

import pytest

import lucidgrad as lg
from lucidgrad.func import jvp, vmap

WEIGHTS = [[0.0, 1.0, 0.0], [0.0, 0.0, 2.0]]


def test_multinomial_with_weights_of_each_example():
    p = lg.tensor(WEIGHTS)
    draw = vmap(lambda p: lg.multinomial(p, 4, True), randomness="different")
    assert draw(p).tolist() == [[1] * 4, [2] * 4]
    assert vmap(draw, randomness="different")(lg.stack([p, p])).tolist() == [[[1] * 4, [2] * 4]] * 2
    rows = vmap(lambda p: lg.multinomial(p, 1), in_dims=1, randomness="different")(lg.stack([p, p, p], axis=1))
    assert rows.tolist() == [[[1], [2]]] * 3
    assert jvp(lambda p: draw(p) * p.sum(), (p,), (p,))[1].tolist() == [[3.0] * 4, [6.0] * 4]


def test_multinomial_with_the_same_weights():
    p = lg.tensor([0.2, 0.3, 0.5])
    for randomness, count in (("same", 1), ("different", 8)):
        lg.manual_seed(3)
        drawn = vmap(lambda x: lg.multinomial(p, 20, True) + 0 * x, randomness=randomness)(lg.zeros(8, dtype=lg.int64))
        assert len({tuple(row) for row in drawn.tolist()}) == count


@pytest.mark.parametrize(("randomness", "message"), [("error", "draws random numbers"), ("same", "use randomness=")])
def test_multinomial_says_what_it_needs(randomness, message):
    with pytest.raises(RuntimeError, match=message):
        vmap(lambda p: lg.multinomial(p, 1), randomness=randomness)(lg.tensor(WEIGHTS))


def test_least_squares():
    a = lg.sin(lg.arange(24, dtype=lg.float64) ** 2).reshape(2, 4, 3)
    b = lg.cos(lg.arange(8, dtype=lg.float64)).reshape(2, 4)
    found = vmap(lg.linalg.lstsq)(a, b)
    for name in found._fields:
        rows = [getattr(lg.linalg.lstsq(*pair), name).tolist() for pair in zip(a, b, strict=True)]
        assert lg.reshape(getattr(found, name), -1).tolist() == pytest.approx(lg.tensor(rows).flatten().tolist())

    slope = lg.func.grad(lambda a, b: lg.linalg.lstsq(a, b).residuals.sum())
    assert lg.allclose(vmap(slope)(a, b), lg.stack([slope(*pair) for pair in zip(a, b, strict=True)]))


def test_tensors_of_the_arrays_of_tensors():
    x = lg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert vmap(lambda x: lg.asarray(x.array) * 2)(x).tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert vmap(lambda x: lg.asarray(x.array, dtype=lg.int64))(x).dtype == lg.int64
    assert jvp(lambda x: lg.asarray(x.array) * x, (x,), (x,))[1].tolist() == [[2.0, 8.0], [18.0, 32.0]]
    assert jvp(lambda x: lg.tensor(x.array) * x, (x,), (x,))[1].tolist() == [[1.0, 4.0], [9.0, 16.0]]
