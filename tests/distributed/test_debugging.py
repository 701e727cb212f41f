"""The debug mode names what differs between processes."""

import checks_debugging
import pytest
from ranks import names
from thoroughness import cases


@pytest.mark.parametrize("ranks", cases((2,), (2, 3)))
@pytest.mark.parametrize("check", names(checks_debugging))
def test_differences(check, ranks, results):
    results([checks_debugging], check, ranks, LUCIDGRAD_DISTRIBUTED_DEBUG="1")
