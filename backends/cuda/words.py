"""Numbers and addresses in memory of the device, which travel by value with a launch: nothing has to outlive the call,
and nobody waits for a copy.

In a graph, that launch is a node whose argument is replaced before the graph is launched again. So a graph with numbers
that change is one launch, too. It takes three functions of the driver; where it lacks them, the words are launched
before the graph.
"""

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from .compiling import ROOM, by_value

__all__ = ["MOST", "Words", "can_renew"]

#: Words that a launch takes with it.
MOST = ROOM // 8

_POINTER = ctypes.c_void_p


@functools.cache
def _filling() -> Any:
    source = f"""
struct Words {{ unsigned long long all[{MOST}]; }};
extern "C" __global__ void __launch_bounds__(512, 1) lg_words(Words words, unsigned long long *to, int count) {{
    if (threadIdx.x < count) to[threadIdx.x] = words.all[threadIdx.x];
}}
"""
    return cupy.RawKernel(source, "lg_words")


class Words:
    """Words in memory of the device, and the nodes of a graph that fill them."""

    def __init__(self, count: int) -> None:
        self.array = cupy.ndarray((count,), np.uint64)
        self._nodes: list[_Node] | None = None

    def filled(self, numbers: Sequence[float], addresses: Any = ()) -> Any:
        """Send values on the current stream; the array that gets them."""
        for begin, count, part in self._parts(numbers, addresses):
            _filling()((1,), (512,), (by_value(part), self.array[begin:], np.int32(count)))
        return self.array

    def record(self) -> None:
        """Record, on a stream of which a graph is made, that the words are filled; where graphs can be changed."""
        if can_renew():
            self.filled((), np.zeros(self.array.size, np.uint64))

    def bind(self, graph: Any) -> None:
        """Find the nodes of a graph that fill the words, if that was recorded."""
        if can_renew():
            found = _nodes(graph, int(_filling().kernel.ptr), self.array.data.ptr, self.array.nbytes)
            if len(found) != -(-self.array.size // MOST):
                raise RuntimeError("the graph that was recorded does not have the launches that fill its words")
            self._nodes = found

    def renew(self, numbers: Sequence[float], addresses: Any = ()) -> None:
        """Let the graph's next launch, which is to be on the current stream, find these values."""
        if self._nodes is None:
            self.filled(numbers, addresses)
            return
        for node, (_, count, part) in zip(self._nodes, self._parts(numbers, addresses), strict=True):
            node.replace(part, count)

    def _parts(self, numbers: Sequence[float], addresses: Any) -> list[tuple[int, int, Any]]:
        """Where to, how many, and the words of each launch."""
        words = np.concatenate([np.asarray(numbers, np.float64).view(np.uint64), np.asarray(addresses, np.uint64)])
        parts = []
        for begin in range(0, len(words), MOST):
            part = np.zeros(MOST, np.uint64)
            some = words[begin : begin + MOST]
            part[: len(some)] = some
            parts.append((begin, len(some), part))
        return parts


# -- nodes of graphs -----------------------------------------------------------------------------------
class _Parameters(ctypes.Structure):
    """What a kernel's node is launched with: the driver's ``CUDA_KERNEL_NODE_PARAMS``."""

    _fields_ = (
        ("function", _POINTER),
        ("sizes", ctypes.c_uint * 7),  # of the grid and of blocks, and bytes of shared memory
        ("arguments", ctypes.POINTER(_POINTER)),
        ("extra", _POINTER),
        ("kernel", _POINTER),
        ("context", _POINTER),
    )


class _Node:
    """A launch of `lg_words` in a graph."""

    def __init__(self, graph: Any, node: int, parameters: _Parameters, to: int) -> None:
        self._executable, self._node, self._parameters = int(graph.graphExec), node, parameters
        self._graph = graph  # which must live as long as its numbers are used
        self.to = to
        self._target, self._count = ctypes.c_uint64(to), ctypes.c_int(0)

    def replace(self, words: Any, count: int) -> None:
        """Let it take other words from now on; the driver copies them before this returns."""
        self._count.value = count
        given = (words.ctypes.data, ctypes.addressof(self._target), ctypes.addressof(self._count))
        self._parameters.arguments = (_POINTER * 3)(*given)
        self._parameters.extra = None
        change = _driver("cuGraphExecKernelNodeSetParams_v2")
        status = change(_POINTER(self._executable), _POINTER(self._node), ctypes.byref(self._parameters))
        if status:
            raise RuntimeError(f"a launch in a CUDA graph could not be given other numbers: error {status}")


@functools.cache
def _driver(name: str) -> Any:
    """A function of the driver, which CuPy has loaded; None where there is none."""
    try:
        return getattr(ctypes.CDLL("libcuda.so.1"), name, None)
    except OSError:
        return None


_NEEDED = tuple(
    f"cuGraph{name}" for name in "GetNodes NodeGetType KernelNodeGetParams_v2 ExecKernelNodeSetParams_v2".split()
)
_KERNEL = 0  # CU_GRAPH_NODE_TYPE_KERNEL


def can_renew() -> bool:
    """Whether the driver lets nodes of graphs be changed."""
    return None not in map(_driver, _NEEDED)


def _nodes(graph: Any, function: int, begin: int, size: int) -> list[_Node]:
    """The nodes that launch a function which writes into a stretch of memory, in the order of that."""
    get, kind_of, parameters_of, _ = map(_driver, _NEEDED)
    count = ctypes.c_size_t(0)
    handle = _POINTER(int(graph.graph))
    if get(handle, None, ctypes.byref(count)):
        return []
    nodes = (_POINTER * count.value)()
    if get(handle, nodes, ctypes.byref(count)):
        return []
    found = []
    for node in filter(None, nodes):
        kind, parameters = ctypes.c_int(-1), _Parameters()
        if kind_of(_POINTER(node), ctypes.byref(kind)) or kind.value != _KERNEL:
            continue
        if parameters_of(_POINTER(node), ctypes.byref(parameters)) or parameters.function != function:
            continue
        to = ctypes.cast(parameters.arguments[1], ctypes.POINTER(ctypes.c_uint64))[0]
        if begin <= to < begin + size:
            found.append(_Node(graph, node, parameters, to))
    return sorted(found, key=lambda node: node.to)
