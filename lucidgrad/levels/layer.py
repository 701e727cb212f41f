"""What arrays of the levels have in common: batched arrays and dual numbers stand where raw arrays stand.

A `Layer` is an array made of arrays. It hides how it is made: tensors, nodes and rules work on it unchanged.
Layers nest, the newest outermost; each has the number of its level. A level begins and ends with the transform
that made it; walks may still meet its layers afterwards, users may not.

A layer is *outside* if it is a cotangent that came into the level from a walk that began outside of it: such a walk
sums over the examples of a batch where one value served them all. A walk that began inside keeps them apart.
"""

import functools
import itertools
import math
from _thread import _local as local  # what `threading` has by this name, which takes long to import
from collections.abc import Callable
from typing import Any

from lucidgrad.core import device, dispatch
from lucidgrad.core.box import Box
from lucidgrad.core.primitive import Kernels, Primitive, registry

_numbers = itertools.count(1)


class Level(int):
    """The number of a level, newer than all before it; as a context manager it ends with the block."""

    transform: str
    ended = False
    forgets: bool  # when it has ended, its dual numbers count as their values

    def __new__(cls, transform: str, forgets: bool = False) -> "Level":
        made = super().__new__(cls, next(_numbers))
        made.transform, made.forgets = transform, forgets
        return made

    def __enter__(self) -> "Level":
        return self

    def __exit__(self, *exc: object) -> None:
        self.ended = True


class _Draws(local):
    """What random functions do inside the maps that are under way: (level, size, randomness), oldest first."""

    maps: tuple[tuple[Level, int, str], ...] = ()


draws = _Draws()


class Layer:
    """An array made of arrays, at a level."""

    __slots__ = ("level", "outside")
    level: Level
    spread: int | None = None  # how many values stand behind one, where it is a batch
    outside: bool  # whether it is a cotangent that came into the level from outside

    @property
    def parts(self) -> tuple[Any, ...]:
        """The arrays it is made of."""
        raise AssertionError  # every layer has some

    @property
    def front(self) -> Any:
        """The part that shows dtype and device."""
        return self.parts[0]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.front.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        return self.front.dtype

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def levels(self) -> tuple[tuple[int, int | None], ...]:
        """The (level, batch size) pairs in it, outermost first; dual numbers have no size."""
        own = (self.level, self.spread)
        below = {pair for part in self.parts if isinstance(part, Layer) for pair in part.levels}
        return (own, *sorted(below, reverse=True)) if below else (own,)

    @property
    def held(self) -> tuple[tuple[int, int | None], ...]:
        """The pairs of the memory that it shows: without those that only tangents have."""
        return ((self.level, self.spread), *getattr(self.front, "held", ()))

    def map(self, function: Callable[[Any], Any]) -> Any:
        """The same layer around what a function makes of its parts."""
        raise AssertionError  # every layer has one

    def write(self, value: Any) -> None:
        """Take the values of another array, in the memory that there is."""
        raise AssertionError  # every layer can

    def filled(self, value: Any, make: Callable[[tuple[int, ...], Any], Any]) -> Any:
        """A layer of the same kind with one value; ``make(shape, value)`` makes arrays."""
        raise AssertionError  # every layer has one

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if not options and method == "__call__" and inputs[-1] is self:
            operator = _reflected(ufunc)
            if operator is not None:  # with an array of NumPy's on the left
                return operator(self, inputs[0])
        boxed = map_nested(_boxed, (inputs, options))
        return map_nested(_unboxed, dispatch.box(self).__array_ufunc__(ufunc, method, *boxed[0], **boxed[1]))

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        args, keywords = map_nested(_boxed, (args, keywords))
        types = [dispatch.bound["Tensor"] if issubclass(kind, Layer) else kind for kind in types]
        return map_nested(_unboxed, dispatch.box(self).__array_function__(function, types, args, keywords))


def _boxed(value: Any) -> Any:
    return dispatch.box(value) if isinstance(value, Layer) else value


def _unboxed(value: Any) -> Any:
    return value.array if isinstance(value, Box) else value


