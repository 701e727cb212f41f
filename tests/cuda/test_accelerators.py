"""Reductions with CuPy's CUB accelerators, which are on where there is a GPU, and without: values and gradients.

Device-wide algorithms take contiguous arrays, block-wide ones what is left; both are tried apart.
"""

import numpy as np
import pytest
from thoroughness import cases

import lucidgrad as lg
from lucidgrad import cudasim

accelerator = pytest.importorskip("cupy._core._accelerator")

#: By name: accelerators of whole routines, and of reduction kernels.
WAYS = {"none": ([], []), "as on hardware": (["cub"], ["cub"]), "blocks": ([], ["cub"])}

REDUCTIONS = {
    "sum": lg.sum, "mean": lg.mean, "max": lg.max, "min": lg.min, "prod": lg.prod, "var": lg.var,
    "logsumexp": lg.logsumexp, "norm": lambda x, axis: lg.sqrt((x * x).sum(axis)),
}  # fmt: skip
WITHOUT_GRADIENT = {"argmax": lg.argmax, "argmin": lg.argmin, "all": lg.all, "any": lg.any,
                    "count_nonzero": lg.count_nonzero}  # fmt: skip


@pytest.fixture(params=WAYS)
def way(request):
    before = accelerator.get_routine_accelerators(), accelerator.get_reduction_accelerators()
    routines, reductions = WAYS[request.param]
    accelerator.set_routine_accelerators(routines)
    accelerator.set_reduction_accelerators(reductions)
    yield request.param
    accelerator.set_routine_accelerators(before[0])
    accelerator.set_reduction_accelerators(before[1])


def values(dtype):
    x = np.random.default_rng(0).normal(size=(6, 37, 5))
    return (x > 0) if dtype == "bool" else (x * 4).astype(dtype) if dtype == "int32" else x.astype(dtype)


def both(function, x, axis, with_gradient):
    found = []
    for where in ("cuda", "cpu"):
        t = lg.asarray(x, device=where)
        if with_gradient:
            t.requires_grad_()
        y = function(t, axis=axis)
        found.append([y.detach().numpy(force=True)])
        if with_gradient:
            y.sum().backward()
            found[-1].append(t.grad.numpy(force=True))
    return found


@pytest.mark.parametrize("dtype", cases(["float32"], ["float16", "float32", "float64"]))
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_and_gradients(name, dtype, way):
    x, loose = values(dtype), {"float16": 2e-2, "float32": 2e-5, "float64": 1e-10}[dtype]
    for axis in (None, -1, 0, (0, 2)):
        for found, expected in zip(*both(REDUCTIONS[name], x, axis, True), strict=True):
            np.testing.assert_allclose(found, expected, rtol=loose, atol=loose, err_msg=f"{name}, axis {axis}, {way}")


@pytest.mark.parametrize("dtype", cases(["float32"], ["float32", "int32", "bool"]))
@pytest.mark.parametrize("name", WITHOUT_GRADIENT)
def test_others(name, dtype, way):
    for axis in (None, -1, 0):
        ((found,), (expected,)) = both(WITHOUT_GRADIENT[name], values(dtype), axis, False)
        assert (found == expected).all(), f"{name}, axis {axis}, {way}"


def test_scans(way):
    for axis in (0, -1):
        ((found, g), (expected, h)) = both(lambda x, axis: lg.cumsum(x, axis), values("float32"), axis, True)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(g, h, rtol=1e-5, atol=1e-5)


def test_they_are_used(way):
    import cupy

    x = cupy.ones((64, 64))
    with cudasim.counting() as counts:
        x.sum()
    used = {"none": "cupy_sum", "as on hardware": "cub_device_reduce", "blocks": "cupy_cub_sum"}[way]
    assert any(name.startswith(used) for name in counts.launches), counts.launches
