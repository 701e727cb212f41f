"""CUDA devices: which there are, which is current, streams and events, and memory.

CuPy is imported when a function here first needs it; `is_available` says whether one can.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from lucidgrad import nvtx, random
from lucidgrad.backends.cuda import driver
from lucidgrad.core import device as _devices
from lucidgrad.core.device import Device
from lucidgrad.core.errors import DeviceError
from lucidgrad.refusals import guard as _guard

__all__ = [
    "CUDAGraph", "DeviceProperties", "Event", "Stream", "can_device_access_peer", "current_device", "current_stream",
    "default_stream", "device", "device_count", "empty_cache", "get_allocator_backend", "get_device_capability",
    "get_device_name", "get_device_properties", "get_rng_state", "graph", "graph_pool_handle", "is_available",
    "is_current_stream_capturing", "is_initialized", "make_graphed_callables", "manual_seed", "manual_seed_all",
    "max_memory_allocated", "mem_get_info", "memory_allocated", "memory_reserved", "memory_stats", "nvtx",
    "reset_peak_memory_stats", "set_allocator_backend", "set_device", "set_rng_state", "set_stream", "stream",
    "synchronize", "version",
]  # fmt: skip

_GRAPHS = ("CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables")


def is_available() -> bool:
    """Whether there is a CUDA device that can be used: the driver is asked. Never raises.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.cuda.is_available() == (lg.cuda.device_count() > 0)
    True
    """
    return driver.device_count() > 0


def device_count() -> int:
    """The number of CUDA devices; 0 without CuPy, a driver or a GPU.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.cuda.device_count() >= 0
    True
    """
    return driver.device_count()


def version() -> str | None:
    """The version of CUDA that CuPy runs with, such as ``"12.9"``; None without a device.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     assert lg.cuda.version()
    """
    if not is_available():
        return None
    number = int(_cupy().runtime.runtimeGetVersion())
    return f"{number // 1000}.{number % 1000 // 10}"


def is_initialized() -> bool:
    """Whether a CUDA device was used.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     x = lg.ones(2, device="cuda")
    ...     assert lg.cuda.is_initialized()
    """
    return _devices.is_loaded("cuda")


def _cupy() -> Any:
    """CuPy's CUDA module; raises a `DeviceError` where it can't be used."""
    return _backend().cuda


def _backend() -> Any:
    return _devices.backend_named("cuda")


def _number(device: Any) -> int:
    """The index of a device that is given by index, by name, or not at all: the current one."""
    where = Device("cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device)
    if where.type != "cuda":
        raise DeviceError(f"given device {str(where)!r}, expected a CUDA device such as 'cuda:1', or its index")
    index = _backend().locate(where).index
    return int(index)


# -- devices -------------------------------------------------------------------------------------
def current_device() -> int:
    """The index of the device that ``"cuda"`` means.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     assert lg.cuda.current_device() == 0
    """
    return _number(None)


def set_device(device: Any) -> None:
    """Let ``"cuda"`` mean a device from now on, in this thread.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     lg.cuda.set_device(0)
    """
    number = _number(device)
    _cupy().runtime.setDevice(number)


class device:
    """A context in which ``"cuda"`` means a device.

    Parameters
    ----------
    device
        An index, a name such as ``"cuda:1"``, or a device. None changes nothing.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     with lg.cuda.device(0):
    ...         assert lg.ones(2, device="cuda").device.index == 0
    """

    def __init__(self, device: Any) -> None:
        self.index = None if device is None or device == -1 else _number(device)
        self._before: list[int] = []

    def __enter__(self) -> "device":
        self._before.append(current_device())
        if self.index is not None:
            set_device(self.index)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        set_device(self._before.pop())


_on = device  # where an argument has its name


def get_device_name(device: Any = None) -> str:
    """The name of a device's model.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     name = lg.cuda.get_device_name()
    """
    name = _cupy().runtime.getDeviceProperties(_number(device))["name"]
    return name.decode() if isinstance(name, bytes) else str(name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a device, e.g. ``(8, 0)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     major, minor = lg.cuda.get_device_capability()
    """
    found = _cupy().runtime.getDeviceProperties(_number(device))
    return int(found["major"]), int(found["minor"])


