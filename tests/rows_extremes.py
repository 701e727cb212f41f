"""Samples of what pulls back an extreme: the extreme is that of the array, or there would be nothing to share."""

from typing import Any

import numpy as np


def _pulls() -> list[Any]:
    from rows import call
    from samples import ANY

    made = []
    ways: list[dict[str, Any]] = [
        {}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"keepdims": True}, {"axis": (0, 2)}, {"axis": ()},
    ]  # fmt: skip
    for k, way in enumerate(ways):
        xs = [np.round(np.asarray(ANY.draw((2, 3, 2), 7 * k + n)) * 2) / 2 for n in range(3)]  # some tie
        ss = [np.asarray((np.max if k % 2 else np.min)(x, **way)) for x in xs]
        h = np.asarray(ANY.draw(ss[0].shape, 7 * k + 3))
        made.append(call(h, ss[0], xs[0], examples={1: ss, 2: xs}, **way))
    one, nothing = np.asarray(2.0), np.zeros((0, 3))
    return [*made, call(one, one, one), call(nothing.max(axis=1), nothing.max(axis=1), nothing, axis=1)]


ROWS: dict[str, Any] = {"extreme_pull": _pulls()}
