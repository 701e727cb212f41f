"""The batch level: an array that stands for many, and how primitives run on all of them at once.

A `Batched` array keeps the batch axis first and hides it: shape, axes and rules speak of one example.
Levels nest, the newest outermost; each has a number. Batched arrays stand where raw arrays stand, so
tensors, nodes and rules work on them unchanged.
"""

import itertools
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from . import device, dispatch
from .primitive import ELEMENTWISE, LINEAR, MATRIX, Primitive, primitive, registry

levels = itertools.count(1)

#: Primitives that ran example by example for want of a batching rule (they warn once).
loops: set[str] = set()


class Batched:
    """Arrays of one shape, stacked along a hidden first axis."""

    __slots__ = ("level", "value")
    __array_ufunc__ = None  # NumPy leaves operators to us

    def __init__(self, value: Any, level: int) -> None:
        self.value, self.level = value, level

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value.shape[1:])

    @property
    def ndim(self) -> int:
        return len(self.value.shape) - 1

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def size(self) -> int:
        n = 1
        for k in self.shape:
            n *= k
        return n

    @property
    def levels(self) -> tuple[tuple[int, int], ...]:
        """The (level, batch size) pairs in it, outermost first."""
        return ((self.level, self.value.shape[0]), *getattr(self.value, "levels", ()))

    def __repr__(self) -> str:
        return f"Batched(level={self.level}, size={self.value.shape[0]}, of={self.value!r})"


def _operator(name: str, reflected: bool) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        return interpret(registry[name], (other, self) if reflected else (self, other), {})

    return method


_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "pow", "mod": "remainder",
    "floordiv": "floor_divide", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}  # fmt: skip
_COMPARE = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip
for _symbol, _name in _BINARY.items():
    setattr(Batched, f"__{_symbol}__", _operator(_name, reflected=False))
    setattr(Batched, f"__r{_symbol}__", _operator(_name, reflected=True))
for _symbol, _name in _COMPARE.items():
    setattr(Batched, f"__{_symbol}__", _operator(_name, reflected=False))
setattr(Batched, "__matmul__", _operator("matmul", reflected=False))  # noqa: B010
setattr(Batched, "__rmatmul__", _operator("matmul", reflected=True))  # noqa: B010
setattr(Batched, "__neg__", lambda self: interpret(registry["negative"], (self,), {}))  # noqa: B010
setattr(Batched, "__invert__", lambda self: interpret(registry["bitwise_invert"], (self,), {}))  # noqa: B010
setattr(Batched, "__hash__", object.__hash__)  # noqa: B010


