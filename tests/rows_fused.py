"""Samples of fused functions, their pulls, windows and pools."""

from typing import Any

import numpy as np

import lucidgrad.ops.losses
import lucidgrad.ops.normalisation
import lucidgrad.ops.pooling
import lucidgrad.ops.windows  # these are loaded on demand
from lucidgrad.extents import out_sizes


def _reduced(shape: tuple[int, ...], axis: Any = None, keepdims: bool = False) -> tuple[int, ...]:
    return np.sum(np.zeros(shape), axis=axis, keepdims=keepdims).shape


#: Every way to say which axes are reduced.
_WAYS: list[dict[str, Any]] = [
    {}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"keepdims": True}, {"axis": (0, 2)}, {"axis": ()},
]  # fmt: skip


def _pulls(count: int, *more: dict[str, Any]) -> list[Any]:
    """Calls of a pull: arrays of the reduced shape, then one of the whole."""
    from rows import call

    made = []
    for keywords in [*_WAYS, *more]:
        reduces = {k: v for k, v in keywords.items() if k in ("axis", "keepdims")}
        made.append(call(*[_reduced((2, 3, 2), **reduces)] * count, (2, 3, 2), **keywords))
    return [*made, call(*[(0,)] * count, (0, 3), axis=1)]


def _softmaxes() -> dict[str, Any]:
    from rows import call

    pulls = [call((2, 3), (2, 3)), call((2, 3, 2), (2, 3, 2), axis=-2), call((0, 3), (0, 3))]
    return {"softmax_pull": pulls, "log_softmax_pull": pulls}


def _losses() -> dict[str, Any]:
    from rows import call, integers

    rows = [
        ((2, 3), integers(2, 0), (2,), {}),
        ((3, 2, 2), integers([0, 2], [1, 1]), (2, 2), {"axis": 0}),
        ((2, 3, 2), integers([0, -100], [7, 1]), (2, 2), {"axis": 1, "ignore_index": 7}),
        ((3,), np.asarray(1), (), {}),
        ((0, 3), np.zeros(0, "int64"), (0,), {}),
    ]
    rows[2][1][0, 1] = 2
    return {
        "mean_squared_error": [call((2, 3), (2, 3)), call((), ()), call((2, 1, 2), (2, 1, 2)), call((0, 2), (0, 2))],
        "cross_entropy_rows": [call(x, i, **keywords) for x, i, _, keywords in rows],
        "cross_entropy_pull": [call(x, i, h, **keywords) for x, i, h, keywords in rows],
    }


def _norms() -> dict[str, Any]:
    from rows import call

    # Where values are nearly equal, derivatives of high order are too steep for differences: eps is large.
    ways: list[dict[str, Any]] = [{}, {"axis": (0, -1)}, {"axis": None}, {"axis": 0, "centre": False}]
    layers: list[dict[str, Any]] = [{}, {"axes": 2}, {"centre": False}]
    ways, layers = ([{"eps": 0.2, **way} for way in some] for some in (ways, layers))

    def tail(way: dict[str, Any]) -> tuple[int, ...]:
        return (2, 2, 3)[3 - way.get("axes", 1) :]

    batches = [((3, 2), 2), ((2, 2, 3), 2), ((2, 1, 2, 2), 1)]
    return {
        "standardise": [*(call((2, 2, 3), **way) for way in ways), call((2, 3)), call((0, 3))],
        "standardise_pull": [*(call((2, 2, 3), (2, 2, 3), **way) for way in ways), call((0, 3), (0, 3))],
        "layer_norm": [
            *(call((2, 2, 3), tail(way), tail(way), **way) for way in layers),
            call((2, 3), (3,)),
            call((3,), (3,), (3,)),
            call((0, 3), (3,), (3,)),
        ],
        "layer_norm_pull": [
            *(call((2, 2, 3), (2, 2, 3), tail(way), **way) for way in layers),
            call((3,), (3,), (3,), eps=0.2),
            call((0, 3), (0, 3), (3,)),
        ],
        "batch_norm": [*(call(x, (c,), (c,), eps=0.2) for x, c in batches), call((2, 0, 2), (0,), (0,))],
        "batch_norm_pull": [
            *(call(x, x, (c,), (c,), (c,), eps=0.2) for x, c in batches),
            call((2, 0, 2), (2, 0, 2), (0,), (0,), (0,)),
        ],
    }