@dataclass(frozen=True)
class DeviceProperties:
    """What a device is like: the fields have PyTorch's names. Sizes are in bytes, rates in kHz.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     assert lg.cuda.get_device_properties().warp_size == 32
    """

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    max_threads_per_block: int
    max_threads_per_multi_processor: int
    regs_per_multiprocessor: int
    shared_memory_per_block: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    warp_size: int
    L2_cache_size: int
    clock_rate: int
    memory_clock_rate: int
    memory_bus_width: int
    is_integrated: bool


#: CuPy's names of the fields, in their order, from the third on.
_PROPERTIES = (
    "totalGlobalMem", "multiProcessorCount", "maxThreadsPerBlock", "maxThreadsPerMultiProcessor",
    "regsPerMultiprocessor", "sharedMemPerBlock", "sharedMemPerBlockOptin", "sharedMemPerMultiprocessor", "warpSize",
    "l2CacheSize", "clockRate", "memoryClockRate", "memoryBusWidth",
)  # fmt: skip


def get_device_properties(device: Any = None) -> DeviceProperties:
    """What a device is like: its memory, multiprocessors, limits of blocks.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     properties = lg.cuda.get_device_properties()
    ...     assert properties.total_memory > 0
    """
    found = _cupy().runtime.getDeviceProperties(_number(device))
    numbers: Any = [int(found[name]) for name in _PROPERTIES]
    major, minor = get_device_capability(device)
    integrated = bool(found["integrated"])
    return DeviceProperties(get_device_name(device), major, minor, *numbers, integrated)  # type: ignore[call-arg]


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether a device can read another one's memory itself.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.device_count() > 1:
    ...     lg.cuda.can_device_access_peer(0, 1) in (True, False)
    True
    """
    return bool(_cupy().runtime.deviceCanAccessPeer(_number(device), _number(peer_device)))


def synchronize(device: Any = None) -> None:
    """Wait until all work on a device is done.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     lg.cuda.synchronize()
    """
    number = _number(device)
    _backend().refuse_recording("synchronize waits for the device", "wait before or after the graph")
    with _on(number):
        _cupy().runtime.deviceSynchronize()
    _backend().streams.sweep()
    _backend().check()


# -- streams and events --------------------------------------------------------------------------
_LATER = "do that before or after the graph"


class Stream:
    """A queue of work on a device. Work of one stream runs in order, that of two side by side.

    Parameters
    ----------
    device
        The device, by default the current one.
    priority
        Lower numbers come first.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     side = lg.cuda.Stream()
    ...     side.wait_stream(lg.cuda.current_stream())
    ...     with lg.cuda.stream(side):
    ...         y = lg.ones(3, device="cuda") * 2
    ...     side.synchronize()
    """

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        number = _number(device)
        with _on(number):
            made = _cupy().Stream(non_blocking=True, priority=priority)
        self._open: list[stream] = []
        self.place = _backend().streams.place_for(number, made)

    @classmethod
    def _of(cls, place: Any) -> "Stream":
        made = cls.__new__(cls)
        made.place, made._open = place, []
        return made

    @property
    def device(self) -> Device:
        """The device that it belongs to."""
        return Device("cuda", self.place.device)

    @property
    def cuda_stream(self) -> int:
        """The number that the CUDA driver knows it by."""
        return int(self.place.stream.ptr)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.cuda_stream

    def wait_stream(self, stream: "Stream") -> None:
        """Let work that is sent here from now on wait for all that was sent to another stream."""
        self.place.wait_for(stream.place)

    def wait_event(self, event: "Event") -> None:
        """Let work that is sent here from now on wait for an event."""
        event.wait(self)

    def record_event(self, event: "Event | None" = None) -> "Event":
        """An event that happens when all that was sent here so far is done."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether all work is done."""
        self._refuse("query asks a stream that is part of it whether work is done")
        with self.place.current():
            return bool(self.place.stream.done)

    def _refuse(self, what: str) -> None:
        if _backend().is_recording() and _backend().streams.is_recorded(self.place.stream):
            _backend().refuse_recording(what, _LATER)

    def synchronize(self) -> None:
        """Wait until all work is done."""
        self._refuse("synchronize waits for a stream that is part of it")
        with self.place.current():
            self.place.stream.synchronize()
        _backend().check()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.place is other.place

    def __hash__(self) -> int:
        return hash(self.place)

    def __repr__(self) -> str:
        return f"Stream(device={str(self.device)!r}, cuda_stream={self.cuda_stream:#x})"

    def __enter__(self) -> "Stream":
        self._open.append(stream(self))
        self._open[-1].__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._open.pop().__exit__(*exc)


