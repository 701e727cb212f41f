"""Clear errors: what the inside of a call raised, said in terms of what was given and what was expected.

Nothing is checked before it is computed: where Python or an array library refuses to go on, the arguments are looked
at, the annotations of the parameters say what was expected, and an error that speaks of the call takes the place of
one that speaks of its inside. A call that works pays nothing for it.
"""

import functools
import inspect
import itertools
import opcode
import struct
import sys
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from . import spelling
from .core.box import Box
from .core.device import by_array, layers, library_of, recognise
from .core.dispatch import bound, complexes, dtype_of, number
from .core.errors import AxisError, DeviceError, OutOfMemoryError
from .core.primitive import Primitive
from .core.source import HOME

#: What may come from inside, and the class it has outside.
_OUTSIDE: tuple[tuple[type[Exception], type[Exception]], ...] = (
    (AttributeError, TypeError),
    (NameError, TypeError),
    (AssertionError, ValueError),
    (RecursionError, ValueError),
    (KeyError, ValueError),
    (ZeroDivisionError, ValueError),
    (MemoryError, OutOfMemoryError),
    (OverflowError, OverflowError),
    (struct.error, TypeError),
    (IndexError, IndexError),
    (TypeError, TypeError),
    (ValueError, ValueError),
)
_LIBRARIES = {"numpy", "cupy", "cupyx", "cupy_backends", "scipy", "ml_dtypes"}
_TOO_LARGE = ("array is too big", "Maximum allowed")  # NumPy's words for what no memory holds
_TELLING = ("zero-size", "an empty", "negative integer powers", "out of bounds for axis", "duplicate", "0d arrays")
_FILE = f"{HOME}<call>"
_SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_LOOSE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_RAISE = {opcode.opmap[name] for name in ("RAISE_VARARGS", "RERAISE")}


# -- what happened -------------------------------------------------------------------------------
def _outside(error: Exception) -> type[Exception] | None:
    """The class of the error to raise in place of one that came from inside; None for one that speaks for itself.

    Errors that a ``raise`` of this package made speak for themselves, and those in functions of the user's. Where they
    were made tells it, so it is found out once, not by each call that they pass through on their way out.
    """
    known = vars(error)
    if "_speaks" in known:
        return None
    kind = _replacement(error)
    if kind is None:
        known["_speaks"] = True
    return kind


def _replacement(error: Exception) -> type[Exception] | None:
    if isinstance(error, Warning) or not _is_ours(error) or _is_raised(error):
        return None
    if isinstance(error, RecursionError) and (set(_packages(error)) != {"lucidgrad"} or _is_deep()):
        return None  # of the user's functions that call themselves
    if type(error).__name__ == "AxisError":
        return AxisError
    if isinstance(error, ValueError) and any(words in str(error) for words in _TOO_LARGE):
        return OutOfMemoryError
    if type(error).__name__ == "LinAlgError":
        return type(error)
    return next((outside for inside, outside in _OUTSIDE if isinstance(error, inside)), None)


def _is_ours(error: Exception) -> bool:
    """Whether an error comes from this package, or from a library below it."""
    return _packages(error)[-1:] == ["lucidgrad"]


def _packages(error: Exception) -> list[str]:
    """The packages that a traceback leads through, without Python's own and array libraries."""
    found, step = [], error.__traceback__
    while step is not None:
        package = step.tb_frame.f_globals.get("__name__", "lucidgrad").partition(".")[0]
        if package not in _LIBRARIES and package not in sys.stdlib_module_names:
            found.append(package)
        step = step.tb_next
    return found


def _is_deep() -> bool:
    """Whether the calls that led here are half as many as there may be: what follows was not what took too many."""
    frame, left = sys._getframe(), sys.getrecursionlimit() // 2
    while frame.f_back is not None and left:
        frame, left = frame.f_back, left - 1
    return not left


