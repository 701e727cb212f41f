"""SciPy with ``SCIPY_ARRAY_API=1``: tensors stay tensors, and gradients flow."""

import clients
import pytest
import scipy_cases


@pytest.fixture(scope="module")
def found():
    return clients.outcomes("scipy_cases")


@pytest.mark.parametrize("name", scipy_cases.CASES)
def test_value_and_gradient(name, found):
    assert found[name] is None


@pytest.mark.parametrize("name", scipy_cases.MUTATES)
def test_writing_over_a_kept_value_must_be_allowed(name, found):
    assert found[name] is None
