"""`allow_mutation_on_saved_tensors`: what was saved inside may be overwritten afterwards."""

import threading

import pytest

import lucidgrad as lg
from lucidgrad.autograd.graph import allow_mutation_on_saved_tensors

CALLS = {
    "kept inputs": (lambda m: m * m, [2.0, 4.0, 6.0]),
    "kept output": (lambda m: m.exp(), [2.718281828459045, 7.38905609893065, 20.085536923187668]),
    "several": (lambda m: lg.concat([m * m, m]), [3.0, 5.0, 7.0]),
    "a view": (lambda m: m[1:] * m[:-1], [2.0, 4.0, 2.0]),
    "an index": (lambda m: m[lg.tensor([0, 0, 2])] * 1, [2.0, 0.0, 1.0]),
    "several outputs": (lambda m: lg.linalg.slogdet(lg.diag(m))[1], [1.0, 0.5, 1 / 3]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("create_graph", [False, True])
def test_writes_after_saving_do_not_matter(name, create_graph):
    call, expected = CALLS[name]
    x = lg.tensor([1.0, 2.0, 3.0], dtype=lg.float64, requires_grad=True)
    with allow_mutation_on_saved_tensors():
        m = x * 1
        y = call(m).sum()
        m.mul_(100)
    (g,) = lg.autograd.grad(y, x, create_graph=create_graph)
    assert g.tolist() == pytest.approx(expected)


def test_outside_the_same_write_raises():
    x = lg.tensor([1.0, 2.0], requires_grad=True)
    m = x * 1
    y = (m * m).sum()
    m.mul_(100)
    with pytest.raises(RuntimeError, match="in-place"):
        y.backward()


def test_nesting_exceptions_and_other_threads():
    seen = []

    def elsewhere():
        m = lg.ones(2, requires_grad=True) * 1
        y = (m * m).sum()
        m.zero_()
        with pytest.raises(RuntimeError, match="in-place"):
            y.backward()
        seen.append(True)

    with allow_mutation_on_saved_tensors():
        with allow_mutation_on_saved_tensors(), pytest.raises(ZeroDivisionError):
            raise ZeroDivisionError
        with lg.no_grad():
            pass
        x = lg.ones(2, requires_grad=True)
        m = x * 1
        y = (m * m).sum()
        m.zero_()
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert seen == [True]
    test_outside_the_same_write_raises()


def test_writes_to_one_half_of_complex_numbers_leave_the_other():
    x, s = lg.tensor([2 - 1j, 3 - 2j], requires_grad=True), lg.tensor(0.5, requires_grad=True)
    y = x * 1
    y.real[1] = s * 4
    y.imag.mul_(3.0)
    assert y.tolist() == [2 - 3j, 2 - 6j]
    ((y.real * lg.tensor([1.0, 2.0])).sum() + (y.imag * lg.tensor([4.0, 5.0])).sum()).backward()
    assert x.grad.tolist() == [1 + 12j, 15j]
    assert s.grad.item() == 8.0


def test_one_number_in_any_shape_goes_into_one_element():
    x = lg.tensor([2.0], requires_grad=True)
    y = lg.zeros((3, 2))
    y[1, 0] = x * 3
    y[0, 1] = lg.ones((1, 1))
    assert y.tolist() == [[0.0, 1.0], [6.0, 0.0], [0.0, 0.0]]
    y.sum().backward()
    assert x.grad.tolist() == [3.0]