def _is_raised(error: Exception) -> bool:
    """Whether a ``raise`` of this package made an error; an ``assert``, which has no text, does not count."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is None or (isinstance(error, AssertionError) and not error.args):
        return False
    here = step.tb_frame.f_globals.get("__name__", "lucidgrad").startswith("lucidgrad")
    return here and step.tb_frame.f_code.co_code[step.tb_lasti] in _RAISE


def refuse(
    error: Exception, name: str, given: Mapping[str, Any], wanted: Callable[[], inspect.Signature], more: str = ""
) -> None:
    """Raise a clear error in place of one from inside; return where the error is clear, or not of our making."""
    kind = _outside(error)
    if kind is not None:
        _raise(kind, error, name, given, wanted(), more)


def _raise(
    kind: type[Exception],
    error: Exception,
    name: str,
    given: Mapping[str, Any],
    signature: inspect.Signature,
    more: str = "",
) -> NoReturn:
    shown = {k: v for k, v in given.items() if _is_given(v, signature.parameters.get(k))}
    words = ", ".join(f"{k}={describe(v)}" for k, v in shown.items()) or "no arguments"
    if kind is AxisError:
        raise kind(f"{name}: {error}") from error
    if any(part in str(error) for part in _TELLING):
        raise kind(f"{name}: given {words}: {error}") from error
    expected = _expected(error, kind, given, signature) or more
    made = kind(f"{name}: given {words}; expected {expected or _usage(name, signature)}")
    made._expected = expected  # type: ignore[attr-defined]  # for a function that the call was a part of
    raise made from (error.__cause__ if hasattr(error, "_expected") else error)


def _is_given(value: Any, parameter: inspect.Parameter | None) -> bool:
    if parameter is None or parameter.default is inspect.Parameter.empty:
        return parameter is None or parameter.kind not in _SEVERAL or bool(value)
    return value is not parameter.default and not (
        type(value) is type(parameter.default) and isinstance(value, (int, float, str)) and value == parameter.default
    )


def describe(value: Any) -> str:
    """What an argument is, without the contents of arrays."""
    if isinstance(value, Box):
        value = value.array
    if hasattr(value, "shape") and recognise(value) is not None:
        return f"{value.dtype} {tuple(value.shape)}"
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        text = repr(value) if not isinstance(value, int) or abs(value) < 2**200 else "an int beyond 2**200"
        return text if len(text) < 60 else f"{text[:50]}..."
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    if isinstance(value, types.MethodType):
        return f"the method {value.__qualname__} without its ()"
    if isinstance(value, (tuple, list)) and len(value) < 7 and all(type(n) in (int, float, bool, str) for n in value):
        return repr(value)
    return f"a {type(value).__qualname__}" + (f" of {len(value)}" if isinstance(value, (tuple, list, dict)) else "")


# -- what was expected ---------------------------------------------------------------------------
def _expected(error: Exception, kind: type, given: Mapping[str, Any], signature: inspect.Signature) -> str:
    if kind is OutOfMemoryError:
        return "a result that fits into memory"
    if "inhomogeneous shape" in str(error):  # NumPy's words for lists of lists
        return "numbers in lists that are equally long at each depth; nn.utils.rnn.pad_sequence joins shorter ones"
    if isinstance(error, AttributeError) and error.name is not None and not error.name.startswith("__"):
        for name, value in given.items():
            if value is error.obj and hasattr(bound["Tensor"], error.name) and not isinstance(value, complex):
                return f"a Tensor as {name}"
    return _misfit(given, signature)


def _misfit(given: Mapping[str, Any], signature: inspect.Signature) -> str:
    """What the first argument that is not what its annotation says should have been."""
    for name, value in given.items():
        parameter = signature.parameters.get(name)
        if parameter is None or parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        values = value if parameter.kind is inspect.Parameter.VAR_POSITIONAL else (value,)
        if not all(_fits(part, parameter.annotation, parameter.default) for part in values):
            way_out = f": {value:.0f}" if isinstance(value, float) and value.is_integer() else ""
            return f"{_spelled(parameter.annotation)} as {name}{way_out}"
    return ""


def _usage(name: str, signature: inspect.Signature) -> str:
    found = [p for p in signature.parameters.values() if p.name != "self"]
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in found]
    return f"arguments that go together in {name}{inspect.Signature(plain, __validate_parameters__=False)}"


def _spelled(annotation: Any) -> str:
    text = inspect.formatannotation(annotation).replace("collections.abc.", "").replace("typing.", "")
    return text.replace("lucidgrad.tensor.", "").replace("lucidgrad.", "")


def _fits(value: Any, annotation: Any, default: Any) -> bool:
    """Whether a value is what an annotation says; yes where that can't be told."""
    if annotation is inspect.Parameter.empty or annotation is Any or value is default:
        return True
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part, default) for part in typing.get_args(annotation))
    if annotation is None or annotation is type(None):
        return value is None
    if origin is typing.Literal:
        return any(type(value) is type(part) and value == part for part in typing.get_args(annotation))
    if origin is Callable or annotation is Callable:
        return callable(value)
    if annotation in (int, float, complex):
        return _is_number(value, annotation)
    kind = origin or annotation
    if not isinstance(kind, type):
        return True
    if isinstance(value, str) and issubclass(str, kind) and kind is not str:
        return False  # a sequence of what it is not
    if not isinstance(value, kind):
        return False
    parts = [part for part in typing.get_args(annotation) if part is not Ellipsis]
    if len(parts) == 1 and isinstance(value, (tuple, list)):
        return all(_fits(part, parts[0], default) for part in value)
    return True


