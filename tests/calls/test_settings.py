"""Numbers that say how a primitive computes: an array counts as one if it is a number, and is refused otherwise.

A primitive has no derivative by them, so a tensor that is differentiated must not pass unnoticed; and whatever is
given, a result holds an array of its device and keeps its dtype.
"""

import numpy as np
import pytest
from laws import law
from samples import LEVELS

import lucidgrad as lg
from lucidgrad.core.primitive import registry

SETTINGS = [
    (name, keyword)
    for name in sorted(set(registry) - set(LEVELS))
    for keyword, note in registry[name].program.__annotations__.items()
    if note in (float, float | None) and keyword in registry[name].keywords and law.has_samples(registry[name])
]


def test_there_are_settings():
    assert {("elu", "alpha"), ("celu", "alpha"), ("hardtanh", "max_val"), ("softplus", "beta")} <= set(SETTINGS)


@pytest.mark.parametrize(("name", "keyword"), SETTINGS)
def test_an_array_is_a_number_or_refused(name, keyword):
    primitive = registry[name]
    sample = law.samples_for(name)[0]
    args = [x.detach() if isinstance(x, lg.Tensor) else x for x in law.tensors(primitive, sample)]

    def given(value):
        return law.call(primitive, args, {**sample.keywords, keyword: value})[0]

    default = sample.keywords.get(keyword, primitive.keywords[keyword])
    number = 1.0 if default is None else float(default)
    plain = given(number)
    for same in (lg.tensor(number, dtype=lg.float64), np.array(number), np.float64(number)):
        found = given(same)
        assert (found.dtype, found.numpy().tobytes()) == (plain.dtype, plain.numpy().tobytes())
    differentiated = lg.tensor(number, dtype=lg.float64, requires_grad=True)
    for wrong in (differentiated, lg.full((2,), number), np.full((2,), number), lg.full((1,), number)):
        with pytest.raises(TypeError, match=f"{keyword} is .*expected a number"):
            given(wrong)
    for transform in (lg.func.grad(lambda s: given(s).sum()), lambda s: lg.func.jvp(given, (s,), (s,))):
        with pytest.raises(TypeError, match=f"{keyword} is .*differentiated"):
            transform(lg.tensor(number, dtype=lg.float64))
