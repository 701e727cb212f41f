"""CuPy as a back end: every operation runs on the device of its arrays, whatever the current one is."""

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np
from cupy.cuda import get_device_id, runtime
from cupy.cuda.memory import PooledMemory

from lucidgrad.backends.codegen import any_integer
from lucidgrad.backends.protocol import STANDARD, Backend, Namespace, overlapping
from lucidgrad.core import device
from lucidgrad.core.device import Device
from lucidgrad.core.dispatch import different
from lucidgrad.core.errors import DeviceError
from lucidgrad.core.primitive import ELEMENTWISE, Primitive, registry

from . import captures, faults, generated, kernels, memory, sampling, streams
from .driver import index_of, too_old
from .kernels.indexing import has_positions, put
from .library import COMPLEX, LIBRARY, computed_with, signed

if TYPE_CHECKING:
    from lucidgrad.levels.program import Program

_HERE = nullcontext()
_SOLE = 3  # references to a base: of the view, a variable, and the argument
_NUMBERS = (bool, int, float, complex, np.generic)


class _SameDevice:
    """Restores the current device at its end: a walk over several devices may leave another."""

    def __enter__(self) -> None:
        self.before = get_device_id()

    def __exit__(self, *exc: object) -> None:
        if get_device_id() != self.before:
            runtime.setDevice(self.before)


class _Names(Namespace):
    """Functions by name, of which those of elementwise primitives are one launch each."""

    _backend: "CUDA"

    def __getattr__(self, name: str) -> Any:
        self._backend.generate(name)
        found = super().__getattr__(name)
        if name in captures.UNRECORDABLE:
            found = captures.refusing(name, found)
            setattr(self, name, found)
        return found