def _steps(window: Any, stride: Any = None, padding: Any = None, dilation: Any = None) -> dict[str, Any]:
    n = len(window)
    return {
        "window": window,
        "stride": stride or (1,) * n,
        "padding": padding or (0,) * n,
        "dilation": dilation or (1,) * n,
    }


def _out(sizes: tuple[int, ...], steps: dict[str, Any], ceil_mode: bool = False) -> tuple[int, ...]:
    steps = {"dilation": (1,) * len(sizes), **steps}
    return out_sizes("a sample", sizes, **steps, ceil_mode=ceil_mode)


#: Sizes of planes, and windows on them.
_PLANES = [
    ((5,), _steps((2,))),
    ((4,), _steps((3,), (2,), (1,))),
    ((3, 4), _steps((2, 3), (2, 1), (1, 0))),
    ((5, 3), _steps((2, 2), (1, 2), (0, 1), (2, 1))),
    ((2, 3, 2), _steps((2, 2, 1))),
]


def _but(steps: dict[str, Any], *names: str) -> dict[str, Any]:
    return {k: v for k, v in steps.items() if k not in names}


def _windows() -> dict[str, Any]:
    from rows import call

    unfold, fold, conv, to_input, to_weight = [], [], [], [], []
    for sizes, steps in _PLANES:
        out, window, rest = _out(sizes, steps), steps["window"], _but(steps, "window")
        unfold.append(call((2, *sizes), **steps))
        fold.append(call((2, *window, *out), sizes=sizes, **rest))
        groups = 1 if len(sizes) != 2 else 2
        x, w, h = (2, 2, *sizes), (2, 2 // groups, *window), (2, 2, *out)
        conv.append(call(x, w, groups=groups, **rest))
        to_input.append(call(h, w, sizes=sizes, groups=groups, **rest))
        to_weight.append(call(x, h, window=window, groups=groups, **rest))
    rest = _but(_steps((2,)), "window")
    return {
        "unfold_windows": [*unfold, call((5,), **_steps((2,))), call((0, 5), **_steps((2,)))],
        "fold_windows": [*fold, call((2, 4), sizes=(5,), **rest), call((0, 2, 4), sizes=(5,), **rest)],
        "convolution": [*conv, call((1, 2, 3), (3, 2, 1), **rest), call((0, 2, 5), (3, 2, 2), **rest)],
        "convolution_input": [*to_input, call((0, 3, 4), (3, 2, 2), sizes=(5,), **rest)],
        "convolution_weight": [*to_weight, call((0, 2, 5), (0, 3, 4), window=(2,), **rest)],
    }


def _pools() -> dict[str, Any]:
    from rows import call

    largest, put, mean, mean_put = [], [], [], []
    planes = [*_PLANES, ((5,), _steps((2,), (2,))), ((5, 4), _steps((3, 2), (2, 3), (1, 1)))]
    for sizes, steps in planes:
        for ceil_mode in (False, True) if _out(sizes, steps) != _out(sizes, steps, True) else (False,):
            x = np.random.default_rng(len(largest)).permutation(2 * np.prod(sizes)).reshape(2, *sizes) / 4
            largest.append(call(x, ceil_mode=ceil_mode, **steps))
            i = lucidgrad.ops.pooling.max_pool(lucidgrad.asarray(x), ceil_mode=ceil_mode, **steps)[1].numpy()
            examples = {1: [i, i[::-1], i]}
            put.append(call((2, *_out(sizes, steps, ceil_mode)), i, sizes=sizes, examples=examples, **steps))
            plain = _but(steps, "dilation")
            for more in ({}, {"include": False}, {"divisor": 3.0}):
                h = (2, *_out(sizes, plain, ceil_mode))
                mean.append(call((2, *sizes), ceil_mode=ceil_mode, **plain, **more))
                mean_put.append(call(h, sizes=sizes, **plain, **more))
    steps, plain = _steps((2,)), _but(_steps((2,)), "dilation")
    return {
        "max_pool": [*largest, call((0, 5), **steps)],
        "pool_put": [*put, call((0, 4), np.zeros((0, 4), "int64"), sizes=(5,), **steps)],
        "avg_pool": [*mean, call((0, 5), **plain)],
        "avg_pool_put": [*mean_put, call((0, 4), sizes=(5,), **plain)],
    }


ROWS: dict[str, Any] = {
    **_softmaxes(),
    "logsumexp_pull": _pulls(2),
    "var_pull": _pulls(1, {"correction": 1.0}),
    "std_pull": _pulls(2, {"correction": 1.0}),
    **_losses(),
    **_norms(),
    **_windows(),
    **_pools(),
}
