"""Every primitive that takes floats, with its cotangents, in a file: the same bits after loading, and gradients."""

import io

import numpy as np
import pytest
from samples import samples_of
from test_primitives import names, usable
from thoroughness import cases
from traces import apart, is_float

import lucidgrad as lg
from lucidgrad.core.primitive import registry


def through_a_file(function, *args):
    file = io.BytesIO()
    lg.export(function, args, file)
    file.seek(0)
    return lg.import_program(file)


def forward_of(op, calls):
    """A function of all arrays of some calls, which gives all results; None stands for an array."""

    def forward(*given):
        rest, made = iter(given), []
        for args, keywords in calls:
            y = op(*(next(rest) if a is None else a[0] for a in args), **keywords)
            made += y if isinstance(y, (tuple, list)) else [y]
        return made

    return forward


def gradients_of(forward, seeds):
    """A function of the same arrays, which gives the gradients of results that have some."""

    def gradients(*given):
        given = [x.detach().requires_grad_(x.dtype == lg.float64) for x in given]
        live = [(y, seed) for y, seed in zip(forward(*given), seeds, strict=True) if y.requires_grad]
        if not live:
            return []
        wanted = [x for x in given if x.requires_grad]
        found = lg.autograd.grad([y for y, _ in live], wanted, [seed for _, seed in live], allow_unused=True)
        return [g for g in found if g is not None]

    return gradients


@pytest.mark.parametrize("name", names())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_primitive_in_a_file(name):
    primitive = registry[name]
    samples = [sample for sample in samples_of(primitive) if usable(sample)][: cases(1, 100)]
    calls = [([None if isinstance(a, np.ndarray) else [a] for a in s.args], dict(s.keywords)) for s in samples]
    arrays = [a for sample in samples for a in sample.args if isinstance(a, np.ndarray)]
    args = [lg.asarray(a.astype("float64") if is_float(a) else a) for a in arrays]
    forward = forward_of(primitive.op, calls)
    draw = np.random.default_rng(0).normal
    seeds = [lg.asarray(draw(size=y.shape)).to(y.dtype) for y in forward(*args)]
    backward = gradients_of(forward, seeds)
    if "group" in primitive.keywords:  # of processes, which no file can name
        refused = "the function communicates with other processes ." if primitive.silenced else ""
        with pytest.raises((RuntimeError, TypeError), match=f"export: {refused}{name}"):
            through_a_file(forward, *args)
        return
    run, run_back = through_a_file(forward, *args), through_a_file(backward, *args)
    for program, function in ((run, forward), (run_back, backward), (gradients_of(run, seeds), backward)):
        for mine, expected in zip(program(*args), function(*args), strict=True):
            assert apart(mine.detach().numpy(), expected.detach().numpy()) == 0, run.program
