"""What the functions of the door have in common: NumPy's parameters, its data, its dtypes, and clear refusals.

A function is written with NumPy's signature. The annotations say what becomes of an argument before the function sees
it; inside, Python floats are float64 and integers become float64, as they do in NumPy.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypeVar

import lucidgrad as lg
from lucidgrad.core import device as devices, dtype as dtypes
from lucidgrad.core.errors import AxisError
from lucidgrad.levels.layer import Layer
from lucidgrad.refusals import refuse

F = TypeVar("F", bound=Callable[..., Any])

#: By place in NumPy's namespace ("" is its root) and name, what the door has.
TABLE: dict[tuple[str, str], Any] = {}


class _Unset:
    """An argument that was not given, where None is one that can be."""

    def __repr__(self) -> str:
        return "<no value>"


UNSET: Any = _Unset()


def library() -> Any:
    """NumPy itself, as its back end knows it: for what has no derivative and no device."""
    return devices.backend_named("cpu").library


def is_nothing(value: Any) -> bool:
    """Whether an argument is NumPy's or our sign for one that was not given."""
    return value is UNSET or type(value).__name__ == "_NoValueType"


class in_double:
    """A block in which Python floats, and integers that become floats, are float64; in this thread."""

    __slots__ = ("before",)
    before: str | None

    def __enter__(self) -> None:
        own = vars(dtypes.default)
        self.before, own["real"] = own.get("real"), "float64"

    def __exit__(self, *exc: object) -> None:
        own = vars(dtypes.default)
        if self.before is None:
            own.pop("real", None)
        else:
            own["real"] = self.before


# -- what arguments become -----------------------------------------------------------------------
def array(value: Any, where: Any = None) -> Any:
    """A tensor of numbers, sequences, arrays or tensors; data without a device goes where the tensors are."""
    if value is None or isinstance(value, lg.Tensor):
        return value
    own = type(value) in devices.by_array and not isinstance(value, library().generic)
    return lg.asarray(value, device=None if own else where)


def arrays(values: Any, where: Any = None) -> Any:
    """Several of them: a sequence of arrays, or an array as the sequence of its parts."""
    if isinstance(values, lg.Tensor) or type(values) in devices.by_array:
        return list(array(values, where))
    return [array(value, where) for value in values]


def operand(value: Any, where: Any = None) -> Any:
    """The same as `array`, but numbers stay numbers, which take the dtype of what is beside them."""
    if type(value) in (bool, int, float, complex) or isinstance(value, library().generic):
        return value
    return array(value, where)


def dtype_like(value: Any, where: Any = None) -> Any:
    """A dtype, however it is spelled."""
    return None if value is None or is_nothing(value) else dtypes.checked("dtype", library().dtype(value))


def host(value: Any, where: Any = None) -> Any:
    """Whole numbers that say where something is, on the host: their values decide about shapes."""
    if isinstance(value, lg.Tensor):
        return values_of(value)
    if isinstance(value, (list, tuple)) and any(isinstance(part, lg.Tensor) for part in value):
        return type(value)(host(part) for part in value)
    return value


Array = Annotated[Any, array]
Arrays = Annotated[Any, arrays]
Operand = Annotated[Any, operand]
DType = Annotated[Any, dtype_like]
Host = Annotated[Any, host]
#: What NumPy has and tensors have not: only the default is taken.
Refused = Annotated[Any, "refused"]

_WAYS_OUT = {
    "out": "a result is a new tensor: write `x = f(...)`, or `x.copy_(f(...))` for a tensor that exists",
    "where": "compute everywhere and choose with where(condition, x, y)",
    "initial": "join the initial value to the array, or use maximum, minimum, + or * on the result",
    "order": "tensors have one order of memory, C's",
    "casting": "cast with astype first",
    "dtype": "cast with astype",
}


def refused_parameter(name: str, parameter: str, value: Any) -> TypeError:
    """What is wrong with an argument that tensors don't have."""
    way = _WAYS_OUT.get(parameter, "leave it out, or use x.detach().numpy() and give up the history")
    return TypeError(f"{name}: given {parameter}={type(value).__name__}, which tensors don't have; {way}")


#: What NumPy's parameters that tensors don't have may be: what is so anyway.
_USUAL: dict[str, tuple[Any, ...]] = {
    "out": (None, (None,), (None, None)),
    "where": (True,),
    "casting": ("same_kind",),
    "order": ("K", "C", "A", None),
    "subok": (True,),
    "signature": (None,),
}


def is_usual(parameter: str, value: Any) -> bool:
    """Whether an argument that tensors don't have says what is so anyway."""
    known = _USUAL.get(parameter, ())
    return is_nothing(value) or any(value is k or (type(value) is type(k) and value == k) for k in known)


def _only_default(name: str, parameter: str, default: Any) -> Callable[[Any, Any], Any]:
    def check(value: Any, where: Any = None) -> Any:
        if value is default or (type(value) is type(default) and value == default) or is_usual(parameter, value):
            return default
        raise refused_parameter(name, parameter, value)

    return check


