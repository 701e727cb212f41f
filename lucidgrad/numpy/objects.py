"""What NumPy's namespace has beside functions: dtypes, constants, grids between brackets, `vectorize`."""

from collections.abc import Callable
from typing import Any

import lucidgrad as lg

from .entrance import TABLE, Array, library, numpy_function, values_of

#: NumPy's own: what has to do with dtypes, printing, errors and shapes, where no array is made.
OWN = """
bool bool_ byte cdouble complex128 complex64 complexfloating csingle double dtype e errstate euler_gamma False_ finfo
float16 float32 float64 floating get_printoptions half iinfo index_exp inexact inf int16 int32 int64 int8 int_ integer
intc intp isdtype isscalar issubdtype iterable long longlong nan ndindex newaxis number pi printoptions promote_types s_
set_printoptions short signedinteger single True_ ubyte uint uint16 uint32 uint64 uint8 uintc uintp ulong
ulonglong unsignedinteger ushort
""".split()

#: The class of arrays, for ``isinstance(x, np.ndarray)``.
ndarray = lg.Tensor


# -- dtypes --------------------------------------------------------------------------------------
def _kind(value: Any) -> Any:
    return value.dtype if isinstance(value, lg.Tensor) else value


@numpy_function()
def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that arrays come to; float32 stays float32 beside integers."""
    if any(isinstance(x, lg.Tensor) for x in arrays_and_dtypes):
        return lg.result_type(*arrays_and_dtypes)
    return library().result_type(*arrays_and_dtypes)


@numpy_function()
def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether one dtype becomes another without loss."""
    return bool(library().can_cast(_kind(from_), to, casting))


@numpy_function()
def common_type(*arrays: Array) -> Any:
    """The type of floats that holds all arrays' numbers."""
    return library().common_type(*(library().empty(0, x.dtype) for x in arrays))


@numpy_function()
def min_scalar_type(a: Array, /) -> Any:
    """The smallest dtype that holds a number; of an array, its own."""
    return library().min_scalar_type(values_of(a))


# -- memory and text -----------------------------------------------------------------------------
@numpy_function()
def shares_memory(a: Any, b: Any, /, max_work: int = -1) -> bool:
    """Whether two arrays have memory in common."""
    return bool(library().shares_memory(_memory(a), _memory(b), max_work))


@numpy_function()
def may_share_memory(a: Any, b: Any, /, max_work: int = 0) -> bool:
    """Whether two arrays may have memory in common, as their bounds say."""
    return bool(library().may_share_memory(_memory(a), _memory(b), max_work))


def _memory(x: Any) -> Any:
    if isinstance(x, lg.Tensor):
        x = x.detach()
        if not x.is_cpu:
            raise TypeError(f"given a tensor on {x.device}, expected one on the CPU, whose memory NumPy knows")
        return x.numpy()
    return x


def _text(name: str) -> Callable[..., Any]:
    def call(a: Any, *args: Any, **options: Any) -> str:
        return str(getattr(library(), name)(values_of(TABLE["", "asarray"](a)), *args, **options))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"NumPy's {name}: the values as text."
    return call


def _file(name: str) -> Callable[..., Any]:
    def call(file: Any, *args: Any, **options: Any) -> None:
        arrays = [x.numpy() if isinstance(x, lg.Tensor) else x for x in args]
        options = {key: x.numpy() if isinstance(x, lg.Tensor) else x for key, x in options.items()}
        getattr(library(), name)(file, *arrays, **options)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"NumPy's {name}: the values in a file; `lucidgrad.save` keeps more."
    return call


TABLE.update({("", name): _text(name) for name in ("array2string", "array_repr", "array_str")})
TABLE.update({("", name): _file(name) for name in ("save", "savetxt", "savez", "savez_compressed")})


# -- without arrays ------------------------------------------------------------------------------
@numpy_function()
def broadcast_shapes(*args: Any) -> tuple[int, ...]:
    """The shape that shapes have in common."""
    return tuple(library().broadcast_shapes(*args))


@numpy_function()
def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """A tensor of another library's array."""
    return lg.from_dlpack(x, device=device, copy=copy)


def ndenumerate(arr: Any) -> Any:
    """Places and elements, one after the other."""
    arr = lg.asarray(arr)
    return ((place, arr[place]) for place in library().ndindex(*arr.shape))


# -- grids between brackets ----------------------------------------------------------------------
class _Grid:
    """Coordinates of a grid: ``mgrid[0:3, 0:2]``, ``ogrid[0:1:5j]``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getitem__(self, key: Any) -> Any:
        found = getattr(library(), self._name)[key]
        return tuple(map(lg.asarray, found)) if isinstance(found, tuple) else lg.asarray(found)


class _Joint:
    """Arrays, numbers and ranges, one after the other: ``r_[a, 0, 1:5]``; as columns: ``c_[a, b]``."""

    def __init__(self, columns: bool) -> None:
        self._columns = columns

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, str) for part in parts):
            raise TypeError("given a directive in text, expected arrays, numbers and ranges; use stack or concatenate")
        made = [lg.atleast_1d(TABLE["", "asarray"](self._range(part))) for part in parts]
        if self._columns:
            made = [lg.reshape(part, (-1, 1)) if part.ndim == 1 else part for part in made]
        return lg.concat(made, axis=-1 if self._columns else 0)

    def _range(self, part: Any) -> Any:
        return library().r_[part] if isinstance(part, slice) else part


mgrid, ogrid = _Grid("mgrid"), _Grid("ogrid")
r_, c_ = _Joint(False), _Joint(True)


class vectorize:
    """A function of numbers as a function of arrays: it is called for each element, whose history it keeps.

    `lucidgrad.vmap` calls it once for all.
    """

    def __init__(self, pyfunc: Callable[..., Any], otypes: Any = None, doc: str | None = None) -> None:
        self.pyfunc, self.otypes = pyfunc, otypes
        self.__doc__ = pyfunc.__doc__ if doc is None else doc

    def __call__(self, *args: Any) -> Any:
        """Call the function for each element of the arguments, broadcast."""
        arrays = lg.broadcast_arrays(*(TABLE["", "asarray"](x) for x in args))
        shape = tuple(arrays[0].shape)
        rows = list(zip(*(lg.unstack(lg.reshape(x, (-1,))) for x in arrays)))
        if not rows:
            raise ValueError("vectorize: given empty arrays, expected elements to call the function with")
        found = [self.pyfunc(*row) for row in rows]
        if isinstance(found[0], tuple):
            return tuple(self._joined(list(part), shape, i) for i, part in enumerate(zip(*found)))
        return self._joined(found, shape, 0)

    def _joined(self, parts: list[Any], shape: tuple[int, ...], i: int) -> Any:
        dtype = None if self.otypes is None else self.otypes[i]
        return lg.reshape(TABLE["", "asarray"](parts, dtype), shape)
