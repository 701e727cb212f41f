"""Samples of differentiable collectives in a group of one process; with several, `tests/distributed` has the laws."""

import numpy as np
from rows import call
from samples import ANY

from lucidgrad.communication.groups import alone


def _calls(*shapes, **keywords):
    return [call(ANY.draw(shape, 77 + i), group=alone, **keywords) for i, shape in enumerate(shapes)]


_ALONG = [*_calls((2, 3), axis=1, length=3), *_calls((2,), axis=0, length=2), *_calls((0, 3), axis=0, length=0)]

ROWS = {
    "rank_sum": [*_calls((2, 3), (), (0, 3)), *_calls((2, 3), mean=True)],
    "rank_gather": _calls((2, 3), (), (0, 3)),
    "rank_scatter": [*_calls((1, 2, 3), (1,), (1, 0)), *_calls((1, 3), mean=True)],
    "rank_broadcast": _calls((2, 3), (), (0, 3), root=0),
    "rank_reduce": [*_calls((2, 3), (), (0, 3), root=0), *_calls((2, 3), root=0, mean=True)],
    "rank_exchange": [
        *_calls((2, 3), sent=(2,), received=(2,)),
        *_calls((3,), sent=(3,), received=(3,)),
        call(np.zeros((0, 2)), group=alone, sent=(0,), received=(0,)),
    ],
    "rank_pass": [*_calls((2, 3), (), (0, 3), to=0, source=0), *_calls((2, 3), to=None, source=None)],
    "rank_spread": _calls((2, 3), (), (0, 3)),
    "rank_total": _calls((2, 3), (), (0, 3)),
    "rank_join": _ALONG,
    "rank_part": _ALONG,
}
