"""NumPy's ufuncs: elementwise functions with methods, each over one function of lucidgrad."""

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

import lucidgrad as lg
from lucidgrad.refusals import refuse

from .entrance import (
    TABLE,
    UNSET,
    array,
    cast,
    dtype_like,
    fits_axis,
    in_double,
    is_nothing,
    is_usual,
    matching,
    operand,
    refused_parameter,
    where_among,
)


class UFunc:
    """An elementwise function with NumPy's methods `reduce`, `accumulate` and `outer`.

    Parameters
    ----------
    name
        NumPy's name.
    function
        What computes it.
    nin, nout
        The numbers of arguments and results.
    reduces, accumulates
        Functions of an array and an axis that do so faster and better than one step after the other.
    identity
        What an empty axis gives.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        nin: int = 1,
        nout: int = 1,
        *,
        reduces: Callable[..., Any] | None = None,
        accumulates: Callable[..., Any] | None = None,
        identity: Any = None,
        options: tuple[str, ...] = (),
    ) -> None:
        self.__name__, self.nin, self.nout, self.identity = name, nin, nout, identity
        own = next((word for word in (getattr(function, "__name__", ""), name) if hasattr(lg, word)), None)
        self.__doc__ = f"NumPy's {name}, elementwise; see `lucidgrad.{own}`." if own else function.__doc__
        self._function, self._reduces, self._accumulates, self._options = function, reduces, accumulates, options
        names = ["x"] if nin == 1 else [f"x{i + 1}" for i in range(nin)]
        self.__signature__ = inspect.Signature([
            *(inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in names),
            inspect.Parameter("dtype", inspect.Parameter.KEYWORD_ONLY, default=None),
            *(inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=UNSET) for n in options),
        ])  # fmt: skip
        TABLE["", name] = self

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}' of tensors>"

    def __call__(self, *args: Any, dtype: Any = None, **options: Any) -> Any:
        """Compute; ``dtype`` is that of the computation."""
        title = f"numpy.{self.__name__}"
        if len(args) != self.nin:
            if self.nin < len(args) <= self.nin + self.nout:
                args, options = args[: self.nin], {"out": args[self.nin :], **options}
            else:
                raise TypeError(f"{title}: given {len(args)} arguments, expected {self.nin}")
        own = self._checked(title, options)
        try:
            return self._run(args, dtype_like(dtype), own)
        except Exception as error:
            refuse(error, title, dict(zip(self.__signature__.parameters, args)), lambda: self.__signature__)
            raise

    def _checked(self, title: str, options: dict[str, Any]) -> dict[str, Any]:
        """The function's own options; those of NumPy's that tensors have not may only say what is so anyway."""
        for name, value in options.items():
            if name not in self._options and not is_usual(name, value):
                raise refused_parameter(title, name, value)
        return {name: value for name, value in options.items() if name in self._options and not is_nothing(value)}

    def _run(self, args: tuple[Any, ...], dtype: Any, options: dict[str, Any]) -> Any:
        where = where_among(args)
        with in_double():
            values = matching(*(operand(value, where) for value in args))
            if dtype is not None and dtype != lg.bool:
                values = tuple(cast(array(value, where), dtype) for value in values)
            y = self._function(*values, **options)
            if dtype is not None and (y[0] if self.nout > 1 else y).dtype != dtype:
                raise TypeError(
                    f"numpy.{self.__name__}: given dtype={dtype}, and the result is of another; cast it with astype"
                )
            return tuple(y) if self.nout > 1 else y

    # -- methods
    def reduce(
        self,
        array: Any,
        /,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = UNSET,
        where: Any = True,
    ) -> Any:
        """Combine the elements along an axis, the first with the second, the result with the third, ..."""
        x = self._given("reduce", array, dtype, out=out, initial=initial, where=where)
        with in_double():
            if self._reduces is not None:
                return cast(self._reduces(x, axis=axis, keepdims=bool(keepdims)), dtype_like(dtype))
            if isinstance(axis, (tuple, list)) and len(axis) != 1:
                raise TypeError(f"numpy.{self.__name__}.reduce: given axes {axis}, expected one: the order matters")
            axis = axis[0] if isinstance(axis, (tuple, list)) else axis
            shape = [1] * x.ndim if axis is None else [n if i != axis % x.ndim else 1 for i, n in enumerate(x.shape)]
            x, axis = fits_axis(x, axis)
            first, *others = self._parts("reduce", x, axis)
            for part in others:
                first = self(first, part)
            return lg.reshape(first, tuple(shape)) if keepdims else first

    def accumulate(self, array: Any, /, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """All results on the way of `reduce`."""
        x = self._given("accumulate", array, dtype, out=out)
        with in_double():
            x, axis = fits_axis(x, axis)
            if self._accumulates is not None:
                return cast(self._accumulates(x, axis=axis), dtype_like(dtype))
            found: list[Any] = []
            for part in self._parts("accumulate", x, axis):
                found.append(self(found[-1], part) if found else part)
            return lg.stack(found, axis=axis)

    def outer(self, A: Any, B: Any, /, **options: Any) -> Any:
        """Each element of one array with each of the other."""
        self._binary("outer")
        where = where_among((A, B))
        with in_double():
            a, b = array(A, where), array(B, where)
            return self(lg.reshape(a, (*a.shape, *(1,) * b.ndim)), b, **options)

    def reduceat(self, *args: Any, **options: Any) -> NoReturn:
        """Refused: tensors have no reductions over slices."""
        raise TypeError(
            f"numpy.{self.__name__}.reduceat: not there for tensors; use lucidgrad's scatter_reduce, or reduce slices"
        )

    def at(self, *args: Any, **options: Any) -> NoReturn:
        """Refused: it writes in place without telling what was there."""
        raise TypeError(
            f"numpy.{self.__name__}.at: writes into an array, which history can't follow; use lucidgrad's index_add, "
            f"index_put or scatter_reduce, which give new tensors"
        )

    def _binary(self, method: str) -> None:
        if (self.nin, self.nout) != (2, 1):
            raise ValueError(f"numpy.{self.__name__}.{method}: only for functions of two arguments with one result")

    def _given(self, method: str, x: Any, dtype: Any, **options: Any) -> Any:
        self._binary(method)
        self._checked(f"numpy.{self.__name__}.{method}", options)
        with in_double():
            return cast(array(x), dtype_like(dtype))

    def _parts(self, method: str, x: Any, axis: int) -> tuple[Any, ...]:
        if x.shape[axis]:
            return lg.unstack(x, axis=axis)
        if self.identity is None or method == "accumulate":
            raise ValueError(f"numpy.{self.__name__}.{method}: given an empty axis, expected at least one element")
        return (lg.full(x.shape[:axis] + x.shape[axis + 1 :], self.identity, dtype=x.dtype, device=x.device),)


# -- functions that lucidgrad has under no name --------------------------------------------------
def _fabs(x: Any) -> Any:
    """The absolute value, as a float."""
    if x.dtype in (lg.complex64, lg.complex128):
        raise TypeError("fabs: given complex numbers, expected real ones; use absolute")
    return lg.abs(_real(x))


def _real(x: Any) -> Any:
    """Integers as floats."""
    return x if x.dtype.kind in "fcV" else lg.astype(x, lg.get_default_dtype())


def _cbrt(x: Any) -> Any:
    """The cube root."""
    return lg.copysign(lg.pow(lg.abs(_real(x)), 1 / 3), x)


def _rint(x: Any) -> Any:
    """The nearest whole number; halves go to the even one."""
    return lg.round(_real(x))


def _spacing(x: Any) -> Any:
    """The distance to the next number."""
    x = _real(x).detach()  # a constant, as neighbours are
    return lg.nextafter(x, lg.copysign(lg.full_like(x, lg.inf), x)) - x


def _modf(x: Any) -> tuple[Any, Any]:
    """The part after the point, and the whole part."""
    x = _real(x)
    whole = lg.trunc(x)
    return lg.copysign(
        lg.where(lg.isinf(x), lg.zeros_like(x), x - lg.where(lg.isinf(x), lg.zeros_like(x), whole)), x
    ), whole


def _divmod(x1: Any, x2: Any) -> tuple[Any, Any]:
    """The whole quotient, and what remains."""
    return lg.floor_divide(x1, x2), lg.remainder(x1, x2)


def _bitwise_count(x: Any) -> Any:
    """How many bits of the absolute value are set, counted in pairs, fours, eights, ..."""
    if x.dtype.kind not in "biu":
        raise TypeError(f"bitwise_count: given {x.dtype}, expected integers")
    x = lg.astype(lg.abs(x) if x.dtype.kind == "i" else x, lg.uint64)
    for shift, mask in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F),
                        (8, 0x00FF00FF00FF00FF), (16, 0x0000FFFF0000FFFF), (32, 0x00000000FFFFFFFF)):  # fmt: skip
        where = {"dtype": lg.uint64, "device": x.device}
        bits, by = lg.full((), mask, **where), lg.full((), shift, **where)
        x = lg.bitwise_and(x, bits) + lg.bitwise_and(lg.bitwise_right_shift(x, by), bits)
    return lg.astype(x, lg.uint8)


def _float_power(x1: Any, x2: Any) -> Any:
    double = lg.complex128 if any(getattr(x, "dtype", lg.float64).kind == "c" for x in (x1, x2)) else lg.float64
    return lg.pow(*(cast(array(x), double) for x in (x1, x2)))


def _heaviside(x1: Any, x2: Any) -> Any:
    return lg.heaviside(*(x if type(x) is float else _real(array(x)) for x in (x1, x2)))


def _matvec(x1: Any, x2: Any) -> Any:
    """The product of matrices with vectors."""
    return lg.squeeze(lg.matmul(x1, lg.expand_dims(x2, axis=-1)), axis=-1)


def _vecmat(x1: Any, x2: Any) -> Any:
    """The product of vectors, conjugated, with matrices."""
    return lg.squeeze(lg.matmul(lg.expand_dims(lg.conj(x1), axis=-2), x2), axis=-2)


def _cumulative(name: str) -> Callable[..., Any]:
    return lambda x, axis: getattr(lg, name)(x, axis).values


_UNARY = """
ceil cos cosh exp exp2 expm1 floor isfinite isinf isnan log log10 log1p log2 logical_not negative positive reciprocal
sign signbit sin sinh sqrt square tan tanh trunc arccos arccosh arcsin arcsinh arctan arctanh
deg2rad rad2deg
"""
_BINARY = """
copysign divide floor_divide fmod gcd hypot lcm ldexp logaddexp2 nextafter remainder subtract arctan2 logical_xor
equal greater greater_equal less less_equal not_equal
"""
for _name in _UNARY.split():
    globals()[_name] = UFunc(_name, getattr(lg, _name))
for _name in _BINARY.split():
    globals()[_name] = UFunc(_name, getattr(lg, _name), 2)

absolute = UFunc("absolute", lg.abs)
conjugate = UFunc("conjugate", lg.conj)
degrees = UFunc("degrees", lg.rad2deg)
radians = UFunc("radians", lg.deg2rad)
invert = UFunc("invert", lg.bitwise_invert)
fabs = UFunc("fabs", _fabs)
cbrt = UFunc("cbrt", _cbrt)
rint = UFunc("rint", _rint)
spacing = UFunc("spacing", _spacing)
bitwise_count = UFunc("bitwise_count", _bitwise_count)
modf = UFunc("modf", _modf, nout=2)
frexp = UFunc("frexp", lambda x: lg.frexp(_real(x)), nout=2)

add = UFunc("add", lg.add, 2, reduces=lg.sum, accumulates=lg.cumulative_sum, identity=0)
multiply = UFunc("multiply", lg.multiply, 2, reduces=lg.prod, accumulates=lg.cumulative_prod, identity=1)
maximum = UFunc("maximum", lg.maximum, 2, reduces=lg.max, accumulates=_cumulative("cummax"))
minimum = UFunc("minimum", lg.minimum, 2, reduces=lg.min, accumulates=_cumulative("cummin"))
fmax = UFunc("fmax", lg.fmax, 2, reduces=lg.nanmax)
fmin = UFunc("fmin", lg.fmin, 2, reduces=lg.nanmin)
logaddexp = UFunc("logaddexp", lg.logaddexp, 2, reduces=lg.logsumexp, accumulates=lg.logcumsumexp)
logical_and = UFunc("logical_and", lg.logical_and, 2, reduces=lg.all, identity=True)
logical_or = UFunc("logical_or", lg.logical_or, 2, reduces=lg.any, identity=False)
bitwise_and = UFunc("bitwise_and", lg.bitwise_and, 2, identity=-1)
bitwise_or = UFunc("bitwise_or", lg.bitwise_or, 2, identity=0)
bitwise_xor = UFunc("bitwise_xor", lg.bitwise_xor, 2, identity=0)
left_shift = UFunc("left_shift", lg.bitwise_left_shift, 2)
right_shift = UFunc("right_shift", lg.bitwise_right_shift, 2)
power = UFunc("power", lg.pow, 2)
float_power = UFunc("float_power", _float_power, 2)
heaviside = UFunc("heaviside", _heaviside, 2)
divmod = UFunc("divmod", _divmod, 2, 2)
matmul = UFunc("matmul", lg.matmul, 2)
vecdot = UFunc("vecdot", lg.vecdot, 2, options=("axis",))
matvec = UFunc("matvec", _matvec, 2)
vecmat = UFunc("vecmat", _vecmat, 2)

#: Second names.
ALIASES = {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atan2": "arctan2", "atanh": "arctanh", "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_not": "invert", "bitwise_right_shift": "right_shift", "conj": "conjugate", "mod": "remainder",
    "pow": "power", "true_divide": "divide",
}  # fmt: skip
for _name, _other in ALIASES.items():
    TABLE["", _name] = TABLE["", _other]
