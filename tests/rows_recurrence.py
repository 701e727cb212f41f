"""Samples of recurrent layers, attention, and what pulls back through them."""

from typing import Any

import numpy as np

import lucidgrad.ops.attention
import lucidgrad.ops.recurrence  # noqa: F401  these are loaded on demand


def _sequences() -> dict[str, Any]:
    from rows import call

    sizes = [(2, 1, 2), (3, 2, 1), (1, 0, 2)]  # time, batch, width
    rows: dict[str, Any] = {}
    for name, gates, kept, starts in (("lstm", 4, 5, 2), ("gru", 3, 4, 1)):
        rows[f"{name}_sequence"] = [
            call((t, b, gates * n), *[(b, n)] * starts, (gates * n, n), *bias)
            for (t, b, n), bias in zip(sizes, ([(gates * 2,)], [], []), strict=True)
        ]
        rows[f"{name}_sequence_pull"] = [
            call(*[(t, b, n), (t, b, kept * n)] * 2, *[(b, n)] * starts, (gates * n, n)) for t, b, n in sizes[:1]
        ] + [call(*[(1, 0, 2), (1, 0, kept * 2)] * 2, *[(0, 2)] * starts, (gates * 2, 2))]
    ways: list[dict[str, Any]] = [{}, {"nonlinearity": "relu"}, {}]
    rows["rnn_sequence"] = [
        call((t, b, n), (b, n), (n, n), *bias, **way)
        for (t, b, n), bias, way in zip(sizes, ([(2,)], [], []), ways, strict=True)
    ]
    rows["rnn_sequence_pull"] = [
        call((t, b, n), (t, b, n), (b, n), (n, n), **way) for (t, b, n), way in zip(sizes, ways, strict=True)
    ]
    return rows


def _attention() -> dict[str, Any]:
    from rows import booleans, call, integers

    flags = booleans([True, False, True], [True, True, False])
    ways: list[tuple[Any, dict[str, Any]]] = [
        (None, {"scale": 0.5}),
        (flags, {"scale": 0.7}),
        ((2, 3), {"causal": True}),
        ((2, 1, 1, 3), {}),
        ((3,), {"scale": 0.7}),
    ]
    shapes = [
        ((2, 2), (3, 2), (3, 1)),
        ((2, 1, 2, 2), (2, 3, 2), (3, 1)),
        ((2, 2), (3, 2), (3, 2)),
        ((2, 2, 1), (3, 1), (3, 1)),
        ((2, 2, 1), (2, 3, 1), (2, 3, 2)),
    ]
    forward, pulls = [], []
    for (mask, keywords), (q, k, v) in zip(ways, shapes, strict=True):
        forward.append(call(q, k, v, mask, **keywords))
        lead = np.broadcast_shapes(*(a.shape[:-2] for a in forward[-1].arrays()))
        rows = (*lead, 2, v[-1]), (*lead, 2)
        pulls.append(call(*rows, *rows, q, k, v, mask, **keywords))
    key, dropped = integers(5, 2**33), {"dropout": 0.4}
    forward.append(call((2, 2, 2), (3, 2), (3, 2), None, key, **dropped))
    pulls.append(call(*[(2, 2, 2), (2, 2)] * 2, (2, 2, 2), (3, 2), (3, 2), None, key, **dropped))
    none = call((0, 2, 2), (0, 3, 2), (0, 3, 1), None)
    return {
        "attention": [*forward, none],
        "dropout_flags": [
            call(integers(7, 0), shape=(2, 3), dropout=0.5),
            call(integers([7, 0], [2**40, 5]), shape=(3,), dropout=0.3),
            call(np.zeros((0, 2), "int64"), shape=(2,), dropout=0.5),
        ],
        "attention_pull": [*pulls, call(*[(0, 2, 1), (0, 2)] * 2, (0, 2, 2), (0, 3, 2), (0, 3, 1), None)],
    }


ROWS = {**_sequences(), **_attention()}
