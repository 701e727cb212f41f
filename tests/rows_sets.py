"""Samples of sets and searching."""

import numpy as np
from rows import call, integers

_SORTED = np.asarray([-1.5, -0.5, 0.5, 0.5, 1.5])

ROWS = {
    "unique_places": [
        call(integers([3, 1], [3, 2]), data_dependent=True),
        call((4,), data_dependent=True),
        call(integers([]), data_dependent=True),
    ],
    "isin": [
        call(integers([1, 2], [3, 1]), integers(1, 3)),
        call(integers(1, 2, 5), integers([2, 2], [4, 5]), invert=True),
        call((0, 3), (2,)),
    ],
    "searchsorted": [
        call(_SORTED, (2, 3), examples={0: [_SORTED, _SORTED + 1, _SORTED - 0.25]}),
        call(_SORTED, np.asarray([0.5, 9.0, np.nan]), side="right", examples={0: [_SORTED, _SORTED + 1, _SORTED * 2]}),
        call(np.zeros(0), (2,)),
    ],
}