def _given(value: Any, where: Any = None) -> Any:
    return UNSET if is_nothing(value) else value


# -- functions -----------------------------------------------------------------------------------
def where_among(*values: Any) -> Any:
    """The device of the first tensor in arguments, nested ones included; None if there is none."""
    found = next(tensors_in(values), None)
    return None if found is None else found.device


def tensors_in(values: Any) -> Iterator[lg.Tensor]:
    """The tensors among values, nested ones included."""
    for value in values:
        if isinstance(value, lg.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def numpy_function(place: str = "", calls: bool = False, names: str = "") -> Callable[[F], F]:
    """Put a function into the table under its name, or others; ``calls``: it calls functions of the user's."""

    def decorate(function: F) -> F:
        made = _entrance(place, function.__name__, function, inspect.signature(function), calls)
        for name in names.split() or [function.__name__]:
            TABLE[place, name] = made
        return made  # type: ignore[return-value]

    return decorate


def numpy_functions(place: str = "", **members: Callable[..., Any]) -> Callable[[F], F]:
    """Put functions that share a signature into the table: each is the decorated one, given what computes it."""

    def decorate(shared: F) -> F:
        signature = inspect.signature(shared)
        signature = signature.replace(parameters=list(signature.parameters.values())[1:])
        for name, compute in members.items():
            function: Any = functools.partial(shared, compute)
            function.__doc__ = f"NumPy's {name}, computed by lucidgrad's {getattr(compute, '__name__', name)}."
            TABLE[place, name] = _entrance(place, name, function, signature)
        return shared

    return decorate


def _entrance(
    place: str, name: str, function: Callable[..., Any], signature: inspect.Signature, calls: bool = False
) -> Callable[..., Any]:
    """The function as users call it: arguments become what their annotations say, errors speak of the call."""
    title = ".".join(part for part in ("numpy", place, name) if part)
    by_name: dict[str, Callable[[Any, Any], Any]] = {}
    by_position: list[Callable[[Any, Any], Any]] = []
    rest = _given
    for parameter in signature.parameters.values():
        notes = getattr(parameter.annotation, "__metadata__", ())
        change = notes[0] if notes else _given
        if change == "refused":
            change = _only_default(title, parameter.name, parameter.default)
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = change
        elif parameter.kind is not parameter.VAR_KEYWORD:
            by_name[parameter.name] = change
            if parameter.kind is not parameter.KEYWORD_ONLY:
                by_position.append(change)
    known = len(by_position)
    shown = signature.replace(parameters=[p.replace(annotation=Any) for p in signature.parameters.values()])

    def call(*args: Any, **keywords: Any) -> Any:
        where = where_among(args, keywords.values())
        try:
            with in_double():
                args = tuple([(by_position[i] if i < known else rest)(value, where) for i, value in enumerate(args)])
                keywords = {key: by_name.get(key, _given)(value, where) for key, value in keywords.items()}
                if not calls:
                    return function(*args, **keywords)
            return function(*args, **keywords)
        except Exception as error:
            _name(error, title)
            refuse(error, title, _bound(shown, args, keywords), lambda: shown)
            raise

    call.__name__ = call.__qualname__ = name
    call.__module__ = f"lucidgrad.numpy.{place}".rstrip(".")
    call.__doc__, call.__signature__ = function.__doc__, shown  # type: ignore[attr-defined]
    return call


def _name(error: Exception, title: str) -> None:
    """Let an error that a function here raised say in which function."""
    if error.args and str(error.args[0]).startswith(("given ", "axis ")):
        error.args = (f"{title}: {error.args[0]}", *error.args[1:])


def _bound(signature: inspect.Signature, args: Any, keywords: Any) -> dict[str, Any]:
    try:
        return dict(signature.bind(*args, **keywords).arguments)
    except TypeError:  # Python says by itself what is wrong
        return {}


# -- what many functions need --------------------------------------------------------------------
def cast(x: Any, dtype: Any) -> Any:
    """The tensor in a dtype, where one is given."""
    return x if dtype is None else lg.astype(x, dtype)


def values_of(x: Any) -> Any:
    """The values on the host, where they decide about a shape or a dtype; those of a batch can't be looked at."""
    return x.detach().numpy(force=True)


def readable(x: Any) -> bool:
    """Whether values can be looked at: not inside vmap."""
    return not isinstance(x.detach().array, Layer)


def flag(value: Any) -> bool:
    """An argument that is False if it was not given."""
    return False if value is UNSET else bool(value)


def fits_axis(x: Any, axis: Any) -> tuple[Any, int]:
    """The array and an axis of it that counts from the front; flattened if there is none."""
    if axis is None:
        return lg.reshape(x, (-1,)), 0
    axis = int(axis)
    if not -x.ndim <= axis < x.ndim:
        raise AxisError(f"axis {axis} is out of range for an array of dimension {x.ndim}")
    return x, axis % x.ndim


def matching(*values: Any) -> Any:
    """Operands of which at least one is a tensor: numbers alone become one."""
    if any(isinstance(value, lg.Tensor) for value in values):
        return values
    return (lg.asarray(values[0]), *values[1:])