def map_nested(function: Callable[[Any], Any], value: Any) -> Any:
    """What a function makes of values in tuples, lists and dicts."""
    if isinstance(value, (tuple, list)):
        parts = [map_nested(function, part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {key: map_nested(function, part) for key, part in value.items()}
    return function(value)


@functools.cache
def ufunc_name(ufunc: Any) -> str | None:
    """The name of a ufunc of NumPy's; None for those of other libraries, which may have the same names."""
    name = ufunc.__name__
    return name if getattr(device.backend_named("cpu").library, name, None) is ufunc else None


def shell(array: Any) -> Any:
    """The same levels around the same memory, for whoever wants to know of them after a write."""
    return array.map(shell) if isinstance(array, Layer) else array


def filled(like: Any, value: Any, make: Callable[[tuple[int, ...], Any], Any]) -> Any:
    """One value in the shape of an array, in the same levels."""
    return like.filled(value, make) if isinstance(like, Layer) else make(tuple(like.shape), value)


def newer(array: Any, level: int) -> bool:
    """Whether an array is a layer of a newer level."""
    return isinstance(array, Layer) and array.level > level


def run(name: str, *arrays: Any, **keywords: Any) -> Any:
    """Run a primitive by name on raw arrays and layers; its other keywords have their defaults."""
    return dispatch.compute(registry[name], arrays, {**registry[name].keywords, **keywords})


def _operator(name: str, reflected: bool) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        args = (other, self) if reflected else (self, other)
        if type(other) is type(self) or not isinstance(other, Layer):
            primitive, kind = registry[name], type(self)
            return (primitive.kernels.get(kind) or primitive.kernels_for(kind)).usual(*args)
        return dispatch.compute(registry[name], args, {})

    return method


BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "pow", "mod": "remainder",
    "floordiv": "floor_divide", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "matmul": "matmul",
}  # fmt: skip
COMPARE = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip
for _symbol, _name in BINARY.items():
    setattr(Layer, f"__{_symbol}__", _operator(_name, reflected=False))
    setattr(Layer, f"__r{_symbol}__", _operator(_name, reflected=True))
for _symbol, _name in COMPARE.items():
    setattr(Layer, f"__{_symbol}__", _operator(_name, reflected=False))

#: By the names of NumPy's ufuncs, the operators with a layer on the right.
_OPERATORS = {
    {"pow": "power"}.get(name, name): _operator(name, reflected=True) for name in (*BINARY.values(), *COMPARE.values())
}


@functools.cache
def _reflected(ufunc: Any) -> Callable[[Any, Any], Any] | None:
    return _OPERATORS.get(ufunc_name(ufunc) or "")


setattr(Layer, "__neg__", lambda self: run("negative", self))  # noqa: B010
setattr(Layer, "__invert__", lambda self: run("bitwise_invert", self))  # noqa: B010
setattr(Layer, "__hash__", object.__hash__)  # noqa: B010


class _Namespace:
    """What rules compute with when they are given layers."""

    def __getattr__(self, name: str) -> Any:
        if name not in registry:
            raise AttributeError(f"a rule uses {name}, which is no primitive: it cannot run inside a transform")

        primitive, defaults = registry[name], registry[name].keywords

        def function(*arrays: Any, **keywords: Any) -> Any:
            return dispatch.compute(primitive, arrays, {**defaults, **keywords} if defaults else keywords)

        setattr(self, name, function)
        return function


namespace = _Namespace()

#: Primitives that act on levels instead of running inside them.
structural: set[str] = set()


class LayerBackend:
    """A kind of layer as a back end: kernels are the primitives, interpreted one level down."""

    rank = 1
    limit, steady = None, False
    replaces = False  # what layers hold is replaced inside of them
    xp = namespace
    unwritable = "an expanded view, or a read-only array; clone it first, or use the out-of-place form"

    def __init__(self, name: str, layer: type[Layer], interpreter: Callable[..., Any]) -> None:
        self.name, self.array_types, self._interpreter = name, (layer,), interpreter
        device.by_array[layer] = self
        device.layers.add(layer)

    def kernel(self, primitive: Primitive) -> Callable[..., Any]:
        if primitive.name in structural:
            return lambda *arrays, **keywords: primitive.program(self.xp, *arrays, **keywords)
        return self._interpreter(primitive)

    def kernels_of(self, primitive: Primitive, dtype: Any) -> Kernels:
        return Kernels(self.kernel(primitive), layered=True)

    def settle(self, y: Any) -> Any:
        return y

    def cast(self, array: Layer, dtype: Any) -> Any:
        return run("astype", array, dtype=dtype)

    def at(self, array: Layer) -> Any:
        return self._inner(array).at(array.front)

    def storage(self, array: Layer) -> Any:
        return self._inner(array).storage(array.front)

    def device_of(self, array: Layer) -> Any:
        return device.by_array[type(array.front)].device_of(array.front)

    def dtype_of(self, array: Layer) -> Any:
        return self._inner(array).dtype_of(array.front)

    def to_numpy(self, array: Layer) -> Any:
        raise RuntimeError(
            f"the values of a tensor inside {array.level.transform} can't be read: an array made of "
            f"them would lose its level; compute with lucidgrad's functions, or return the tensor"
        )

    def format(self, array: Layer) -> str:
        return repr(array)

    def copy(self, array: Layer) -> Any:
        return array.map(lambda part: device.by_array[type(part)].copy(part))

    def write(self, target: Layer, key: Any, value: Any) -> Layer:
        target.write(value)  # as a whole: a key speaks of one example
        return target

    def writable(self, array: Layer) -> bool:
        inner = self._inner(array)
        return bool(inner.writable(array.front) and not inner.replaces)

    def contiguous(self, array: Layer) -> bool:
        return self._inner(array).contiguous(array.front)

    def owns(self, array: Layer) -> bool:
        return False

    def accepts(self, value: Any) -> bool:
        return False

    def zeros(self, shape: tuple[int, ...], dtype: Any, where: Any) -> Any:
        return device.backend_named(where).zeros(shape, dtype, where)

    def absent(self, shape: tuple[int, ...], dtype: Any, where: Any) -> Any:
        return self.zeros(shape, dtype, where)

    def full(self, shape: tuple[int, ...], value: Any, dtype: Any, where: Any) -> Any:
        return device.backend_named(where).full(shape, value, dtype, where)

    def _inner(self, array: Layer) -> Any:
        return device.by_array[type(array.front)]


def check_alive(level: Level, walking: Any) -> None:
    """Raise if a user computes with a tensor whose level has ended."""
    if level.ended and walking is None:
        raise RuntimeError(
            f"a tensor made inside {level.transform} was used after it had ended: "
            f"return it from the transformed function instead of storing it elsewhere"
        )
