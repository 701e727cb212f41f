"""What the engine asks of a back end, and the namespace that rules compute with on it."""

import functools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

from lucidgrad.core import device, dtype as dtypes
from lucidgrad.core.dispatch import floats
from lucidgrad.core.primitive import ELEMENTWISE, Kernels, Primitive, registry

from . import joins, stepping  # noqa: F401  which say how tensors are joined, and how walks step

if TYPE_CHECKING:
    from lucidgrad.levels.program import Program

#: Functions of the Array API standard that libraries bring themselves.
STANDARD = frozenset(
    """
    abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
    bitwise_right_shift bitwise_xor ceil conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
    greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and
    logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real
    reciprocal remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc
    matmul where broadcast_to flip permute_dims reshape roll
    argmax argmin argsort sort nonzero searchsorted count_nonzero unique_all unique_counts unique_inverse unique_values
    all any max min prod sum cumulative_sum cumulative_prod take_along_axis tril triu vecdot
    zeros_like ones_like full_like empty_like astype isdtype result_type can_cast finfo iinfo
    """.split()
)


def overlapping(array: Any) -> bool:
    """Whether elements of an array share memory: an axis is stretched."""
    return bool(array.size) and any(step == 0 and n > 1 for step, n in zip(array.strides, array.shape, strict=True))


class Namespace:
    """The functions of one back end: its kernels, the standard's functions, and every primitive's program."""

    def __init__(self, backend: "Backend") -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        backend = self._backend
        if name in backend.kernels:
            found = backend.kernels[name]
        elif name in STANDARD or name not in registry:
            found = getattr(backend.library, name)
        else:
            found = functools.partial(registry[name].program, self)
        setattr(self, name, found)
        return found


def numbers_as_arrays(backend: "Backend", run: Callable[..., Any]) -> Callable[..., Any]:
    """A program of which Python numbers among the arguments become arrays: it may use them where only those can be."""

    def program(*arrays: Any, **keywords: Any) -> Any:
        own = [a for a in arrays if type(a) in backend.array_types]
        if len(own) < len(arrays):
            like, where = own[0], backend.device_of(own[0])
            dtype = like.dtype if like.dtype in floats else None
            arrays = tuple(backend.full((), a, dtype, where) if type(a) in (int, float) else a for a in arrays)
        return run(*arrays, **keywords)

    return program


_awaited: dict[str, list[Callable[[], Any]]] = {}


def when_known(name: str, then: Callable[[], Any]) -> None:
    """Call something once a dtype is in use that is not from the beginning: now, or when `announce` says so."""
    if name in dtypes.known():
        then()
    else:
        _awaited.setdefault(name, []).append(then)


def announce(name: str) -> None:
    """Tell the back ends that wait for a dtype that the CPU computes with it."""
    for then in _awaited.pop(name, ()):
        then()


_ANYWHERE = nullcontext()


