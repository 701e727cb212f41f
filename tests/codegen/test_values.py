"""Generated kernels compute what the programs compute, at all special points, for every dtype."""

import functools

import catalogue
import pytest
from batches import Batch, differences


@functools.cache
def _cases(dtype):
    return [case for name in catalogue.names() for case in catalogue.cases_of(name, (dtype,))]


@functools.cache
def _batch(dtype):
    return Batch(case.kernel().kernel for case in _cases(dtype) if case.kernel().kernel is not None)


@pytest.mark.parametrize("dtype", catalogue.DTYPES)
def test_kernel_is_program(dtype):
    wrong = []
    for case in _cases(dtype):
        kernel = case.kernel().kernel
        if kernel is None:
            continue
        found = _batch(dtype).run(kernel, case.arguments())
        for k, (y, expected) in enumerate(zip(found, case.expected(), strict=True)):
            where = differences(y, expected, case.name)
            if where.size:
                at = where[0]
                point = [a if not hasattr(a, "ravel") else a.ravel()[at] for a in case.args]
                wrong.append(f"{case}: result {k} at {point} is {y.ravel()[at]}, expected {expected.ravel()[at]}")
    assert not wrong, f"{len(wrong)} of {len(_cases(dtype))}:\n" + "\n".join(wrong)
