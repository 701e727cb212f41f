"""The samples of decompositions: matrices whose values are far apart, so that differences make sense."""

import zlib
from dataclasses import replace
from typing import Any

import numpy as np
from rows import call, integers
from samples import ANY, Sample, complexified


def _unitary(*shape: int, seed: int) -> np.ndarray:
    return np.linalg.qr(ANY.draw(shape, zlib.crc32(b"unitary") + seed))[0]


def spaced(*shape: int, seed: int = 0, hermitian: bool = False) -> np.ndarray:
    """Matrices with singular values (or eigenvalues) 1, 2, 3 ... and vectors in all directions."""
    *lead, m, n = shape
    k = min(m, n)
    u = _unitary(*lead, m, k, seed=seed)
    v = u if hermitian else _unitary(*lead, n, k, seed=seed + 1)
    return u * (np.arange(k) + 1.0) @ v.mT


def _similar(*shape: int, seed: int = 0) -> np.ndarray:
    """Matrices with eigenvalues 1, 2, 3 ... and vectors that are not orthogonal."""
    v = _unitary(*shape, seed=seed) + 0.3 * _unitary(*shape, seed=seed + 1)
    return v * (np.arange(shape[-1]) + 1.0) @ np.linalg.inv(v)


def _calls(make: Any, *shapes: tuple[int, ...], more: tuple[Any, ...] = (), **keywords: Any) -> list[Sample]:
    """A call for every shape, and batches of other matrices of that kind."""
    made = []
    for shape in shapes:
        examples = {0: [make(*shape, seed=seed) for seed in (0, 10, 20)]}
        made.append(call(examples[0][0], *more, examples=examples, **keywords))
    return made


def _hermitian(*shape: int, seed: int = 0) -> np.ndarray:
    return spaced(*shape, seed=seed, hermitian=True)


def _complex(calls: list[Sample]) -> list[Sample]:
    """The same calls, and the first two with complex numbers."""

    def change(sample: Sample) -> Sample:
        examples = {i: [complexified(e, i) for e in values] for i, values in (sample.examples or {}).items()}
        return replace(sample, args=(complexified(sample.args[0], 0), *sample.args[1:]), examples=examples)

    return [*calls, *map(change, calls[:2])]


def _hollow(*shape: int, seed: int = 0) -> np.ndarray:
    """Symmetric matrices with a small diagonal: rows go in pairs."""
    made = _unitary(*shape, seed=seed)
    return (made + made.mT) * (1 - 0.9 * np.eye(shape[-1]))


def _turning(*shape: int, seed: int = 0) -> np.ndarray:
    """Large matrices, to be halved and squared, whose exponentials are small all the same."""
    made = spaced(*shape, seed=seed)
    return 4 * (made - made.mT) + np.eye(shape[-1])


SQUARE, TALL, WIDE, STACK, NONE = (3, 3), (3, 2), (2, 3), (2, 2, 2), (0, 2, 2)

# Vectors of complex matrices have an arbitrary phase, so that differences say nothing: see ops/test_decompositions.
ROWS: dict[str, list[Sample]] = {
    "eigh": _calls(_hermitian, SQUARE, STACK, NONE),
    "eigvalsh": _complex(_calls(_hermitian, SQUARE, STACK, NONE)),
    "eig": _calls(_similar, SQUARE, STACK, NONE),
    "svd": [
        *_calls(spaced, SQUARE, STACK, NONE),
        *_calls(spaced, SQUARE, TALL, WIDE, (2, 3, 2), full_matrices=False),
    ],
    "svdvals": _complex(_calls(spaced, TALL, WIDE, SQUARE, STACK, NONE)),
    "pinv": [
        *_complex(_calls(spaced, TALL, WIDE, SQUARE, STACK, NONE, more=(1e-9, 0.0))),
        *_calls(spaced, STACK, more=(np.full((2, 1, 1), 1e-9), 0.0)),
    ],
    "packed_lu": [
        *_complex(_calls(_similar, SQUARE, STACK, NONE)),
        *_calls(spaced, TALL, WIDE, (2, 3, 2)),
        *_calls(spaced, SQUARE, pivot=False),
    ],
    "row_order": [call(integers(3, 3, 3), rows=4), call(integers([2, 2], [1, 2]), rows=2), call(integers(), rows=2)],
    "packed_ldl": [
        *_complex(_calls(_hermitian, SQUARE, STACK, NONE, hermitian=True)),
        *_calls(_hollow, SQUARE, STACK, (4, 4)),
    ],
    "ldl_layout": [
        call(
            integers(-3, -3, 3, 4), examples={0: [integers(-3, -3, 3, 4), integers(2, 2, -4, -4), integers(1, 2, 3, 4)]}
        ),
        call(integers([1, -4, -4, 4], [2, 2, 3, 4]), examples={0: [integers([1, 2, 4, 4], [-2, -2, 3, 4])] * 3}),
        call(integers()),
    ],
    "matrix_exp": [*_complex(_calls(spaced, SQUARE, STACK, NONE)), *_calls(_turning, SQUARE)],
    "zero_pivot": [*_complex(_calls(_similar, SQUARE, STACK, NONE)), call(np.ones((2, 2, 2)))],
    "failing_minor": [*_complex(_calls(_hermitian, SQUARE, STACK, NONE)), call(np.ones((2, 2, 2)))],
    "solve_triangular": [
        *_complex(_calls(_similar, (2, 2), STACK, more=(spaced(2, 1, seed=5),), upper=True)),
        *_calls(_similar, SQUARE, more=(spaced(2, 3, 2, seed=5),), upper=False),
        *_calls(_similar, NONE, more=(spaced(2, 1, seed=5),), upper=True),
    ],
    "qr": _complex(_calls(spaced, TALL, WIDE, SQUARE, STACK, NONE)) + _calls(spaced, WIDE, SQUARE, mode="complete"),
}