class Backend:
    """One array library on one kind of device. Subclasses say what differs."""

    name: str
    array_types: tuple[type, ...]
    library: Any  # an Array API namespace
    rank: ClassVar[int] = 0  # raw arrays; levels stand above
    mixes: ClassVar[bool] = False  # computes with arrays of another back end of its device, too
    #: Why an array may not be writable, for messages.
    unwritable: ClassVar[str] = "an expanded view, or a read-only array; clone it first"
    replaces: ClassVar[bool] = False  # arrays never change: a tensor that is written gets another one
    why_copied: ClassVar[str] = ""  # why a view is a copy, where some are (`device.copying`)
    quiet: Callable[[], AbstractContextManager[Any]] | None = None  # silences floating-point warnings
    fuses: ClassVar[bool] = False  # whether a walk asks `pull` for one call of all rules, however small arrays are
    limit: ClassVar[int | None] = None  # elementwise functions of more elements are computed by others (`large`)
    steady: ClassVar[bool] = False  # adding in place can't fail: it takes no memory, and starts nothing elsewhere

    def __init__(self) -> None:
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.xp = Namespace(self)

    def kernel(self, primitive: Primitive) -> Callable[..., Any]:
        """The function that computes a primitive on raw arrays."""
        return getattr(self.xp, primitive.name)

    def kernel_for(self, primitive: Primitive, kernel: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
        """The function for one dtype, where it is not the usual one."""
        return kernel

    def large(self, primitive: Primitive, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """The function for more elements than `limit`, given the usual one."""
        return kernel

    def kernels_of(self, primitive: Primitive, dtype: Any) -> Kernels:
        """All functions that compute a primitive; for one dtype where there is one given."""
        usual = self.kernel(primitive)
        if dtype is not None:
            usual = self.kernel_for(primitive, usual, dtype)
        if self.limit is None or primitive.kind is not ELEMENTWISE:
            return Kernels(usual)
        return Kernels(usual, self.limit, functools.partial(self.large, primitive, usual))

    def program(
        self, program: "Program", into: Mapping[int, int] | None = None, how: str | None = None
    ) -> Callable[..., list[Any]] | None:
        """The function ``(values) -> outputs`` that runs a program on raw arrays; None: there is none but `run`.

        Outputs have memory of their own, but for inputs that are outputs. ``into`` has, by outputs, inputs whose memory
        they are written into, when nothing asks for these any more; such an output is that input's array.
        """
        return None

    def is_recording(self) -> bool:
        """Whether work of this thread is recorded, to be done later and again."""
        return False

    def repeated(self, kept: Any) -> Any:
        """For a step that is being recorded: where its settings are, which ``kept`` tells before every time."""

    def refuse_recording(self, what: str, way_out: str) -> None:
        """Raise, if work is being recorded."""

    @property
    def looks(self) -> Any:
        """What looks at many of Python's objects at once, as calls of programs need; the CPU's does it for all."""
        return device.backend_named("cpu").looks

    def settle(self, y: Any) -> Any:
        """Make a kernel's result a proper array."""
        return y

    def cast(self, array: Any, dtype: Any) -> Any:
        """The array in another dtype."""
        return self.xp.astype(array, dtype=dtype)

    def storage(self, array: Any) -> Any:
        """The object that owns an array's memory, one for all views of it."""
        return array

    def owns(self, array: Any) -> bool:
        """Whether an array's memory is its own."""
        return False

    def writable(self, array: Any) -> bool:
        """Whether an array can be written in place."""
        return True

    def contiguous(self, array: Any) -> bool:
        """Whether the elements follow one another in memory, the last axis fastest."""
        return not hasattr(array, "flags") or bool(array.flags.c_contiguous)

    def write(self, array: Any, key: Any, value: Any) -> Any:
        """``array[key] = value``; returns what has the new values, another array where arrays never change."""
        array[key] = value
        return array

    def copy(self, array: Any) -> Any:
        return self.library.asarray(array, copy=True)

    def zeros(self, shape: tuple[int, ...], dtype: Any, where: Any) -> Any:
        return self.library.zeros(shape, dtype=dtype)

    def absent(self, shape: tuple[int, ...], dtype: Any, where: Any) -> Any:
        """Zeros in place of a cotangent that never came: they are only read."""
        return self.zeros(shape, dtype, where)

    def full(self, shape: tuple[int, ...], value: Any, dtype: Any, where: Any) -> Any:
        return self.library.full(shape, value, dtype=dtype)

    def create(self, name: str, where: Any, *args: Any, dtype: Any, **options: Any) -> Any:
        """One of the library's creation functions: arange, linspace, eye."""
        return getattr(self.library, name)(*args, dtype=dtype, **options)

    def from_dlpack(self, value: Any, copy: bool | None) -> Any:
        return self.library.from_dlpack(value, copy=copy)

    def generator(self, where: Any, seed: int | None = None) -> Any:
        """A source of random numbers; where a library has none, the CPU's."""
        return device.backend_named("cpu").generator(where, seed)

    def draw(self, source: Any, how: str, shape: tuple[int, ...], dtype: Any, *args: Any) -> Any:
        """Random numbers of a distribution: uniform, normal, integers, permutation, multinomial."""
        return self.from_numpy(device.backend_named("cpu").draw(source, how, shape, dtype, *args), self.name)

    def get_state(self, source: Any) -> Any:
        """Where a source of random numbers stands."""
        return source.bit_generator.state

    def set_state(self, source: Any, state: Any) -> None:
        source.bit_generator.state = state

    def accepts(self, value: Any) -> bool:
        """Whether a foreign object is to be taken as an array of this back end."""
        return False

    def asarray(self, value: Any, dtype: Any = None, where: Any = None, copy: bool | None = None) -> Any:
        """An array of this back end from Python data or an array."""
        return self.library.asarray(value, dtype=dtype, copy=copy)

    def to_numpy(self, array: Any) -> Any:
        """The values as a NumPy array in host memory."""
        return array

    def to_pinned(self, array: Any) -> Any:
        """The same without waiting for the values, where the back end computes beside the host."""
        return self.to_numpy(array)

    def receive(self, array: Any, source: "Backend", where: Any, non_blocking: bool) -> Any:
        """An array of another back end, or of another device, as one of this on a device."""
        return self.from_numpy(source.to_pinned(array) if non_blocking else source.to_numpy(array), where)

    def from_numpy(self, array: Any, where: Any) -> Any:
        """A NumPy array's values as an array of this back end."""
        return self.asarray(array, where=where)

    def strided(self, vector: Any, shape: tuple[int, ...], steps: tuple[int, ...]) -> Any:
        """A view of a vector with any steps, in elements, which must stay within it: nothing here checks that."""
        width = vector.dtype.itemsize
        return self.settle(self.library.lib.stride_tricks.as_strided(vector, shape, [n * width for n in steps]))

    def dtype_of(self, array: Any) -> Any:
        """The canonical dtype of an array."""
        return array.dtype

    def format(self, array: Any, **options: Any) -> str:
        """The values as text; the options are those of NumPy's ``array2string``."""
        return str(self.to_numpy(array))

    def device_of(self, array: Any) -> device.Device:
        return device.Device(self.name)

    def locate(self, where: device.Device) -> device.Device:
        """The very device that a name means, which may leave out an index; raises if there is none such."""
        return where

    def at(self, array: Any) -> AbstractContextManager[Any]:
        """A context in which work goes to the device of an array."""
        return _ANYWHERE
