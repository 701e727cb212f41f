"""Kernels for lists of arrays against NumPy: norms, clipping, unscaling, joining."""

import math

import cupy
import numpy as np

from lucidgrad.backends.cuda.kernels import lists
from lucidgrad.backends.cuda.tables import CHUNK

#: Nothing, less than a block of threads, more than one block's share.
SIZES = [(0,), (1,), (3, 7), (CHUNK + 3,), (300,), (2, 0), (5, 1)]


def draw(dtype="float32", sizes=SIZES):
    rng = np.random.default_rng(len(sizes))
    return [rng.normal(size=size).astype(dtype) for size in sizes]


def check(name, dtype="float32", laid=cupy.asarray):
    """Raise unless a kernel gives what NumPy gives in double precision."""
    xs = draw(dtype)
    tolerance = dict(rtol={"float16": 2e-3, "float32": 2e-6, "float64": 1e-13}[dtype])
    given, flat = [laid(x) for x in xs], np.concatenate([x.ravel() for x in xs]).astype("float64")
    if name.startswith("norm"):
        for order in (2.0, 1.0, math.inf, 3.0):
            found = lists.norm_of_all(given, order)
            assert found.dtype == dtype and found.shape == ()
            np.testing.assert_allclose(found.get(), np.linalg.norm(flat, order), **tolerance)
        return
    if name == "clip_all":
        for norm, factor in ((4.0, 0.5 / (4.0 + 1e-6)), (0.25, 1.0)):
            given = [laid(x) for x in xs]
            lists.clip_all(given, cupy.asarray(norm, dtype), 0.5)
            _same(given, [x.astype("float64") * factor for x in xs], tolerance)
        return
    if name in ("join_all", "part_all", "move_all"):
        vector, new = cupy.zeros(flat.size, dtype), cupy.arange(flat.size).astype(dtype)
        lists.join_all(given, vector)
        np.testing.assert_array_equal(vector.get(), flat.astype(dtype))
        _same(given, xs, {"rtol": 0})
        lists.part_all(given, new)
        ends = np.cumsum([x.size for x in xs])[:-1]
        _same(given, [part.reshape(x.shape) for part, x in zip(np.split(new.get(), ends), xs)], {"rtol": 0})
        return
    for bad in (False, True):
        given = [laid(x) for x in xs]
        if bad:
            given[3][-1] = np.inf
        found = lists.unscale_all(given, cupy.asarray(8.0, "float32"))
        assert found.dtype == bool and found.shape == () and bool(found) is bad
        _same(given[:3] + given[4:], [x.astype("float64") / 8 for x in xs[:3] + xs[4:]], tolerance)


def _same(found, expected, tolerance):
    for y, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(y.get(), e, **tolerance)
