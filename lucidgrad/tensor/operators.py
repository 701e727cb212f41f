"""The Python operators of `Tensor`, each compiled for its primitive; and NumPy's functions on tensors."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lucidgrad import inplace
from lucidgrad.core import device
from lucidgrad.core.dispatch import box, number, numbers
from lucidgrad.core.engine import tape_namespace
from lucidgrad.core.operators import compile_operator
from lucidgrad.core.primitive import registry
from lucidgrad.levels.layer import ufunc_name

from .deferred import Deferred


def _inplace(op: Any) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        return inplace.update(op, self, other)

    return operator


class Operators:
    """Operators with tensors, arrays of the same device and Python numbers on either side."""

    __slots__ = ()
    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if not options and method == "__call__":
            left = inputs[0]
            home: Any = device.by_array.get(type(left))
            if home is not None or type(left) in numbers:  # NumPy's operators have one of these on the left
                operator = _reflected(ufunc)
                if operator is not None:
                    if type(left) in numbers:
                        return operator(self, number(left))
                    return operator(self, left if home.rank else box(home.asarray(left)))
        return tape_namespace.public.numpy.protocol.call_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        return tape_namespace.public.numpy.protocol.call_function(self, function, types, args, keywords)

    if TYPE_CHECKING:  # what is put here below
        __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __neg__ = __pos__ = __abs__ = __invert__ = (
            compile_operator(abs)
        )
        __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = compile_operator(abs)
        __pow__ = __matmul__ = __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = compile_operator(abs)
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = compile_operator(abs)
        __rpow__ = __rmatmul__ = __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = compile_operator(abs)
        __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = _inplace(abs)
        __ipow__ = __imatmul__ = __iand__ = __ior__ = __ixor__ = __ilshift__ = __irshift__ = _inplace(abs)


#: Python's names of the operators, and the primitives that they are.
_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
_OTHERS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
    "neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert",
}  # fmt: skip


def _put(symbol: str, make: Callable[..., Any], name: str, **how: Any) -> None:
    """An operator that is made, with its primitive, when it is first used."""
    place = f"__{symbol}__"
    setattr(Operators, place, Deferred(Operators, place, lambda: make(registry[name].op, **how)))


for _symbol, _name in (*_BINARY.items(), *_OTHERS.items()):
    _put(_symbol, compile_operator, _name)
for _symbol, _name in _BINARY.items():
    _put(f"r{_symbol}", compile_operator, _name, reflected=True)
    _put(f"i{_symbol}", _inplace, _name)

#: By the names of NumPy's ufuncs, the operators that Python calls on a tensor on the right.
_REFLECTED = {
    "add": "radd", "subtract": "rsub", "multiply": "rmul", "divide": "rtruediv", "floor_divide": "rfloordiv",
    "remainder": "rmod", "power": "rpow", "matmul": "rmatmul", "bitwise_and": "rand", "bitwise_or": "ror",
    "bitwise_xor": "rxor", "left_shift": "rlshift", "right_shift": "rrshift", "less": "gt", "less_equal": "ge",
    "greater": "lt", "greater_equal": "le", "equal": "eq", "not_equal": "ne",
}  # fmt: skip


@functools.cache
def _reflected(ufunc: Any) -> Callable[[Any, Any], Any] | None:
    name = _REFLECTED.get(ufunc_name(ufunc) or "")
    return None if name is None else getattr(Operators, f"__{name}__")
