"""What is counted while a graph is launched: on the emulated device. A GPU does not tell, and runs the same tests."""

from contextlib import nullcontext
from typing import Any

from lucidgrad.backends import cudasim


def counting() -> Any:
    """What happens in a block of code, or None."""
    return cudasim.counting() if cudasim.is_installed() else nullcontext()


def assert_one_launch(counts: Any) -> None:
    """Raise unless all that happened was the launch of one graph, for which the host neither waited nor copied."""
    if counts is not None:
        assert counts.graph_launches == 1
        assert sum(counts.launches.values()) + counts.memsets + counts.copies_on_device <= counts.graph_nodes
        assert counts.synchronisations == counts.copies_to_host == counts.copies_to_device == 0
