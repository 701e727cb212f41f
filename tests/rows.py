"""The samples of primitives that are not elementwise: a row each."""

import importlib
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from samples import ANY, Sample

from lucidgrad.core.device import Device
from lucidgrad.core.items import Meta
from lucidgrad.core.primitive import registry
from lucidgrad.keys import At

_count = iter(range(10_000))


def call(*args: Any, data_dependent: bool = False, examples: Any = None, **keywords: Any) -> Sample:
    """A call in which a tuple of sizes stands for an array of random numbers."""
    drawn = tuple(ANY.draw(a, zlib.crc32(b"row") + next(_count)) if isinstance(a, tuple) else a for a in args)
    return Sample(drawn, keywords, data_dependent, examples)


def integers(*values: Any) -> np.ndarray:
    return np.asarray(values, dtype="int64")


def booleans(*values: Any) -> np.ndarray:
    return np.asarray(values, dtype="bool")


def _axes(*more: dict[str, Any], scalar: bool = True, empty: bool = True, several: bool = True) -> list[Sample]:
    """Calls of a reduction: every way to say which axes."""
    ways: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"keepdims": True}]
    ways += [{"axis": (0, 2)}, {"axis": (-1, 0), "keepdims": True}, {"axis": ()}] if several else []
    made = [call((2, 3, 2) if "axis" in w and isinstance(w["axis"], tuple) else (2, 3), **w) for w in ways]
    made += [call((2, 3), **k) for k in more]
    made += [call(())] if scalar else []
    made += [call((0, 3), axis=1), call((2, 0), axis=1)] if empty else []
    return made


def _regular(*shape: int, definite: bool = False) -> np.ndarray:
    """Matrices far from singular ones, Hermitian and positive definite if asked for."""
    made = ANY.draw(shape, zlib.crc32(b"matrix") + next(_count)) / 4
    made = made + made.mT if definite else made
    return made + 2 * np.eye(shape[-1])


def _matrices(*more: Any, definite: bool = False, **keywords: Any) -> list[Sample]:
    """Calls with square matrices: one, and a stack."""
    made = []
    for shape in ((2, 2), (2, 3, 3)):
        examples = {0: [_regular(*shape, definite=definite) for _ in range(3)]}
        made.append(call(examples[0][0], *more, examples=examples, **keywords))
    return [*made, call(np.zeros((0, 2, 2)), *more, **keywords)]


def _part(key: Any, *shape: int, name: str = "index") -> tuple[Any, ...]:
    """The steps from an array of a shape to a part of it."""
    return ((registry[name], {"key": key}, Meta(shape, np.dtype("float64"), Device("cpu"))),)


_FLAGS = booleans([True, False, True], [True, True, True])

