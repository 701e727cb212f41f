"""bfloat16 on CUDA: numbers are stored in 16 bits and computed with in 32, as on the CPU.

CuPy knows the dtype, but beside Python's floats its results are float32, and some of its functions fail. So arrays of
this dtype are a class of their own, and of CuPy's functions these alone see the dtype: casts from and to float32,
copies, fills and views. All else is ours: elementwise functions and their rules are generated kernels that read and
write the 16 bits; products are cuBLAS's; kernels written by hand have versions for the dtype; what only moves numbers
moves 16 bits. Whatever remains widens its inputs, runs the usual kernel, and rounds once at its end.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from lucidgrad.backends import codegen
from lucidgrad.backends.codegen import Kernel
from lucidgrad.core import device, dtype as dtypes
from lucidgrad.core.dispatch import floats
from lucidgrad.core.items import Meta
from lucidgrad.core.primitive import ELEMENTWISE, Primitive, Recipe, registry
from lucidgrad.levels.layer import structural

from . import compiling, kernels, memory
from .backend import CUDA
from .generated import OPTIONS, PREAMBLE
from .kernels import matmul

__all__ = ["Brain", "enable"]

_BITS, _WIDE = np.dtype("uint16"), np.dtype("float32")
_NUMBERS = {int: "int64", float: "float64", complex: "complex128"}  # parameters of kernels
_dtype: Any = None  # bfloat16, once somebody has asked for it

#: Primitives whose kernels take the dtype, by themselves or by way of cuBLAS.
_NATIVE = frozenset(
    name for module in (kernels.convolution, kernels.norms, kernels.rows, kernels.windows) for name in module.TABLE
) | {"matmul", "linear", "across", "affine"}
#: Those that move numbers and look at none.
_MOVES = frozenset("concat stack take take_along_axis index roll tril triu".split())
_COPIES = frozenset({"clone", "overwrite"})


# -- arrays --------------------------------------------------------------------------------------
class Brain(cupy.ndarray):  # type: ignore[misc]  # CuPy has no types
    """An array of bfloat16. Operators compute as kernels do; with wider arrays the result is wide."""


def as_brain(y: Any) -> Any:
    """Arrays of the dtype, and only those, as ones of the class."""
    if isinstance(y, (tuple, list)):
        return type(y)(map(as_brain, y))
    if not isinstance(y, cupy.ndarray) or (type(y) is Brain) == (y.dtype == _dtype):
        return y
    return y.view(Brain) if type(y) is not Brain else y.view(cupy.ndarray)


def _plain(x: Any) -> Any:
    return x.view(cupy.ndarray) if type(x) is Brain else x


def _bits(x: Any) -> Any:
    return x.view(_BITS, cupy.ndarray) if type(x) is Brain else x


def widened(x: Any) -> Any:
    """A bfloat16 array in float32, and anything else as it is."""
    return x.view(cupy.ndarray).astype(_WIDE) if type(x) is Brain else x


def rounded(y: Any) -> Any:
    """Float32 rounded to bfloat16, in results of any kind."""
    if isinstance(y, (tuple, list)):
        return type(y)(map(rounded, y))
    if not isinstance(y, cupy.ndarray):
        return y
    return y.astype(_dtype).view(Brain) if y.dtype == _WIDE else as_brain(y)


def _narrow(xs: Sequence[Any]) -> bool:
    """Whether no array is wider than bfloat16; integers are not, and Python's numbers are weak."""
    return not any(type(x) is cupy.ndarray and x.dtype in floats for x in xs)


def _operator(name: str, reflected: bool = False) -> Callable[..., Any]:
    def operator(self: Any, other: Any) -> Any:
        if not isinstance(other, (cupy.ndarray, bool, int, float, complex, np.generic)):
            return NotImplemented
        run = getattr(device.by_array[Brain].xp, name)
        return run(other, self) if reflected else run(self, other)

    return operator


def _in_place(name: str) -> Callable[..., Any]:
    def operator(self: Any, other: Any) -> Any:
        self[...] = widened(getattr(device.by_array[Brain].xp, name)(self, other))
        return self

    return operator