def _is_number(value: Any, kind: type) -> bool:
    if isinstance(value, Box):
        return True  # 0-d tensors are numbers, too
    return hasattr(value, "__index__") or (kind is not int and isinstance(value, (float, kind)))


# -- warnings ------------------------------------------------------------------------------------
def warn_user(text: str) -> None:
    """Warn, and point at the innermost line that is not of this package: Python shows it once for each place."""
    frame, level = sys._getframe(1), 3
    while frame.f_back is not None and frame.f_back.f_code.co_filename.startswith(HOME):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)


# -- where it happens ----------------------------------------------------------------------------
#: What the arguments of some primitives have in common; what elementwise ones expect is known from their kind.
_WANTED = {
    "concat": "arrays that differ along the joined axis alone",
    "matmul": "an inner length that both have in common",
    "permute_dims": "every axis once",
    "reshape": "a shape of as many elements, in which one -1 stands for what is left",
    "solve": "as many rows on both sides",
    "squeeze": "axes of length one",
}


def _refuse_primitive(error: Exception, primitive: Primitive, args: Iterable[Any], keywords: dict[str, Any]) -> None:
    """The same for a primitive's operator."""
    names = (f"x{i}" for i in itertools.count(1)) if primitive.variadic else primitive.arrays
    more = _WANTED.get(primitive.name, "") if isinstance(error, ValueError) else ""
    arrays = [x.array if isinstance(x, Box) else x for x in args]
    shapes = [tuple(getattr(a, "shape", ())) for a in arrays]
    if primitive.kind.name == "elementwise" and isinstance(error, ValueError) and not _broadcast(shapes):
        more = "shapes that broadcast against each other"
    elif isinstance(error, (TypeError, AttributeError)) and any(map(_is_complex, arrays)):
        more = _REALS
    elif isinstance(error, TypeError) and primitive.kind.name == "elementwise" and not keywords:
        more = f"dtypes that {primitive.name} is defined for"
    elif isinstance(error, IndexError):
        more = "indices within the shape"
    refuse(error, primitive.name, {**dict(zip(names, arrays)), **keywords}, primitive.signature, more)


def _broadcast(shapes: list[Any]) -> bool:
    for k in range(1, max((len(s) for s in shapes), default=0) + 1):
        if len({s[-k] for s in shapes if len(s) >= k} - {1}) > 1:
            return False
    return True


_REALS = "real numbers; lg.real(x), lg.imag(x) and lg.abs(x) give such"