ROWS: dict[str, list[Sample]] = {
    # -- parts
    "real": [call((2, 3)), call(()), call((0, 3))],
    "imag": [call((2, 3)), call(()), call((0, 3))],
    "conj": [call((2, 3)), call(()), call((0, 3))],
    # -- dtypes and copies
    "astype": [
        call((2, 3), dtype=np.dtype("float64")),
        call((2, 3), dtype=np.dtype("complex128")),
        call((), dtype=np.dtype("float64"), copy=False),
        call(ANY.draw((2, 3), 5) + 1j, dtype=np.dtype("complex128"), copy=False),
        call((0, 3), dtype=np.dtype("float64")),
    ],
    "cast_discrete": [
        call(integers([1, 0, 2]), dtype=np.dtype("float64")),
        call((2, 3), dtype=np.dtype("int32")),
        call((2, 3), dtype=np.dtype("bool")),
        call((0, 3), dtype=np.dtype("int64")),
    ],
    "clone": [call((2, 3)), call(()), call((0, 3))],
    "transfer": [call((2, 3), device="cpu"), call((), device="cpu"), call((0, 3), device="cpu")],
    # -- shape
    "reshape": [
        call((2, 3), shape=(3, 2)),
        call((2, 3), shape=(-1,)),
        call((2, 3), shape=(1, -1, 1)),
        call((), shape=(1, 1)),
        call((1,), shape=()),
        call((0, 3), shape=(3, 0, 2)),
    ],
    "broadcast_to": [
        call((2, 1), shape=(2, 3)),
        call((3,), shape=(2, 3)),
        call((), shape=(2, 2)),
        call((2, 3), shape=(2, 3)),
        call((1,), shape=(0,)),
        call((0, 1), shape=(0, 3)),
    ],
    "expand_dims": [
        call((2, 3), axis=0),
        call((2, 3), axis=-1),
        call((2, 3), axis=(0, -1)),
        call((), axis=0),
        call((0, 3), axis=1),
    ],
    "squeeze": [
        call((1, 3, 1), axis=0),
        call((1, 3, 1), axis=-1),
        call((1, 3, 1), axis=(0, 2)),
        call((1,), axis=0),
        call((1, 0), axis=0),
    ],
    "permute_dims": [
        call((2, 3, 2), axes=(2, 0, 1)),
        call((2, 3), axes=(-1, 0)),
        call((), axes=()),
        call((0, 3), axes=(1, 0)),
    ],
    "moveaxis": [
        call((2, 3, 2), source=0, destination=-1),
        call((2, 3, 2), source=(0, 1), destination=(-1, 0)),
        call((0, 3), source=0, destination=1),
    ],
    "matrix_transpose": [call((2, 3)), call((2, 3, 2)), call((0, 3))],
    "flip": [call((2, 3)), call((2, 3), axis=0), call((2, 3), axis=(0, -1)), call(()), call((0, 3))],
    "roll": [
        call((2, 3), shift=1),
        call((2, 3), shift=-4, axis=1),
        call((2, 3), shift=(1, 2), axis=(0, 1)),
        call((0, 3), shift=1, axis=1),
    ],
    "tril": [call((3, 3)), call((2, 3), k=1), call((2, 3, 2), k=-1), call((0, 3))],
    "triu": [call((3, 3)), call((2, 3), k=1), call((2, 3, 2), k=-1), call((0, 3))],
    "diagonal": [call((3, 3)), call((2, 3), offset=1), call((3, 2, 2), offset=-1, axis1=0, axis2=1), call((0, 3))],
    "diagonal_put": [
        call((3,), offset=0, axis1=-2, axis2=-1, shape=(3, 3)),
        call((2,), offset=1, axis1=0, axis2=1, shape=(2, 3)),
        call((2, 2), offset=-1, axis1=0, axis2=1, shape=(3, 2, 2)),
        call((0,), offset=0, axis1=-2, axis2=-1, shape=(0, 3)),
    ],
    # -- joining
    "stack": [call((2, 3), (2, 3)), call((2, 3), (2, 3), (2, 3), axis=-1), call((), ()), call((0,), (0,), axis=1)],
    "concat": [
        call((2, 3), (1, 3)),
        call((2, 3), (2, 1), (2, 2), axis=-1),
        call((2,), (3, 1), axis=None),
        call((0, 3), (2, 3)),
    ],
    "unstack": [call((2, 3)), call((2, 3), axis=-1), call((2, 0))],
    "split_with_sizes": [
        call((3, 2), split_sizes=(1, 2)),
        call((2, 4), split_sizes=(1, 0, 3), axis=-1),
        call((0, 3), split_sizes=(1, 2), axis=1),
    ],
    # -- indexing
    "index": [
        call((2, 3), key=0),
        call((2, 3), key=(slice(None), -1)),
        call((4, 3), key=(slice(3, 0, -2), ...)),
        call((2, 3), key=(None, ..., slice(1, 5))),
        call((), key=()),
        call((0, 3), key=(slice(None), 1)),
    ],
    "put_add": [
        call((3,), key=0, shape=(2, 3)),
        call((2,), key=(slice(None), -1), shape=(2, 3)),
        call((2, 3), key=(slice(3, 0, -2), ...), shape=(4, 3)),
        call((), key=(), shape=()),
        call((0,), key=(slice(None), 1), shape=(0, 3)),
    ],
    "pick": [
        call((4, 3), integers(0, 2, 2), key=(At(),)),
        call((3, 3), integers([[0, 1], [2, 0]], [[1, 2], [1, 2]]), key=(At(), At())),
        call((3, 3, 4), integers([1, 0], [2, 2]), key=(At(), slice(1, 3), At())),
        call((2, 3), integers(0, 4, 5), key=(At(2),)),
        call((0, 3), integers(1, 1), key=(slice(None), At())),
    ],
    "pick_put": [
        call((3, 3), integers(0, 2, 2), key=(At(),), shape=(4, 3)),
        call((2, 2), integers([1, 0], [2, 2]), key=(At(), slice(1, 3), At()), shape=(3, 3, 4)),
        call((3,), integers(0, 4, 4), key=(At(2),), shape=(2, 3)),
    ],
    "stays": [
        call(integers(2, 0, 2), key=(At(),), shape=(4,)),
        call(integers([1, 0, 1], [2, 2, -1]), key=(At(), slice(1, 3), At()), shape=(3, 3, 3)),
        call(np.zeros((0,), "int64"), key=(At(),), shape=(2,)),
    ],
    "take": [
        call((2, 3), integers(0, 2, 2), axis=1),
        call((3,), integers(2, 0)),
        call((2, 3), integers([0, 1], [1, -1]), axis=0),
        call((2, 3), integers(1), axis=-1),
        call((0, 3), integers(1, 0), axis=1),
    ],
    "take_put": [
        call((2, 3), integers(0, 2, 2), axis=1, size=3),
        call((2,), integers(1, 1), axis=0, size=3),
        call((2, 2, 3), integers([0, 1], [1, 1]), axis=0, size=2),
        call((0, 2), integers(1, 0), axis=1, size=3),
    ],
    "take_along_axis": [
        call((2, 3), integers([0, 2, 2, 1], [1, 1, 0, 2]), axis=1),
        call((2, 3), integers([1, 0, 1]), axis=0),
        call((3,), integers(2, 0)),
        call((0, 3), np.zeros((0, 2), "int64"), axis=1),
    ],
    "put_along_axis_add": [
        call((2, 4), integers([0, 2, 2, 1], [1, 1, 0, 2]), axis=1, size=3),
        call((2, 3), integers([1, 0, 1], [1, 1, 0]), axis=0, size=2),
        call((0, 2), np.zeros((0, 2), "int64"), axis=1, size=3),
    ],
    "last_put": [
        call(integers(2, 0, 2), axis=0, size=4),
        call(integers([0, 1, 1], [2, 2, 0]), axis=-1, size=3),
        call(np.zeros((0, 3), "int64"), axis=0, size=2),
    ],
    "overwrite": [
        call((2, 3), (2,), steps=_part((slice(None), 1), 2, 3)),
        call((2, 3), (3,), steps=_part(0, 2, 3)),
        call((4,), (2,), integers(3, 0), steps=_part((At(),), 4, name="pick")),
        call((0, 3), (0,), steps=_part((slice(None), 1), 0, 3)),
    ],
    # -- scans
    "cumulative_sum": [
        call((4,)),
        call((2, 3), axis=0),
        call((2, 3), axis=-1, include_initial=True),
        call((0,)),
        call((2, 0), axis=1),
    ],
    "cumulative_prod": [
        call((4,)),
        call((2, 3), axis=0),
        call((2, 3), axis=-1, include_initial=True),
        call((0,)),
        call((2, 0), axis=1),
    ],
    "logcumsumexp": [call((4,), axis=0), call((2, 3), axis=-1), call((0, 3), axis=0)],
    "recurrence": [
        call((2, 3), (2, 3)),
        call((2, 3), (2, 3), axis=0),
        call((4,), (4,), reverse=True),
        call((2, 0), (2, 0)),
    ],
    "cumulative_argmax": [call((4,), axis=0), call((2, 3), axis=-1), call((0, 3), axis=0)],
    "cumulative_argmin": [call((4,), axis=0), call((2, 3), axis=-1), call((0, 3), axis=0)],
    # -- reductions
    "sum": _axes({"axis": 0, "dtype": np.dtype("float64")}),
    "mean": _axes(),
    "var": [*_axes({"correction": 1.0}, empty=False), call((0, 3), axis=1)],
    "std": [*_axes({"correction": 1.0}, empty=False, scalar=False, several=False), call((0, 3), axis=1)],
    "prod": _axes(),
    "max": _axes(empty=False),
    "min": _axes(empty=False),
    "logsumexp": [*_axes(empty=False), call((0, 3), axis=1)],
    "vector_norm": _axes(
        {"ord": 1},
        {"ord": 3, "axis": 1},
        {"ord": float("inf")},
        {"ord": -float("inf")},
        {"ord": 0},
        {"ord": 4},
        {"ord": 2.5},
    ),
    "all": [call(_FLAGS), call(_FLAGS, axis=1), call(_FLAGS, axis=(0, 1), keepdims=True), call((0, 3), axis=0)],
    "any": [call(_FLAGS), call(_FLAGS, axis=1), call(_FLAGS, axis=(0, 1), keepdims=True), call((0, 3), axis=0)],
    "argmax": [call((2, 3)), call((2, 3), axis=0), call((2, 3), axis=-1, keepdims=True), call((2, 3), keepdims=True)],
    "argmin": [call((2, 3)), call((2, 3), axis=0), call((2, 3), axis=-1, keepdims=True), call((2, 3), keepdims=True)],
    "count_nonzero": [
        call((2, 3)),
        call(integers([0, 1], [2, 0]), axis=1),
        call((2, 3), axis=-1, keepdims=True),
        call((0, 3), axis=0),
    ],
    "softmax": [call((2, 3)), call((2, 3), axis=0), call((2, 3, 2), axis=-2), call((0, 3))],
    "log_softmax": [call((2, 3)), call((2, 3), axis=0), call((2, 3, 2), axis=-2), call((0, 3))],
    # -- order
    "argsort": [call((2, 3)), call((2, 3), axis=0, descending=True), call((4,), stable=False), call((0, 3))],
    "argtopk": [call((2, 3), k=2), call((4, 2), k=3, axis=0, largest=False), call((0, 3), k=1)],
    "nonzero": [call(integers([0, 1], [2, 0]), data_dependent=True), call(integers([]), data_dependent=True)],
    # -- linear algebra
    "matmul": [
        call((2, 3), (3, 2)),
        call((3,), (3,)),
        call((2, 3), (3,)),
        call((3,), (3, 2)),
        call((2, 2, 3), (3, 2)),
        call((2, 1, 2, 3), (2, 3, 1)),
        call((2, 2, 3), (3,)),
        call((3,), (2, 3, 2)),
        call((0, 3), (3, 2)),
        call((2, 0), (0, 3)),
    ],
    **{name: _matrices() for name in ("inv", "det", "slogdet", "cofactor")},
    "cholesky": _matrices(definite=True) + _matrices(definite=True, upper=True)[:1],
    "solve": [
        *(call(_regular(2, 2), b, examples={0: [_regular(2, 2) for _ in range(3)]}) for b in ((2,), (2, 3), (3, 2, 1))),
        call(_regular(3, 2, 2), (2, 1), examples={0: [_regular(3, 2, 2) for _ in range(3)]}),
        call(np.zeros((0, 2, 2)), (2, 1)),
    ],
    "pair_einsum": [
        call((2, 3), (3, 2), subscripts="ij,jk->ik"),
        call((2, 3), (2, 3, 2), subscripts="bi,bij->jb"),
        call((2,), (3,), subscripts="i,j->ji"),
        call((2, 3), (2, 3), subscripts="ij,ij->"),
        call((0, 3), (3, 2), subscripts="ij,jk->ik"),
    ],
}