_ARITHMETIC = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "pow", "matmul": "matmul",
}  # fmt: skip
_COMPARED = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"
}  # fmt: skip
for _word, _name in _ARITHMETIC.items():
    setattr(Brain, f"__{_word}__", _operator(_name))
    setattr(Brain, f"__r{_word}__", _operator(_name, reflected=True))
    setattr(Brain, f"__i{_word}__", _in_place(_name))
for _word, _name in _COMPARED.items():
    setattr(Brain, f"__{_word}__", _operator(_name))
for _word, _name in {"neg": "negative", "pos": "positive", "abs": "abs"}.items():
    setattr(Brain, f"__{_word}__", lambda self, name=_name: getattr(device.by_array[Brain].xp, name)(self))


# -- generated kernels ---------------------------------------------------------------------------
_HELPERS = r"""
__device__ inline float lg_wide(unsigned short v) { return __uint_as_float((unsigned int)v << 16); }
__device__ inline unsigned short lg_bits(float v) {
    const unsigned int b = __float_as_uint(v);
    if ((b & 0x7fffffffu) > 0x7f800000u) return (unsigned short)(b >> 16 | 0x40u);
    return (unsigned short)((b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}
"""


class _Seen:
    """An array as a trace sees it: bfloat16 is computed with in float32."""

    __slots__ = ("array", "dtype", "shape", "size")

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.size = array, array.shape, array.size
        self.dtype = _WIDE if type(array) is Brain else array.dtype


def _seen(x: Any) -> Any:
    return _Seen(x) if isinstance(x, cupy.ndarray) else x


def _given(x: Any) -> Any:
    return x.array if type(x) is _Seen else x


def elementwise_kernel(kernel: Kernel, stored: Sequence[bool], low: bool) -> Any:
    """A kernel as CuPy's: the arrays that ``stored`` names are 16 bits, and with ``low`` so are float32 results."""
    given, before = [], []
    for (dtype, word), narrow in zip(kernel.arrays, stored, strict=True):
        given.append(f"uint16 {word}_bits" if narrow else f"{dtype.name} {word}")
        before += [f"const float {word} = lg_wide({word}_bits);"] * narrow
    given += [f"{_NUMBERS[dtype]} {word}" for dtype, word in kernel.numbers]
    made, after = [], []
    for dtype, word in kernel.results:
        narrow = low and dtype == _WIDE
        made.append(f"uint16 {word}_bits" if narrow else f"{dtype.name} {word}")
        before += [f"float {word};"] * narrow
        after += [f"{word}_bits = lg_bits({word});"] * narrow
    return cupy.ElementwiseKernel(
        ", ".join(given),
        ", ".join(made),
        "\n".join([*before, *kernel.lines, *after]),
        f"{kernel.name}_brain",
        preamble=PREAMBLE + _HELPERS,
        options=OPTIONS,
    )


def _launched(kernel: Kernel, usual: Any) -> codegen.Run:
    taken, count = codegen.picker(kernel.takes), len(kernel.arrays)
    made: dict[tuple[tuple[bool, ...], bool], Any] = {}

    def run(xs: Sequence[Any], shape: Any) -> list[Any]:
        given = taken(xs)
        arrays = [x.array for x in given[:count]]
        stored = tuple([type(x) is Brain for x in arrays])
        low = _narrow([_given(x) for x in xs])
        launch = made.get((stored, low))
        if launch is None:
            launch = made[stored, low] = elementwise_kernel(kernel, stored, low)
        found = launch(*map(_bits, arrays), *given[count:])
        found = found if isinstance(found, (list, tuple)) else [found]
        return [
            y.view(_dtype, Brain) if low and dtype == _WIDE else y
            for y, (dtype, _) in zip(found, kernel.results, strict=True)
        ]

    return codegen.Run(0, run)


_FRAME = codegen.Frame(_Seen, codegen.CUDA, _launched)