# -- running a primitive -------------------------------------------------------------------------
def interpret(primitive: Primitive, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Run a primitive on arguments of which some are batched: peel the newest level, compute, wrap."""
    level = max(a.level for a in args if type(a) is Batched)
    batched = [type(a) is Batched and a.level == level for a in args]
    values = [a.value if b else a for a, b in zip(args, batched, strict=True)]

    def call(*values: Any, **keywords: Any) -> Any:
        return dispatch.compute(primitive, values, keywords)

    if primitive.batch is not None:
        y = primitive.batch(call, values, batched, keywords)
    elif primitive.kind is ELEMENTWISE or primitive.kind is MATRIX:
        y = call(*align(values, batched), **keywords)
    elif set(primitive.keywords) & {"axis"} and len(values) == 1:
        y = shift_axis(call, values, batched, keywords)
    else:
        y = _loop(primitive, call, values, batched, keywords)
    return tuple(Batched(part, level) for part in y) if primitive.outputs else Batched(y, level)


def align(values: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
    """Put ones after the batch axis so that arguments of several ranks broadcast as their examples do."""
    rank = max((len(v.shape) - b for v, b in zip(values, batched, strict=True) if hasattr(v, "shape")), default=0)
    return [
        run("reshape", v, shape=(v.shape[0], *(1,) * (rank - len(v.shape) + 1), *v.shape[1:]))
        if b and len(v.shape) - 1 < rank
        else v
        for v, b in zip(values, batched, strict=True)
    ]


def run(name: str, *arrays: Any, **keywords: Any) -> Any:
    """Run a primitive by name on raw or batched arrays; its other keywords have their defaults."""
    return dispatch.compute(registry[name], arrays, {**registry[name].keywords, **keywords})


def shift_axis(
    call: Callable[..., Any], values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]
) -> Any:
    """Batching for primitives with an ``axis``: one further to the right, the batch axis being hidden."""
    values = spread(values, batched)
    rank = len(values[0].shape) - 1
    return call(*values, **{**keywords, "axis": shifted(keywords["axis"], rank)})


def shifted(axis: Any, rank: int) -> Any:
    """Axes of an example of this rank as axes of the whole batch."""
    if axis is None:
        return tuple(range(1, rank + 1))
    if isinstance(axis, (tuple, list)):
        return tuple(shifted(a, rank) for a in axis)
    axis = operator.index(axis)
    if not -max(rank, 1) <= axis < max(rank, 1):
        raise IndexError(f"axis {axis} is out of range for an array of dimension {rank}")
    return axis % max(rank, 1) + 1


def spread(values: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
    """Give every array a batch axis."""
    size = next(v.shape[0] for v, b in zip(values, batched, strict=True) if b)
    return [
        v if b or not hasattr(v, "shape") else run("broadcast_to", v, shape=(size, *v.shape))
        for v, b in zip(values, batched, strict=True)
    ]


def _loop(
    primitive: Primitive,
    call: Callable[..., Any],
    values: Sequence[Any],
    batched: Sequence[bool],
    keywords: dict[str, Any],
) -> Any:
    if primitive.name not in loops:
        loops.add(primitive.name)
        warnings.warn(f"{primitive.name} has no batching rule: it runs example by example", stacklevel=2)
    size = next(v.shape[0] for v, b in zip(values, batched, strict=True) if b)
    rows = [
        call(*(run("index", v, key=(k,)) if b else v for v, b in zip(values, batched, strict=True)), **keywords)
        for k in range(size)
    ]
    if primitive.outputs:
        return tuple(run("stack", *parts, axis=0) for parts in zip(*rows, strict=True))
    return run("stack", *rows, axis=0)


def sum_levels(xp: Any, ct: Any, spread_over: Sequence[tuple[int, int]]) -> Any:
    """The adjoint of using one value for all examples of a level: sum over the batch."""
    for level, size in spread_over:
        ct = xp.sum_level(ct, level=level, size=size)
    return ct


# Three primitives that act on levels instead of running inside them, so that the tape can record them.
@primitive(LINEAR, vjp=lambda xp, g, *, level, size: xp.leave_level(g, level=level, size=size))
def enter_level(xp: Any, x: Any, /, *, level: int, size: int) -> Any:
    """See the first axis of an array as a batch."""
    return Batched(x, level)


@primitive(LINEAR, vjp=lambda xp, g, *, level, size: xp.enter_level(g, level=level, size=size))
def leave_level(xp: Any, x: Any, /, *, level: int, size: int) -> Any:
    """The inverse of `enter_level`; what does not depend on the level is repeated."""
    if type(x) is not Batched or x.level < level:
        return run("broadcast_to", x, shape=(size, *x.shape))
    if x.level == level:
        return x.value
    inner = leave_level.primitive.program(xp, x.value, level=level, size=size)  # type: ignore[attr-defined]
    return Batched(run("moveaxis", inner, source=1, destination=0), x.level)  # the outer batch stays first


@primitive(LINEAR, vjp=lambda xp, g: g)
def sum_level(xp: Any, x: Any, /, *, level: int, size: int) -> Any:
    """Sum over one level; a value that does not depend on the level counts ``size`` times."""
    if type(x) is not Batched or x.level < level:
        return x * size
    if x.level == level:
        return run("sum", x.value, axis=0)
    return Batched(sum_level.primitive.program(xp, x.value, level=level, size=size), x.level)  # type: ignore[attr-defined]


_STRUCTURAL = {
    "enter_level",
    "leave_level",
    "sum_level",
}  # these act on levels instead of running inside them


class _BatchNamespace:
    """What rules compute with when they are given batched arrays."""

    def __getattr__(self, name: str) -> Any:
        if name not in registry:
            raise AttributeError(f"a rule uses {name}, which is no primitive: it cannot run on batched arrays")

        def function(*arrays: Any, **keywords: Any) -> Any:
            return run(name, *arrays, **keywords)

        setattr(self, name, function)
        return function


class _BatchLevel:
    """Batched arrays as a back end: kernels are the primitives, interpreted one level down."""

    name = "batch"
    rank = 1
    array_types = (Batched,)
    xp = _BatchNamespace()

    def kernel(self, primitive: Primitive) -> Callable[..., Any]:
        if primitive.name in _STRUCTURAL:
            return lambda *arrays, **keywords: primitive.program(self.xp, *arrays, **keywords)
        return lambda *arrays, **keywords: interpret(primitive, arrays, keywords)

    def kernel_for(self, primitive: Primitive, kernel: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
        return kernel

    def settle(self, y: Any) -> Any:
        return y

    def cast(self, array: Batched, dtype: Any) -> Batched:
        return Batched(self._inner(array).cast(array.value, dtype), array.level)

    def at(self, array: Batched) -> Any:
        return self._inner(array).at(array.value)

    def storage(self, array: Batched) -> Any:
        return self._inner(array).storage(array.value)

    def device_of(self, array: Batched) -> Any:
        return self._inner(array).device_of(array.value)

    def dtype_of(self, array: Batched) -> Any:
        return self._inner(array).dtype_of(array.value)

    def to_numpy(self, array: Batched) -> Any:
        raise RuntimeError(
            "the values of a batched tensor can't be read inside vmap: they differ from example to example"
        )

    def format(self, array: Batched) -> str:
        return repr(array)

    def copy(self, array: Batched) -> Batched:
        return Batched(self._inner(array).copy(array.value), array.level)

    def write(self, target: Batched, key: Any, value: Any) -> None:
        raise RuntimeError(
            "in-place operations inside vmap are not possible on a batched value; use the out-of-place form"
        )

    def writable(self, array: Batched) -> bool:
        return False

    def owns(self, array: Batched) -> bool:
        return False

    def accepts(self, value: Any) -> bool:
        return False

    def zeros(self, shape: tuple[int, ...], dtype: Any, where: Any) -> Any:
        return device.backend_named(where).zeros(shape, dtype, where)

    def full(self, shape: tuple[int, ...], value: Any, dtype: Any, where: Any) -> Any:
        return device.backend_named(where).full(shape, value, dtype, where)

    def _inner(self, array: Batched) -> Any:
        return device.by_array[type(array.value)]


device.by_array[Batched] = _BatchLevel()
dispatch.bind(Batched=Batched)