#: Rows that also run on complex numbers (their first two calls).
COMPLEX_ROWS = frozenset(
    """
    real imag conj clone reshape broadcast_to expand_dims squeeze permute_dims moveaxis matrix_transpose flip roll
    tril triu diagonal diagonal_put stack concat unstack index put_add pick pick_put cumulative_sum cumulative_prod
    sum mean var std prod vector_norm matmul recurrence take take_put take_along_axis put_along_axis_add overwrite
    split_with_sizes pair_einsum inv det slogdet cofactor solve cholesky rank_sum rank_gather rank_scatter
    rank_broadcast rank_reduce rank_exchange rank_pass
    """.split()
)


for _file in sorted(Path(__file__).parent.glob("rows_*.py")):  # families with many rows have a file of their own
    ROWS.update(importlib.import_module(_file.stem).ROWS)
ROWS["raising"] = _matrices()  # samples are drawn in turn: a new row comes last, and the others keep theirs
ROWS["pick"] += [
    call((2, 3, 4), integers(1, 1, 0), key=(slice(None, None, -1), At(), -1)),
    call((2, 3, 4), integers(1, 1, 0), key=(0, ..., None, At())),
    call((4, 2, 3), integers(0, 4, 4), key=(slice(1, 3), At(2))),
    call((3,), integers(0), key=(At(0), ...)),
]
ROWS["pick_put"] += [
    call((2, 3), integers(0, 4, 4), key=(slice(1, 3), At(2)), shape=(4, 2, 3)),
    call((0, 2), integers(1, 1), key=(slice(None), At()), shape=(0, 3)),
]
ROWS["overwrite"] += [call((4,), (3,), integers(3, 0, 3), steps=_part((At(),), 4, name="pick"))]
ROWS["join_parts"] = [call((2, 3), (2, 3)), call((), ()), call((0, 3), (0, 3))]
