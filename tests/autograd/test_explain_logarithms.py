"""`explain` at the zeros of logarithms: the advice works, and lines are known inside of `explaining`."""

import pytest

import lucidgrad as lg
from lucidgrad.autograd import explain, explaining


@pytest.fixture
def x():
    return lg.tensor([0.0, 1.0], requires_grad=True)


FORMS = {
    "x log x": lambda x: x * lg.log(x),
    "log x, x": lambda x: lg.log(x) * x,
    "entropy in bits": lambda x: -(x * lg.log2(x)),
    "decimal": lambda x: x * lg.log10(x),
    "chosen too late": lambda x: lg.where(x > 0, x * lg.log(x), 0.0),
    "log1p": lambda x: (x - 1) * lg.log1p(x - 1),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("form", FORMS)
def test_a_logarithm_of_zero_gets_the_right_advice(x, form):
    with explaining():
        loss = FORMS[form](x).sum()
    found = explain(loss, x)
    assert found.cause == "log_of_zero"
    assert found.where is not None
    assert "xlogy" in found.advice
    assert "where" in found.advice


def test_the_advice_works(x):
    assert explain(lg.xlogy(x, x).sum(), x).healthy
    assert explain((x * lg.log(lg.where(x > 0, x, 1.0))).sum(), x).healthy


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_overflow_is_still_one(x):
    assert explain((lg.exp(x * 1000) * x).sum(), x).cause == "overflow"


def test_lines_are_known_inside_of_explaining(x):
    assert explain((x.detach() * 2).sum(), x).where is None
    with explaining():
        loss = (x.detach() * 2).sum()
    found = explain(loss, x)
    assert found.cause == "detach"
    assert "x.detach()" in found.where.source
