"""NumPy as a back end: dtypes, promotion of results, memory ownership."""

import array
import functools
import math
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lucidgrad.backends.protocol import Backend, overlapping
from lucidgrad.core import dtype as dtypes
from lucidgrad.core.device import Device
from lucidgrad.core.dispatch import complexes, floats, halves, numbers
from lucidgrad.core.primitive import Primitive, Recipe

from . import kernels
from .kernels.elementwise import native

if TYPE_CHECKING:
    from lucidgrad.levels.program import Program

_NAMES = (
    """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128""".split()
)

dtypes.define(**{name: np.dtype(name) for name in _NAMES})

floats.update(np.dtype(name) for name in _NAMES if np.dtype(name).kind in "fc")
halves.add(np.dtype("float16"))
complexes.update(np.dtype(name) for name in _NAMES if np.dtype(name).kind == "c")
_SCALARS = tuple({np.dtype(name).type for name in _NAMES})
numbers.update({kind: {"b": bool, "f": float, "c": complex}.get(np.dtype(kind).kind, int) for kind in _SCALARS})
numbers.update({np.longdouble: float, np.clongdouble: complex})
_HERE = Device("cpu")
_LARGE = 1 << 18  # bytes from which fresh memory is dear
_TYPED = (np.generic, array.array, bytearray, memoryview)  # data that has a dtype


def _alone() -> int:
    view = np.empty(1).reshape(1, 1)
    base = view.base
    return sys.getrefcount(base)


_ALONE = _alone()  # how many references an array has that only a view of it, and who asks, hold


class CPU(Backend):
    """Arrays are ``numpy.ndarray``; NumPy's scalars may pass through a walk but never into a tensor."""

    name = "cpu"
    array_types = (np.ndarray, *_SCALARS)
    library = np
    limit: ClassVar[int | None] = 8191  # from where on a loop of its own pays
    steady = True
    quiet = staticmethod(functools.partial(np.errstate, all="ignore"))

    def __init__(self) -> None:
        super().__init__()
        self.kernels = kernels.Kernels()

    @property
    def adding(self) -> Mapping[str, Callable[..., Any]]:
        """Kernels that add to an array which is there, by the names of those that make one."""
        from .kernels.shape import ADDING

        return ADDING

    def kernel_for(self, primitive: Primitive, kernel: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
        return kernels.COMPLEX.get(primitive.name, kernel) if dtype in complexes else kernel

    def large(self, primitive: Primitive, kernel: Callable[..., Any]) -> Callable[..., Any]:
        from .compiled import elementwise  # with all that writes and compiles loops

        return elementwise.forward(primitive, kernel)

    def pull(self, recipe: Recipe, goes: tuple[bool, ...]) -> Callable[..., Any] | None:
        """All rules of a recipe in one loop over large arrays, if they can be."""
        from .compiled import elementwise

        return elementwise.pull(recipe, goes)

    def program(
        self, program: "Program", into: Mapping[int, int] | None = None, how: str | None = None
    ) -> Callable[..., list[Any]] | None:
        """``how``: ``"c"`` or ``"flat"``, a function of NumPy calls; by default C where there is a compiler."""
        made = [v for equation in program.equations for v in equation.results]
        if any(not v.is_number and v.dtype.kind == "V" for v in (*program.inputs, *program.constants, *made)):
            return None  # bfloat16, whose arrays are another class with kernels of its own

        from . import programs  # with all that plans and compiles

        return programs.compiled(program, into or {}, how)

    def settle(self, y: Any) -> Any:
        return np.asarray(y) if isinstance(y, np.generic) else y

    @property
    def looks(self) -> Any:
        from .compiled import looks  # which only compiled functions need

        return looks

    def storage(self, array: Any) -> Any:
        base = array.base
        return base if type(base) is np.ndarray else array

    def owns(self, array: Any) -> bool:
        flags = array.flags
        if flags.owndata:
            return True
        base = array.base  # what a rule reshaped is as good as new, if nobody else knows the array that it was
        whole = type(base) is np.ndarray and base.nbytes == array.nbytes and flags.c_contiguous
        return whole and base.flags.owndata and bool(flags.writeable) and sys.getrefcount(base) == _ALONE

    def strided(self, vector: Any, shape: tuple[int, ...], steps: tuple[int, ...]) -> Any:
        width = vector.dtype.itemsize  # of the bytes, and not NumPy's as_strided, which hides what owns the memory
        return self.settle(np.ndarray(shape, vector.dtype, vector.view(np.uint8), strides=[n * width for n in steps]))

    def writable(self, array: Any) -> bool:
        return bool(array.flags.writeable) and not (0 in array.strides and overlapping(array))

    def accepts(self, value: Any) -> bool:
        return isinstance(value, (np.ndarray, np.generic))

    def copy(self, array: Any) -> Any:
        if array.nbytes < _LARGE:
            return np.array(array, copy=True, order="K")
        from .compiled import elementwise

        return elementwise.copy(array)

    def asarray(self, value: Any, dtype: Any = None, where: Any = None, copy: bool | None = None) -> Any:
        dtype = native(dtype)
        if isinstance(value, np.ndarray):
            made = np.asarray(value, dtype=native(value.dtype) if dtype is None else dtype, copy=copy)
            return made if type(made) is np.ndarray else made.view(np.ndarray)
        foreign = isinstance(value, _TYPED) or hasattr(value, "__array__") or hasattr(value, "__dlpack__")
        if copy is False and not foreign:
            raise ValueError(f"copy=False, but the data of a {type(value).__name__} can't be shared; expected an array")
        made = np.array(value, dtype=dtype) if copy else np.asarray(value, dtype=dtype)
        if dtype is None and not foreign:  # numbers of Python
            if made.dtype.kind == "f":
                made = made.astype(dtypes.get_default_dtype(), copy=False)
            elif made.dtype.kind == "c":
                made = made.astype(dtypes.default_complex_dtype(), copy=False)
        if made.dtype.kind not in "biufc":
            raise TypeError(f"given data that NumPy makes dtype {made.dtype} of, expected numbers or booleans")
        return made

    def from_dlpack(self, value: Any, copy: bool | None) -> Any:
        try:
            return super().from_dlpack(value, copy)
        except (RuntimeError, BufferError) as error:  # NumPy knows no bfloat16
            try:
                from . import bfloat16
            except AttributeError:
                raise error from None
            return bfloat16.from_dlpack(value, copy, error)

    def format(self, array: Any, **options: Any) -> str:
        return np.array2string(array, separator=", ", prefix="tensor(", **options)

    def device_of(self, array: Any) -> Device:
        return _HERE

    def absent(self, shape: tuple[int, ...], dtype: Any, where: Any) -> Any:
        if math.prod(shape) * dtype.itemsize < _LARGE:
            return self.zeros(shape, dtype, where)
        return np.broadcast_to(self.zeros((), dtype, where), shape)

    def full(self, shape: tuple[int, ...], value: Any, dtype: Any, where: Any) -> Any:
        dtype = native(dtype)
        return np.full(shape, value, dtype) if shape else np.array(value, dtype)  # a quarter of the price

    def create(self, name: str, where: Any, *args: Any, dtype: Any, **options: Any) -> Any:
        return super().create(name, where, *args, dtype=native(dtype), **options)

    def generator(self, where: Any, seed: int | None = None) -> Any:
        return np.random.default_rng(seed)

    def draw(self, source: Any, how: str, shape: tuple[int, ...], dtype: Any, *args: Any) -> Any:
        from . import sampling

        return sampling.draw(source, how, shape, dtype, *args)