class stream:
    """A context in which work is sent to a stream, and its device is the current one. None changes nothing.

    Parameters
    ----------
    stream
        The stream.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     side = lg.cuda.Stream()
    ...     with lg.cuda.stream(side):
    ...         assert lg.cuda.current_stream() == side
    """

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before: list[tuple[int, Any]] = []

    def __enter__(self) -> Stream | None:
        if self.stream is not None:
            self._before.append((current_device(), self.stream.place.enter()))
        return self.stream

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.stream is not None:
            number, place = self._before.pop()
            place.enter()
            set_device(number)


def set_stream(stream: Stream) -> None:
    """Send work to a stream from now on.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     before = lg.cuda.current_stream()
    ...     lg.cuda.set_stream(lg.cuda.Stream())
    ...     lg.cuda.set_stream(before)
    """
    stream.place.enter()


def current_stream(device: Any = None) -> Stream:
    """The stream that work on a device is sent to.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     lg.cuda.current_stream().synchronize()
    """
    return Stream._of(_backend().streams.place_now(_number(device)))


def default_stream(device: Any = None) -> Stream:
    """The stream that work on a device is sent to unless another is chosen.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     assert lg.cuda.default_stream() == lg.cuda.current_stream()
    """
    return Stream._of(_backend().streams.place_for(_number(device), _cupy().Stream.null))


class Event:
    """A mark in a stream, which other streams and the host can wait for.

    Parameters
    ----------
    enable_timing
        Whether `elapsed_time` can be asked.
    blocking
        Whether `synchronize` leaves the processor to others.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     event = lg.cuda.Event()
    ...     event.record()
    ...     event.synchronize()
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False) -> None:
        self._options = {"block": blocking, "disable_timing": not enable_timing}
        self._event: Any = None
        self._in_graph = False  # whether it was recorded last in work of which a graph is made

    def record(self, stream: Stream | None = None) -> None:
        """Happen when all that was sent to a stream, by default the current one, is done."""
        at = current_stream() if stream is None else stream
        with device(at.place.device):
            self._event = _cupy().Event(**self._options) if self._event is None else self._event
            at.place.stream.record(self._event)
        self._in_graph = _backend().is_recording() and _backend().streams.is_recorded(at.place.stream)

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream wait."""
        if self._event is not None:
            at = (current_stream() if stream is None else stream).place
            with at.current():
                at.stream.wait_event(self._event)

    def query(self) -> bool:
        """Whether it has happened, or was never recorded."""
        self._refuse("query")
        return self._event is None or bool(self._event.done)

    def _refuse(self, name: str) -> None:
        if self._in_graph:
            _backend().refuse_recording(f"Event.{name} asks for an event that is part of it", _LATER)
            raise RuntimeError(f"Event.{name}: the event is part of a CUDA graph, and has no time; record it again")

    def synchronize(self) -> None:
        """Wait until it has happened."""
        self._refuse("synchronize")
        if self._event is not None:
            self._event.synchronize()
            _backend().check()

    def elapsed_time(self, end_event: "Event") -> float:
        """Milliseconds between this event and a later one."""
        if self._event is None or end_event._event is None:
            raise RuntimeError("elapsed_time: both events must have been recorded")
        for event in (self, end_event):
            event._refuse("elapsed_time")
        return float(_cupy().get_elapsed_time(self._event, end_event._event))


