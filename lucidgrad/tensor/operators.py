"""The Python operators of `Tensor`, each compiled for its primitive; and NumPy's functions on tensors."""

import functools
from collections.abc import Callable
from typing import Any

from lucidgrad import inplace
from lucidgrad.core import device
from lucidgrad.core.dispatch import box, number, numbers
from lucidgrad.core.engine import tape_namespace
from lucidgrad.core.operators import compile_operator
from lucidgrad.levels.layer import ufunc_name
from lucidgrad.ops.elementwise import arithmetic, comparison, complex, exponential
from lucidgrad.ops.linalg import products


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

    __add__ = compile_operator(arithmetic.add)
    __radd__ = compile_operator(arithmetic.add, reflected=True)
    __sub__ = compile_operator(arithmetic.subtract)
    __rsub__ = compile_operator(arithmetic.subtract, reflected=True)
    __mul__ = compile_operator(arithmetic.multiply)
    __rmul__ = compile_operator(arithmetic.multiply, reflected=True)
    __truediv__ = compile_operator(arithmetic.divide)
    __rtruediv__ = compile_operator(arithmetic.divide, reflected=True)
    __floordiv__ = compile_operator(arithmetic.floor_divide)
    __rfloordiv__ = compile_operator(arithmetic.floor_divide, reflected=True)
    __mod__ = compile_operator(arithmetic.remainder)
    __rmod__ = compile_operator(arithmetic.remainder, reflected=True)
    __pow__ = compile_operator(exponential.pow)
    __rpow__ = compile_operator(exponential.pow, reflected=True)
    __matmul__ = compile_operator(products.matmul)
    __rmatmul__ = compile_operator(products.matmul, reflected=True)
    __and__ = compile_operator(comparison.bitwise_and)
    __rand__ = compile_operator(comparison.bitwise_and, reflected=True)
    __or__ = compile_operator(comparison.bitwise_or)
    __ror__ = compile_operator(comparison.bitwise_or, reflected=True)
    __xor__ = compile_operator(comparison.bitwise_xor)
    __rxor__ = compile_operator(comparison.bitwise_xor, reflected=True)
    __lshift__ = compile_operator(comparison.bitwise_left_shift)
    __rlshift__ = compile_operator(comparison.bitwise_left_shift, reflected=True)
    __rshift__ = compile_operator(comparison.bitwise_right_shift)
    __rrshift__ = compile_operator(comparison.bitwise_right_shift, reflected=True)
    __lt__ = compile_operator(comparison.less)
    __le__ = compile_operator(comparison.less_equal)
    __gt__ = compile_operator(comparison.greater)
    __ge__ = compile_operator(comparison.greater_equal)
    __eq__ = compile_operator(comparison.equal)
    __ne__ = compile_operator(comparison.not_equal)
    __neg__ = compile_operator(arithmetic.negative)
    __pos__ = compile_operator(arithmetic.positive)
    __abs__ = compile_operator(complex.abs)
    __invert__ = compile_operator(comparison.bitwise_invert)
    __iadd__ = _inplace(arithmetic.add)
    __isub__ = _inplace(arithmetic.subtract)
    __imul__ = _inplace(arithmetic.multiply)
    __itruediv__ = _inplace(arithmetic.divide)
    __ifloordiv__ = _inplace(arithmetic.floor_divide)
    __imod__ = _inplace(arithmetic.remainder)
    __ipow__ = _inplace(exponential.pow)
    __imatmul__ = _inplace(products.matmul)
    __iand__ = _inplace(comparison.bitwise_and)
    __ior__ = _inplace(comparison.bitwise_or)
    __ixor__ = _inplace(comparison.bitwise_xor)
    __ilshift__ = _inplace(comparison.bitwise_left_shift)
    __irshift__ = _inplace(comparison.bitwise_right_shift)


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