# -- the back end --------------------------------------------------------------------------------
class BrainCUDA(CUDA):
    """CUDA for arrays of bfloat16, and for such with others among them."""

    array_types = (Brain,)
    mixes = True

    def __init__(self) -> None:
        super().__init__()
        self.quiet = None
        self.xp = _Names()  # type: ignore[assignment]
        wide = device.backend_named("cuda").kernels
        self.kernels = {name: wide[name] for name in ("elementwise_step", "clip_all", "unscale_all")}
        self.kernels["norm_of_all"] = lambda arrays, order: as_brain(wide["norm_of_all"](arrays, order))

    def kernel(self, primitive: Primitive) -> Callable[..., Any]:
        run = self._unplaced(primitive)
        return run if self.count == 1 else self._on_device(run)

    def _on_device(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def kernel(*xs: Any, **keywords: Any) -> Any:
            with self.at(next(x for x in xs if isinstance(x, cupy.ndarray))):
                return run(*xs, **keywords)

        return kernel

    def _unplaced(self, primitive: Primitive) -> Callable[..., Any]:
        name, wide = primitive.name, device.backend_named("cuda").kernel(primitive)
        if primitive.view or name in _COPIES:
            return lambda *xs, **keywords: as_brain(wide(*map(_plain, xs), **keywords))
        if name == "transfer" or name in structural:
            return wide
        usual = _rounding(wide)
        if name in _MOVES:
            return _where_narrow(lambda *xs, **keywords: _moved(wide(*map(_bits, xs), **keywords)), usual)
        if name in _NATIVE:
            return _where_narrow(lambda *xs, **keywords: as_brain(wide(*map(_plain, xs), **keywords)), usual)
        if primitive.kind is not ELEMENTWISE or "dtype" in primitive.keywords:
            return usual
        made = codegen.forward(primitive, _FRAME, lambda *xs, **keywords: usual(*map(_given, xs), **keywords))
        if made is None:
            return usual
        return lambda *xs, **keywords: (
            usual(*xs, **keywords) if "dtype" in keywords else made(*map(_seen, xs), **keywords)
        )

    def kernel_for(self, primitive: Primitive, kernel: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
        return kernel

    def generate(self, name: str) -> None:
        """Kernels are found by `kernel`."""

    def pull(self, recipe: Recipe, goes: Sequence[bool]) -> Callable[..., Any] | None:
        """All rules of a recipe in one launch, where no array is wider."""
        made = codegen.pull(recipe, goes, _FRAME)
        if made is None:
            return None

        def pulled(g: Any, saved: tuple[Any, ...], targets: Sequence[Any] | None) -> Any:
            if type(g) is not Brain or not _narrow(saved):
                return None
            if targets is not None:
                if any(t is not None and t[1] != _dtype and t[1] in floats for t in targets):
                    return None
                targets = [None if t is None else (t[0], _WIDE if t[1] == _dtype else t[1], *t[2:]) for t in targets]
            with self.at(g):
                found = made(_Seen(g), tuple(map(_kept, saved)), targets)
            return None if found is None else list(map(_given, found))

        return pulled

    def program(self, program: Any, into: Any = None, how: str | None = None) -> None:
        """Programs of this dtype run equation by equation."""
        return

    def settle(self, y: Any) -> Any:
        return as_brain(super().settle(y))

    def cast(self, array: Any, dtype: Any) -> Any:
        with self.at(array):
            return as_brain(widened(array).astype(dtype, copy=False))

    def write(self, array: Any, key: Any, value: Any) -> Any:
        super().write(_plain(array), key, widened(value))
        return array

    def copy(self, array: Any) -> Any:
        return as_brain(super().copy(_plain(array)))

    def to_numpy(self, array: Any) -> Any:
        return memory.to_host(_plain(array))

    def to_pinned(self, array: Any) -> Any:
        return memory.to_pinned(_bits(array)).view(_dtype)

    def format(self, array: Any, **options: Any) -> str:
        return super().format(widened(array), **options)


def _kept(value: Any) -> Any:
    """What a node keeps, as a trace sees it."""
    if isinstance(value, Meta):
        return value._replace(dtype=_WIDE) if value.dtype == _dtype else value
    return _seen(value)


def _moved(y: Any) -> Any:
    if isinstance(y, (tuple, list)):
        return type(y)(map(_moved, y))
    return y.view(_dtype, Brain) if isinstance(y, cupy.ndarray) and y.dtype == _BITS else y


def _where_narrow(run: Callable[..., Any], usual: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs, **keywords: (run if _narrow(xs) else usual)(*xs, **keywords)


def _rounding(wide: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that computes in float32 and rounds at its end, unless told a dtype or given wider arrays."""

    def kernel(*xs: Any, **keywords: Any) -> Any:
        dtype = keywords.get("dtype")
        if dtype is not None:
            low = dtype == _dtype
            keywords["dtype"] = _WIDE if low else dtype
        else:
            low = _narrow(xs)
        y = wide(*map(widened, xs), **keywords)
        return rounded(y) if low else y

    return kernel


class _Names:
    """CUDA's functions by name, for arrays of the class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(device.backend_named("cuda").xp, name)
        if name in registry:
            found = registry[name].find_kernel(Brain)
        elif callable(found) and not isinstance(found, type):  # dtypes are called by their names, too
            found = _rounding(found)
        setattr(self, name, found)
        return found


# -- making the dtype known ----------------------------------------------------------------------
def _with_brains(make: Callable[..., Any]) -> Callable[..., Any]:
    return functools.wraps(make)(lambda *args, **options: as_brain(make(*args, **options)))


def _made_wide(make: Callable[..., Any], at: int) -> Callable[..., Any]:
    """A function that makes numbers, told their dtype: as float32 first, which is rounded."""

    def made(*args: Any, **options: Any) -> Any:
        given = args[at] if at >= 0 else options.get("dtype")
        if given is None or given != _dtype:
            return as_brain(make(*args, **options))
        if at >= 0:
            return rounded(make(*args[:at], _WIDE, *args[at + 1 :], **options))
        return rounded(make(*args, **{**options, "dtype": _WIDE}))

    return made


def _asarray(make: Callable[..., Any]) -> Callable[..., Any]:
    def asarray(value: Any, dtype: Any = None, where: Any = None, copy: bool | None = None) -> Any:
        if type(value) is Brain:
            if dtype is not None and dtype != _dtype:
                if copy is False:
                    raise ValueError("copy=False, but the dtype asked for needs a copy")
                return as_brain(make(widened(value), dtype, where))
            return as_brain(make(_plain(value), None, where, copy))
        return as_brain(make(value, dtype, where, copy))

    return asarray


def _promotion(find: Callable[..., Any]) -> Callable[..., Any]:
    def result_type(*given: Any) -> Any:
        known = device.backend_named("cpu").xp.result_type
        given = tuple(x.dtype if isinstance(x, (cupy.ndarray, np.generic)) else x for x in given)
        return known(*given) if any(x is not None and x == _dtype for x in given) else find(*given)

    return result_type


def enable(cuda: CUDA) -> None:
    """Make the dtype known to CUDA: its functions that are told a dtype give arrays of the class."""
    global _dtype
    _dtype = dtypes.named("bfloat16")
    matmul.TYPES[_dtype] = matmul.brain_type()
    for name in ("zeros", "full", "cast", "from_numpy", "receive", "from_dlpack"):
        setattr(cuda, name, _with_brains(getattr(cuda, name)))
    setattr(cuda, "create", _made_wide(cuda.create, -1))  # noqa: B010  these are methods
    setattr(cuda, "draw", _made_wide(cuda.draw, 3))  # noqa: B010
    setattr(cuda, "asarray", _asarray(cuda.asarray))  # noqa: B010
    brain = BrainCUDA()
    for name in ("zeros", "full", "create", "draw", "asarray", "from_numpy", "receive", "from_dlpack"):
        setattr(brain, name, getattr(cuda, name))
    device.by_array[Brain] = brain
    device.places[Brain] = device.places[cupy.ndarray]
    compiling.brains = lambda xs: tuple(map(as_brain, xs)), brain.xp
    for name, primitive in registry.items():
        if "dtype" in primitive.keywords:
            _replace(cuda, name, _with_brains(getattr(cuda.xp, name)))
            _renew(primitive)
    _replace(cuda, "finfo", lambda of: device.backend_named("cpu").xp.finfo(of))
    _replace(cuda, "result_type", _promotion(cuda.xp.result_type))


def _renew(primitive: Primitive) -> None:
    """Find a primitive's functions again, in the same tables: others keep these, and the keys they used."""
    by_dtype = primitive.by_dtype.get(cupy.ndarray, {})
    used = [None] * (primitive.kernels.pop(cupy.ndarray, None) is not None) + list(by_dtype)
    by_dtype.clear()
    for dtype in used:
        primitive.kernels_for(cupy.ndarray, dtype)


def _replace(cuda: Any, name: str, function: Callable[..., Any]) -> None:
    cuda.kernels[name] = function
    setattr(cuda.xp, name, function)
