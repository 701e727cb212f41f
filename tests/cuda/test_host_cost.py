"""What backward costs the host, counted and not timed: instructions of Python for each further node.

Where all nodes ran on the current stream of the current device, a walk over them takes the plain path, as on the CPU.
Both are counted with the engine in Python: the one in C takes none on the CPU.
"""

import json
import sys
from pathlib import Path

import pytest
from cudasim.processes import launch, run
from host_cost import CALLS, graph

import lucidgrad as lg
from lucidgrad import cudasim

#: What a CUDA node may take, relative to a CPU node.
MOST = 1.3


@pytest.fixture(scope="module")
def counts():
    start = run if cudasim.usable_gpus() else launch
    done = start(sys.executable, str(Path(__file__).with_name("host_cost.py")), LUCIDGRAD_ENGINE="python")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", [*CALLS, "on a side stream"])
def test_a_node_takes_hardly_more_than_on_the_cpu(name, counts):
    cuda, cpu = counts[name]
    assert cuda <= MOST * cpu, f"{name}: {cuda} instructions, {cpu} on the CPU"


def test_nodes_of_another_stream_are_walked_with_waits():
    """What is counted above is not had by leaving out what streams need."""
    with lg.cuda.stream(lg.cuda.Stream()):
        y, x, g = graph(CALLS["exp"], 3, "cuda")
    waits = []
    with pytest.MonkeyPatch.context() as patch:
        from lucidgrad.backends.cuda.streams import Place

        usual = Place.wait_for
        patch.setattr(Place, "wait_for", lambda self, other, arrays=(): waits.append(1) or usual(self, other, arrays))
        lg.autograd.grad(y, x, g)
    assert waits


def test_the_cpu_s_walk_takes_no_more_than_before(counts):
    """Instructions of a node of ``exp``, which was 124 when walks knew of no common place."""
    assert counts["exp"][1] <= 124
