"""What a function of the door computes with: arrays where nothing is differentiated, and boxes where something is.

A box is a tensor that looks as NumPy's arrays do: methods, iteration, comparisons have NumPy's meaning, where those of
`lucidgrad.Tensor` have PyTorch's. Functions are lifted: they open the boxes among their arguments, call lucidgrad, and
close what comes out. A result that depends on no input is no box but an array, as it is for HIPS autograd.
"""

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from lucidgrad.core.device import backend_named
from lucidgrad.core.dispatch import node_of
from lucidgrad.func import trees
from lucidgrad.levels.layer import Layer
from lucidgrad.tensor import Tensor

library: Any = backend_named("cpu").library  # NumPy, which only back ends import by name

#: Whether floats are boxes in any case: while a rule runs whose result will be differentiated, all is to be followed.
_boxing: ContextVar[bool] = ContextVar("boxing", default=False)


@contextmanager
def boxing(always: bool) -> Iterator[None]:
    """A context in which all results that have derivatives are boxes, or only those that depend on something."""
    token = _boxing.set(always)
    try:
        yield
    finally:
        _boxing.reset(token)


# -- opening and closing -------------------------------------------------------------------------
def holds_boxes(values: Iterable[Any]) -> bool:
    """Whether a box is among values, or in sequences among them."""
    for value in values:
        if isinstance(value, (Box, Tensor)):
            return True
        if isinstance(value, (list, tuple)) and holds_boxes(value):
            return True
    return False


def opened(value: Any) -> Any:
    """A value with the tensors in place of boxes, in sequences and dictionaries, too."""
    if isinstance(value, Box):
        return value.tensor
    if isinstance(value, (list, tuple)):
        return _same(value, [opened(part) for part in value])
    if isinstance(value, dict):
        return type(value)((key, opened(part)) for key, part in value.items())
    return value


def closed(value: Any) -> Any:
    """A result with boxes for tensors that are being differentiated or mapped, and arrays for others."""
    if isinstance(value, Tensor):
        depends = node_of(value) is not None or isinstance(value.array, Layer)
        return ArrayBox(value) if depends or (_boxing.get() and value.dtype.kind in "fc") else _plain(value)
    if isinstance(value, (list, tuple)):
        return _same(value, [closed(part) for part in value])
    return value


def closed_tree(tree: Any) -> Any:
    """The same for trees of any sort, which are what is differentiated with respect to."""
    return trees.map(closed, tree)


def _same(value: Any, parts: list[Any]) -> Any:
    """A sequence of the same type; those with fields take their parts one by one."""
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def _plain(tensor: Tensor) -> Any:
    return tensor.array[()] if tensor.shape == () else tensor.array


def getval(x: Any) -> Any:
    """The value of a box as an array, anything else as it is.

    Examples
    --------
    >>> from lucidgrad.hips import grad
    >>> from lucidgrad.hips.tracer import getval
    >>> seen = []
    >>> _ = grad(lambda x: (seen.append(getval(x)), x * x)[1])(3.0)
    >>> float(seen[0])
    3.0
    """
    if not isinstance(x, (Box, Tensor)):
        return x
    tensor = (x.tensor if isinstance(x, Box) else x).detach()
    if isinstance(tensor.array, Layer):
        raise TypeError("getval: given one example of many that are computed at once, which has no value of its own")
    return _plain(tensor)


def isbox(x: Any) -> bool:
    """Whether a value is being differentiated."""
    return isinstance(x, Box)


