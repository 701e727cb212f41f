"""Samples of the Fourier transforms: every norm and direction, odd and even sizes, sizes 1 to 5."""

import numpy as np
from rows import call
from samples import complexified


def signal(*shape, seed=0):
    """Complex numbers of a shape."""
    return complexified(np.random.default_rng([seed, *shape]).normal(size=shape), seed)


ROWS = {
    "dft": [
        call((4,), axis=(0,)),
        call(signal(2, 3), axis=(-1,)),
        call(signal(3, 2), axis=(0,), inverse=True, norm="forward"),
        call(signal(2, 3, 2), axis=(2, 0), norm="ortho"),
        call((2, 3), axis=(0, 1), inverse=True),
        call(signal(2, 1), axis=(1,), norm="ortho", inverse=True),
        call(signal(5), axis=(0,), norm="forward"),
        call(signal(2, 2), axis=()),
        call((), axis=()),
        call((0, 3), axis=(1,)),
    ],
    "half_dft": [
        call((4,), axis=0),
        call((2, 3), axis=-1),
        call((5, 2), axis=0, double=True),
        call((6,), axis=0, norm="ortho", double=True),
        call((2, 3), axis=1, inverse=True),
        call((4, 2), axis=-2, inverse=True, norm="forward", double=True),
        call((2, 1), axis=1, norm="forward"),
        call((2,), axis=0, inverse=True, norm="ortho", double=True),
        call((0, 3), axis=1),
    ],
    "real_dft": [
        call(signal(3), axis=0, n=4),
        call(signal(2, 2), axis=-1, n=3),
        call(signal(3, 2), axis=0, n=5, inverse=True),
        call(signal(4), axis=0, n=6, norm="ortho", inverse=True, double=False),
        call(signal(2, 3), axis=1, n=5, norm="forward", double=False),
        call(signal(3, 2), axis=-2, n=4, norm="forward", inverse=True),
        call(signal(2, 1), axis=1, n=1, norm="ortho"),
        call(signal(2), axis=0, n=2, inverse=True, double=False),
        call(np.zeros((0, 2), "complex128"), axis=1, n=3),
    ],
}