def _is_complex(value: Any) -> bool:
    return type(value) is complex or dtype_of(value) in complexes


def only_real(name: str, *values: Any) -> None:
    """Refuse complex numbers among tensors, arrays and numbers, in the name of a function of real ones."""
    for value in values:
        if _is_complex(value):
            error = TypeError(f"{name}: given {describe(value)}, expected {_REALS}")
            error._expected = _REALS  # type: ignore[attr-defined]  # for a function that the call was a part of
            raise error


def _foreign(name: str, place: int, value: Any) -> Exception:
    """What is wrong with an argument of a primitive that is no array of a device in use."""
    what = "None" if value is None else f"a {type(value).__module__}.{type(value).__qualname__}"
    library = library_of(value)
    if library is None:
        return TypeError(f"{name}: argument {place + 1} is {what}, expected a Tensor, an array or a number")
    return DeviceError(
        f"{name}: argument {place + 1} is {what}, expected arrays of one device; lg.asarray(x) makes a tensor of it on "
        f"device {library!r}, lg.asarray(numpy.asarray(x)) on 'cpu'"
    )


def _setting(value: Any, function: str, name: str) -> Any:
    """A number that says how a primitive computes: an array is one only if nobody can ask for its derivative."""
    x = value.array if isinstance(value, Box) else value
    if type(x) not in by_array:
        return number(value)
    shape, fixed = tuple(x.shape), type(x) not in layers and not getattr(value, "requires_grad", False)
    if shape == () and fixed:
        return x.item()
    kind = f"an array of shape {shape}" if fixed else "a tensor that is differentiated or mapped"
    raise TypeError(f"{function}: {name} is {kind}, expected a number, by which {function} has no derivative")


bound["refuse"], bound["foreign"], bound["setting"] = _refuse_primitive, _foreign, _setting
bound["only_real"] = only_real


@functools.cache
def guarded(
    function: types.FunctionType, names: tuple[str, ...] | None = None, known_as: str | None = None
) -> Callable[..., Any]:
    """A function whose errors from inside are refusals; it is written out, with the same parameters, when first called.

    Parameters stand in its head as they do in the function's, so that a call costs little more than without; as those
    of axes do in PyTorch's spelling, too. Those of a method may have other names. What Python says of missing or
    superfluous arguments has the function's name, or the one that it is known as.
    """
    qualname = known_as or function.__qualname__
    scope: dict[str, Any] = {"__name__": __name__, "__builtins__": __builtins__}
    made = types.FunctionType(_FIRST_CALL, scope, function.__name__)

    def first_call(args: Any, keywords: Any) -> Any:
        own = _parameters(function)
        notes = inspect.get_annotations(_inside(function))
        head = spelling.head(function.__name__, own, names, notes, also=function.__name__ != "__init__")
        scope.update(head.scope, _function=function, _setting=lambda value, *_: number(value))
        scope["_refuse"] = functools.partial(refuse_call, function=function)
        made.__defaults__, made.__kwdefaults__ = head.defaults, head.by_name
        given = ", ".join(f"{p.name!r}: {head.local[p.name]}" for p in own)
        code = _compiled(head.text, "\n    ".join(head.lines), spelling.passed(own, head.local), given)
        made.__code__ = code.replace(co_name=function.__name__, co_qualname=qualname)  # Python names it
        return made(*args, **keywords)

    scope["first_call"] = first_call
    functools.update_wrapper(made, function)
    made.__qualname__ = qualname
    if names is not None:
        notes, pairs = inspect.get_annotations(_inside(function)), spelling.renamed(_parameters(function), names)
        notes = {"return": notes.get("return", Any), **{p.name: notes.get(own.name, Any) for p, own in pairs}}
        made.__signature__ = spelling.signature([p for p, _ in pairs], notes)  # type: ignore[attr-defined]
    return made