def lifted(name: str, find: Callable[[], Any], plain: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function of lucidgrad as one of boxes and arrays.

    Parameters
    ----------
    name
        What errors call it.
    find
        Gives lucidgrad's function when it is first needed; it may raise.
    plain
        What computes where there is no box; None: lucidgrad's function as well.
    """
    known: list[Any] = []

    def function(*args: Any, **kwargs: Any) -> Any:
        if plain is not None and not holds_boxes(args) and not (kwargs and holds_boxes(kwargs.values())):
            return plain(*args, **kwargs)
        if not known:
            known.append(find())
        return closed(known[0](*opened(args), **opened(kwargs)))

    if plain is not None:
        functools.update_wrapper(function, plain)
    function.__name__ = function.__qualname__ = name
    return function


# -- the box -------------------------------------------------------------------------------------
class Box:
    """A value that is being differentiated."""

    __slots__ = ("tensor",)

    tensor: Tensor

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    @property
    def _value(self) -> Any:
        return getval(self)

    def __bool__(self) -> bool:
        return bool(self.tensor)

    def __str__(self) -> str:
        return f"lucidgrad's {type(self).__name__} with value {self.tensor.detach()!s}"

    __repr__ = __str__


class ArrayBox(Box):
    """An array or a number that is being differentiated: a tensor with the methods of NumPy's arrays."""

    __slots__ = ()

    __hash__ = object.__hash__

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self.tensor.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.tensor.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self.tensor.size)

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self.tensor.dtype

    @property
    def T(self) -> Any:
        """With the axes in reverse order."""
        return _function("transpose")(self)

    @property
    def real(self) -> Any:
        """The real part."""
        return _function("real")(self)

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return _function("imag")(self)

    def __len__(self) -> int:
        return len(self.tensor)

    def __iter__(self) -> Iterator[Any]:
        return map(closed, self.tensor)

    def __getitem__(self, key: Any) -> Any:
        return closed(self.tensor[opened(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(
            "an array that is being differentiated can't be assigned to: make a new one with np.where, "
            "np.concatenate or np.array, or use tensors of lucidgrad, which may be written"
        )

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """The same elements in another shape."""
        return _function("reshape")(self, shape[0] if len(shape) == 1 else shape, **options)

    def transpose(self, *axes: Any) -> Any:
        """With the axes in another order; in reverse order where none is given."""
        return _function("transpose")(self, axes[0] if len(axes) == 1 else axes or None)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(
            "NumPy asks for the values of an array that is being differentiated, which would forget where they come "
            "from; call the function of autograd.numpy, or getval(x) if the values alone are meant"
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs.get("out") is not None:
            return NotImplemented
        return _function(ufunc.__name__)(*args, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        path = function.__module__.partition(".")[2]
        return _function(function.__name__, path if path in ("linalg", "fft") else "")(*args, **kwargs)


def _function(name: str, path: str = "") -> Callable[..., Any]:
    """A function of the door for NumPy."""
    from . import numpy

    found: Callable[..., Any] = getattr(getattr(numpy, path) if path else numpy, name)
    return found


#: Methods that are functions, too, and take the array first.
_METHODS = """
all any argmax argmin argpartition argsort astype clip compress conj conjugate copy cumprod cumsum diagonal dot max mean
min nonzero prod ptp ravel repeat round searchsorted squeeze std sum swapaxes take trace var
""".split()


def _method(name: str, function: str) -> Callable[..., Any]:
    def method(self: ArrayBox, *args: Any, **kwargs: Any) -> Any:
        return _function(function)(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, f"NumPy's method, by its function {function}."
    return method


def _operator(name: str, reflected: bool = False) -> Callable[..., Any]:
    compute = getattr(operator, name)

    def method(self: ArrayBox, *others: Any) -> Any:
        arrays = [_function("array")(x) if isinstance(x, (list, tuple)) else x for x in others]  # as NumPy takes them
        given = [self.tensor, *map(opened, arrays)]
        return closed(compute(*(given[::-1] if reflected else given)))

    return method


for _name in _METHODS:
    setattr(ArrayBox, _name, _method(_name, _name))
ArrayBox.flatten = _method("flatten", "ravel")  # type: ignore[attr-defined]
for _name in "neg pos abs invert eq ne lt le gt ge".split():
    setattr(ArrayBox, f"__{_name}__", _operator(f"__{_name}__"))
for _name in "add sub mul truediv floordiv mod pow matmul and or xor".split():
    setattr(ArrayBox, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(ArrayBox, f"__r{_name}__", _operator(f"__{_name}__", reflected=True))