# -- memory --------------------------------------------------------------------------------------
def _asked(name: str) -> Callable[[int], Any]:
    found: Callable[[int], Any] = getattr(_backend().memory, name)
    return found


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors occupy on a device.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     x = lg.ones(1000, device="cuda")
    ...     assert lg.cuda.memory_allocated() >= 4000
    """
    return int(_asked("allocated")(_number(device)))


def memory_reserved(device: Any = None) -> int:
    """Bytes that were taken from a device, in use or not.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     assert lg.cuda.memory_reserved() >= lg.cuda.memory_allocated()
    """
    return int(_asked("reserved")(_number(device)))


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors occupied since `reset_peak_memory_stats`, or since this was first asked.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     x = lg.ones(1000, device="cuda")
    ...     assert lg.cuda.max_memory_allocated() >= 4000
    """
    return int(_asked("max_allocated")(_number(device)))


def reset_peak_memory_stats(device: Any = None) -> None:
    """Count `max_memory_allocated` from now on.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     lg.cuda.reset_peak_memory_stats()
    ...     assert lg.cuda.max_memory_allocated() == lg.cuda.memory_allocated()
    """
    _asked("reset_peak")(_number(device))


def memory_stats(device: Any = None) -> dict[str, int]:
    """Figures of a device's memory under PyTorch's names: bytes in use, the most of them, bytes reserved, allocations.

    Peaks and allocations are counted since this, or `max_memory_allocated`, was first asked.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     x = lg.ones(1000, device="cuda")
    ...     assert lg.cuda.memory_stats()["allocated_bytes.all.current"] >= 4000
    """
    found: dict[str, int] = _asked("statistics")(_number(device))
    return found


def get_allocator_backend() -> str:
    """Whose pool memory comes from: ``"native"`` is CuPy's, ``"cudaMallocAsync"`` the driver's.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     assert lg.cuda.get_allocator_backend() == "native"
    """
    return str(_backend().memory.allocator())


def set_allocator_backend(backend: str) -> None:
    """Take memory from CuPy's pool (``"native"``) or from the driver's (``"cudaMallocAsync"``) from now on.

    The driver's pool shares memory with other libraries that use it. Tensors keep what they have.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     lg.cuda.set_allocator_backend("cudaMallocAsync")
    ...     x = lg.ones(3, device="cuda")
    ...     lg.cuda.set_allocator_backend("native")
    """
    if backend not in ("native", "cudaMallocAsync"):
        raise ValueError(f"set_allocator_backend: given {backend!r}, expected 'native' or 'cudaMallocAsync'")
    try:
        _backend().memory.set_allocator(backend)
    except RuntimeError as error:
        raise DeviceError(f"set_allocator_backend: the driver has no pool of its own: {error}") from error


def empty_cache() -> None:
    """Give memory that no tensor occupies back to the devices.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     lg.cuda.empty_cache()
    """
    if is_initialized():
        _backend().memory.empty_cache()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The free and the whole memory of a device in bytes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     free, whole = lg.cuda.mem_get_info()
    ...     assert 0 <= free <= whole
    """
    with _on(_number(device)):
        free, total = _cupy().runtime.memGetInfo()
    return int(free), int(total)


# -- random numbers ------------------------------------------------------------------------------
def manual_seed(seed: int) -> None:
    """Start the default generator of the current device anew from a seed; does nothing without a device.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     lg.cuda.manual_seed(0)
    """
    if is_available():
        random.default_generator(Device("cuda", current_device())).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """The same for all devices.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     lg.cuda.manual_seed_all(0)
    """
    for number in range(device_count()):
        random.default_generator(Device("cuda", number)).manual_seed(seed)


def get_rng_state(device: Any = None) -> Any:
    """The state of a device's default generator.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     state = lg.cuda.get_rng_state()
    """
    return random.default_generator(Device("cuda", _number(device))).get_state()


def set_rng_state(state: Any, device: Any = None) -> None:
    """Go on from a state that `get_rng_state` gave.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     state = lg.cuda.get_rng_state()
    ...     a = lg.rand(2, device="cuda")
    ...     lg.cuda.set_rng_state(state)
    ...     assert lg.array_equal(a, lg.rand(2, device="cuda"))
    """
    random.default_generator(Device("cuda", _number(device))).set_state(state)


_guard(__name__, __all__)


def __getattr__(name: str) -> Any:
    """Names of graphs, which few programs ask for, are loaded then."""
    if name not in _GRAPHS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import graphs

    found = globals()[name] = getattr(graphs, name)
    return found
