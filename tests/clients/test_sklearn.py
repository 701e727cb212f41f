"""scikit-learn with array API dispatch: tensors stay tensors, and gradients flow."""

import clients
import pytest
import sklearn_cases


@pytest.fixture(scope="module")
def found():
    return clients.outcomes("sklearn_cases")


@pytest.mark.parametrize("name", sklearn_cases.CASES)
def test_value_and_gradient(name, found):
    assert found[name] is None


@pytest.mark.parametrize("name", sklearn_cases.MUTATES)
def test_writing_over_a_kept_value_must_be_allowed(name, found):
    assert found[name] is None
