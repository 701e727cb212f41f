"""einops through its Array API entry point, and opt_einsum, on tensors."""

import einops
import numpy as np
import opt_einsum
import pytest
from clients import check, numbers
from einops import array_api as ops

import lucidgrad as lg

A, B, C = numbers(2, 3, 4, seed=1), numbers(4, 5, seed=2), numbers(5, 2, seed=3)
CASES = {
    "rearrange": (lambda x: ops.rearrange(x * x, "a b c -> (a c) b"), A),
    "rearrange(split)": (lambda x: ops.rearrange(x * x, "a b (c d) -> d a b c", d=2), A),
    "rearrange(list)": (lambda x, y: ops.rearrange([x, y], "l a b c -> a (l b) c"), A, A + 1),
    "repeat": (lambda x: ops.repeat(x * x, "a b c -> a r b (c s)", r=2, s=3), A),
    **{f"reduce({how})": (lambda x, how=how: ops.reduce(x, "a b c -> a c", how), A)
       for how in ("sum", "mean", "max", "min", "prod")},
    "pack": (lambda x: ops.pack([x[0, :, :], x[1, :, :] * 2], "* c")[0], A),
    "unpack": (lambda x: ops.unpack(x * x, [[1], [2]], "a * c")[1], A),
    "contract": (lambda x, y, z: opt_einsum.contract("abc,cd,de->abe", x, y, z), A, B, C),
    "contract(optimize)": (lambda x, y, z: opt_einsum.contract("abc,cd,da->b", x, y, z, optimize="optimal"), A, B, C),
    "contract(diagonal)": (lambda x: opt_einsum.contract("ii->i", x), B[:, :4]),
    "contract_expression": (lambda x, y: opt_einsum.contract_expression("abc,cd->abd", x.shape, y.shape)(x, y), A, B),
    "contract_expression(constants)": (
        lambda x, y: opt_einsum.contract_expression("abc,cd->abd", x, y.shape, constants=[0])(y), A, B,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient(name):
    f, *arrays = CASES[name]
    check(f, *arrays)


def test_asnumpy():
    assert isinstance(ops.asnumpy(lg.arange(3)), np.ndarray)


def test_the_other_entry_point_refuses_types_it_does_not_know():
    with pytest.raises(RuntimeError, match="unknown to einops"):
        einops.rearrange(lg.ones((2, 3)), "a b -> b a")