class CUDA(Backend):
    """Arrays are ``cupy.ndarray``; results stay on the device, 0-d ones too, and nothing here waits for them."""

    name = "cuda"
    array_types = (cupy.ndarray,)
    library = LIBRARY
    fuses = True  # a launch costs more than to look for a kernel of all rules
    unwritable = "an expanded view; clone it first"
    cuda, memory, streams, captures = cupy.cuda, memory, streams, captures  # for lucidgrad.cuda
    check = staticmethod(faults.check)

    def __init__(self) -> None:
        super().__init__()
        self.xp = _Names(self)
        self.count = int(runtime.getDeviceCount())
        streams.several = self.count > 1
        self.quiet = _SameDevice if self.count > 1 else None
        self._devices = [Device("cuda", i) for i in range(self.count)]
        self._too_old = too_old(self.count)
        self.kernels.update(kernels.TABLE)

    # -- devices
    def device_of(self, array: Any) -> Device:
        return self._devices[array.data.device_id]

    def locate(self, where: Device) -> Device:
        index = index_of(where, self.count, get_device_id())
        if index in self._too_old:
            raise DeviceError(self._too_old[index])
        return self._devices[index]

    def at(self, array: Any) -> AbstractContextManager[Any]:
        if self.count == 1 or get_device_id() == array.data.device_id:
            return _HERE
        return cupy.cuda.Device(array.data.device_id)

    def on(self, where: Any) -> AbstractContextManager[Any]:
        """A context in which work goes to a device."""
        if self.count == 1 or where is None:
            return _HERE
        return cupy.cuda.Device(self.locate(Device(where)).index)

    # -- kernels
    def kernel(self, primitive: Primitive) -> Callable[..., Any]:
        return self._placed(primitive, super().kernel(primitive))

    def kernel_for(self, primitive: Primitive, kernel: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
        if dtype.kind != "c" or primitive.name not in COMPLEX:
            return kernel
        return self._placed(primitive, COMPLEX[primitive.name])

    def _placed(self, primitive: Primitive, run: Callable[..., Any]) -> Callable[..., Any]:
        if self.count > 1:
            run = _on_its_device(primitive.name, run)
        beside = primitive.kind is ELEMENTWISE and len(primitive.arrays) > 1  # arrays may have numbers beside them
        return any_integer(run, cupy.ndarray) if beside else run

    def generate(self, name: str) -> None:
        """Make the kernel of an elementwise primitive that CuPy has no function for."""
        if name in registry and name not in STANDARD and name not in self.kernels:
            made = generated.forward(registry[name])
            if made is not None:
                self.kernels[name] = made

    pull = staticmethod(generated.pull)

    def program(
        self, program: "Program", into: Mapping[int, int] | None = None, how: str | None = None
    ) -> Callable[..., list[Any]] | None:
        from . import programs  # with all that groups and prints

        return programs.compiled(program, into or {}, how)

    def is_recording(self) -> bool:
        return captures.now() is not None

    refuse_recording = staticmethod(captures.refuse)

    def repeated(self, kept: Any) -> Any:
        return captures.repeated(kept)

    def settle(self, y: Any) -> Any:
        return cupy.asarray(y) if isinstance(y, _NUMBERS) else y

    def cast(self, array: Any, dtype: Any) -> Any:
        with self.at(array):
            return array.astype(computed_with(dtype), copy=False)

    # -- memory
    def storage(self, array: Any) -> Any:
        return array if array.base is None else array.base

    def owns(self, array: Any) -> bool:
        base = array.base
        if base is None:
            return True
        # All of an array that nothing else refers to, in another shape: the sum over a bias's axes is one.
        whole = base.size == array.size and array.flags.c_contiguous and type(base.data.mem) is PooledMemory
        return whole and sys.getrefcount(base) == _SOLE

    def writable(self, array: Any) -> bool:
        return not overlapping(array)

    def write(self, array: Any, key: Any, value: Any) -> Any:
        with self.at(array):
            if type(value) is np.ndarray:
                value = cupy.asarray(value)
            if has_positions(key):
                put("__setitem__", array, key, signed(value))
            elif type(key) is type(array) is cupy.ndarray and key.shape == array.shape and not np.ndim(value):
                # A mask for one value: nobody has to count its elements.
                cupy.copyto(array, signed(value), casting="unsafe", where=key)
            else:
                parts = key if type(key) is tuple else (key,)
                if any(str(getattr(part, "dtype", "")) == "bool" for part in parts):
                    captures.refuse("a mask says how many elements are written", "write with lucidgrad.where instead")
                array[key] = signed(value)
        return array

    def copy(self, array: Any) -> Any:
        with self.at(array):
            return array.copy(order="K")

    def record_stream(self, array: Any, stream: Any) -> None:
        """Keep an array's memory until a stream, which uses it too, is done."""
        streams.hold(array, stream.place)

    # -- making arrays
    def zeros(self, shape: tuple[int, ...], dtype: Any, where: Any) -> Any:
        with self.on(where):
            return cupy.zeros(shape, computed_with(dtype))

    def absent(self, shape: tuple[int, ...], dtype: Any, where: Any) -> Any:
        with self.on(where):
            made = memory.zero(computed_with(dtype))
            return self.zeros(shape, dtype, where) if made is None else cupy.broadcast_to(made, shape)

    def full(self, shape: tuple[int, ...], value: Any, dtype: Any, where: Any) -> Any:
        with self.on(where):
            return cupy.full(shape, signed(value), computed_with(dtype))

    def create(self, name: str, where: Any, *args: Any, dtype: Any, **options: Any) -> Any:
        computed_with(dtype)
        with self.on(where):
            if name == "linspace":  # CuPy's differs in the last digit, and knows no complex numbers
                return cupy.asarray(np.linspace(*args, dtype=dtype, **options))
            return getattr(cupy, name)(*args, dtype=dtype, **options)

    def asarray(self, value: Any, dtype: Any = None, where: Any = None, copy: bool | None = None) -> Any:
        if isinstance(value, cupy.ndarray) or hasattr(value, "__cuda_array_interface__"):
            return self._asarray(value, dtype, where, copy)
        if copy is False:
            raise ValueError(f"copy=False, but the data of a {type(value).__name__} must be copied to the device")
        return self.from_numpy(device.backend_named("cpu").asarray(value, dtype=dtype), where)

    def _asarray(self, value: Any, dtype: Any, where: Any, copy: bool | None) -> Any:
        made = value
        if not isinstance(value, cupy.ndarray):
            made = cupy.asarray(value)
            made = made.view() if made.base is None else made
        elif type(value) is not cupy.ndarray:
            made = value.view(cupy.ndarray)
        number = made.data.device_id
        target = number if where is None else self._number(where)
        if copy is False and (target != number or (dtype is not None and made.dtype != dtype)):
            raise ValueError("copy=False, but the dtype or the device asked for needs a copy")
        with cupy.cuda.Device(number):
            cast = made if dtype is None else made.astype(dtype, copy=False)
            if copy and target == number and cast is made:
                cast = made.copy()
        return cast if target == number else memory.to_other(cast, target)

    def from_dlpack(self, value: Any, copy: bool | None) -> Any:
        with self.on(f"cuda:{value.__dlpack_device__()[1]}"):
            return cupy.from_dlpack(value, copy=copy)

    # -- from and to the host, and from device to device
    def from_numpy(self, array: Any, where: Any) -> Any:
        array = np.asarray(array)
        computed_with(array.dtype)
        return memory.to_device(array, self._number(where))

    def to_numpy(self, array: Any) -> Any:
        return memory.to_host(array)

    def to_pinned(self, array: Any) -> Any:
        return memory.to_pinned(array)

    def receive(self, array: Any, source: Backend, where: Any, non_blocking: bool) -> Any:
        if source is self:
            return memory.to_other(array, self._number(where))
        host = np.asarray(source.to_numpy(array))
        computed_with(host.dtype)
        return memory.to_device(host, self._number(where), non_blocking)

    def _number(self, where: Any) -> int:
        return get_device_id() if where is None else int(self.locate(Device(where)).index)  # type: ignore[arg-type]

    def pinned(self, array: Any) -> Any:
        """A copy of a NumPy array in page-locked memory."""
        return memory.pinned(array)

    def is_pinned(self, array: Any) -> bool:
        """Whether a NumPy array is in page-locked memory."""
        return memory.is_pinned(array)

    def accepts(self, value: Any) -> bool:
        return isinstance(value, cupy.ndarray)

    def format(self, array: Any, **options: Any) -> str:
        return np.array2string(self.to_numpy(array), separator=", ", prefix="tensor(", **options)

    # -- random numbers
    def generator(self, where: Any, seed: int | None = None) -> Any:
        return sampling.Source(seed, self._number(where))

    def draw(self, source: Any, how: str, shape: tuple[int, ...], dtype: Any, *args: Any) -> Any:
        computed_with(dtype)
        with self.on(self._devices[source.device]):
            return sampling.draw(source, how, shape, dtype, *args)

    def get_state(self, source: Any) -> Any:
        return source.state

    def set_state(self, source: Any, state: Any) -> None:
        source.state = state


def _on_its_device(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that runs on the device of its arrays, where there are several devices."""

    def kernel(*arrays: Any, **keywords: Any) -> Any:
        number = None
        for array in arrays:
            if type(array) is cupy.ndarray:
                if number is None:
                    number = array.data.device_id
                elif array.data.device_id != number:
                    raise different(name, f"cuda:{number}", f"cuda:{array.data.device_id}")
        if number is None or number == get_device_id():
            return run(*arrays, **keywords)
        with cupy.cuda.Device(number):
            return run(*arrays, **keywords)

    return kernel