def _inside(function: Any) -> Any:
    """The function that has the parameters: a wrapper may hand on whatever it is given."""
    while function.__code__.co_flags & _LOOSE and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _parameters(function: Any) -> list[spelling.Parameter]:
    inside = _inside(function)
    if hasattr(inside, "primitive") and inside is inside.primitive.op:
        found: list[spelling.Parameter] = inside.primitive.parameters()
        return found
    return spelling.read(inside.__code__, inside.__defaults__, inside.__kwdefaults__)


def refuse_call(error: Exception, given: dict[str, Any], function: Callable[..., Any]) -> None:
    """The same for a function, with its arguments by name."""
    name = type(given.pop("self")).__name__ if function.__name__ == "__init__" else function.__name__
    refuse(error, name, given, lambda: inspect.signature(function))
    inner = getattr(error, "_expected", None)
    if inner is not None and set(_packages(error)) == {"lucidgrad"}:  # it speaks of a part that the user does not know
        _raise(type(error), error, name, given, inspect.signature(function), inner)


def refuse_method(error: Exception, owner: Any, method: Callable[..., Any], args: Any, keywords: Any) -> None:
    """The same for the call of an object whose method does the work."""
    if _outside(error) is not None:
        signature = inspect.signature(method)
        try:
            given = signature.bind(*args, **keywords).arguments
        except TypeError:  # Python says by itself what is wrong
            return
        name = type(owner).__name__ if method.__name__ == "forward" else method.__name__
        refuse(error, name, given, lambda: signature)


@functools.cache
def _compiled(head: str, lines: str, passed: str, given: str) -> types.CodeType:
    # What is given is not locals(): the frame would keep the error in a cycle.
    source = f"""def call({head}):
    {lines or "pass"}
    try:
        return _function({passed})
    except Exception as _error:
        _refuse(_error, {{{given}}})
        raise
"""
    return next(c for c in compile(source, _FILE, "exec").co_consts if isinstance(c, types.CodeType))


def _first_call(*args: Any, **keywords: Any) -> Any:
    return first_call(args, keywords)  # type: ignore[name-defined]  # noqa: F821  in the function's own globals


_FIRST_CALL = _first_call.__code__


def guard(module: str, names: Iterable[str]) -> None:
    """Let the public functions of a module, and the constructors of its classes, refuse what they can't do.

    Primitives do so by themselves.
    """
    space = vars(sys.modules[module])
    for name in names:
        found = space.get(name)
        if isinstance(found, type):
            for base in found.__mro__:
                if base.__module__.startswith("lucidgrad") and _is_plain(base.__dict__.get("__init__")):
                    base.__init__ = guarded(base.__dict__["__init__"])  # type: ignore[misc]
            owner = next(base for base in found.__mro__ if "__init__" in vars(base))
            inner = getattr(owner.__init__, "__wrapped__", None)  # type: ignore[misc]
            if owner.__name__.startswith("_") and inner is not None and found.__module__.startswith("lucidgrad"):
                found.__init__ = guarded(inner, known_as=f"{found.__qualname__}.__init__")  # type: ignore[misc]
        elif _is_plain(found):
            space[name] = made = guarded(found)
            if made.__module__ == found.__module__:
                made.__module__, made.__qualname__ = module, name  # where a pickle looks for it


def guard_methods(owner: type, quick: Iterable[str] = ()) -> None:
    """The same for the methods of a class, but for quick ones, which do no more than call a primitive."""
    for name, found in tuple(vars(owner).items()):
        if name not in quick and _is_plain(found):
            setattr(owner, name, guarded(found))


def guarded_if_plain(found: Any) -> Any:
    """The same for something that may be a function."""
    return guarded(found) if _is_plain(found) else found


def _is_plain(found: Any) -> bool:
    if not isinstance(found, types.FunctionType) or hasattr(found, "primitive") or not _takes_any(found):
        return False
    return found.__module__.startswith("lucidgrad") and "first_call" not in found.__globals__


def _takes_any(function: Any) -> bool:
    code = function.__code__
    return bool(code.co_argcount or code.co_kwonlyargcount or code.co_flags & inspect.CO_VARARGS)
