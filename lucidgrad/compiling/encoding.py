"""Programs as plain data, and back: lists, tuples, dicts by strings, numbers, text and tensors, which files can hold.

Variables have no names: they are numbered as they come, inputs first, then constants, then the results of equations. So
an equation can only speak of what was there before it. What is not plain stands as ``{"kind": ..., "of": ...}``, and
there are no other kinds than those below: reading makes data, and finds primitives by their names.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any

from lucidgrad.core import device as devices, dtype as dtypes
from lucidgrad.core.device import Device
from lucidgrad.core.dispatch import box, number
from lucidgrad.core.items import Meta
from lucidgrad.core.primitive import Primitive, registry
from lucidgrad.extents import Shape
from lucidgrad.files.container import FileFormatError, check_shape, dtype_named
from lucidgrad.keys import At
from lucidgrad.levels.layer import structural
from lucidgrad.levels.program import Action, Equation, Program, Structure, Variable
from lucidgrad.levels.structures import STRUCTURES
from lucidgrad.random import Draw, drawn_again
from lucidgrad.spelling import REQUIRED
from lucidgrad.tensor import Tensor

from .sizes import contradiction

__all__ = ["Place", "decoded", "decoded_program", "drawable", "encoded", "encoded_program", "expect"]

#: What stands for itself; files keep every bit of it.
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_NUMBERS = (bool, int, float, complex)
_DEEPEST = 60  # of values inside one another


class Place:
    """Stands for the tensor of a number, in the tree of arguments or of the result."""

    __slots__ = ("of",)

    def __init__(self, of: int) -> None:
        self.of = of


# -- to data -----------------------------------------------------------------------------------------
def encoded(value: Any, what: str) -> Any:
    """A value as data; ``what`` tells in errors where it is from."""
    value = number(value)
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return [encoded(part, what) for part in value]
    if kind in (tuple, Shape):
        return tuple([encoded(part, what) for part in value])
    found = _ENCODERS.get(kind)
    if found is not None:
        name, parts = found
        return {"kind": name, "of": encoded(parts(value), what)}
    if kind is Program:
        return {"kind": "program", "of": encoded_program(value)}
    if kind is Device:
        return {"kind": "device", "of": None}  # the one of the program
    if _is_dtype(value):
        return {"kind": "dtype", "of": str(value)}
    raise TypeError(
        f"export: {what} has a {kind.__module__}.{kind.__qualname__}, which a file of plain data can't hold; expected "
        f"tensors, numbers, text, None, dtypes, and tuples, lists and dicts of them"
    )


_ENCODERS: dict[type, tuple[str, Callable[[Any], Any]]] = {
    dict: ("dict", lambda value: list(value.items())),
    OrderedDict: ("ordered", lambda value: list(value.items())),
    slice: ("slice", lambda value: (value.start, value.stop, value.step)),
    EllipsisType: ("ellipsis", lambda _: None),
    At: ("at", lambda value: value.axes),
    Meta: ("meta", tuple),
    Primitive: ("primitive", lambda value: value.name),
    Place: ("tensor", lambda value: value.of),
}


def _is_dtype(value: Any) -> bool:
    return any(value is known for known in dtypes.known().values()) or (
        hasattr(value, "itemsize") and str(value) in dtypes.known()
    )


def encoded_program(program: Program, name_of: Callable[[int, Variable], str] | None = None) -> dict[str, Any]:
    """A program as data; ``name_of`` gives constants other names than c0, c1 and so on."""
    numbers = {v: i for i, v in enumerate([*program.inputs, *program.constants])}
    constants: dict[str, Any] = {}
    for k, (v, array) in enumerate(program.constants.items()):
        name = f"c{k}" if name_of is None else name_of(k, v)
        constants[name] = box(devices.backend_of(array).to_numpy(array))
    equations: list[Any] = []
    for equation in program.equations:
        name = equation.primitive.name
        draw = getattr(equation.primitive, "run", None)
        if type(draw) is Draw:
            for v in equation.results:
                numbers[v] = len(numbers)
            words = {"how": draw.how, "args": encoded(draw.args, f"what {name} is drawn with")}
            equations.append([DRAW, [], words, [_described(v) for v in equation.results]])
            continue
        known = STRUCTURES if type(equation.primitive) is Structure else registry
        if known.get(name) is not equation.primitive or name in structural:
            raise RuntimeError(
                f"export: the program has {name}, which is no operation of lucidgrad's that a file could name; leave "
                f"it out of the function"
            )
        given = [numbers[x] if type(x) is Variable else _literal(x, name) for x in equation.inputs]
        for v in equation.results:
            numbers[v] = len(numbers)
        made = [_described(v) for v in equation.results]
        equations.append([name, given, _keywords(equation), made])
    return {
        "inputs": [_described(v) for v in program.inputs],
        "constants": constants,
        "equations": equations,
        "outputs": [None if v is None else numbers[v] for v in program.outputs],
    }


#: The name of equations that draw random numbers: from the default generator of wherever the program runs.
DRAW = "draw"
#: How numbers are drawn, with how many arguments of which types, and of which kinds dtypes may be.
_DRAWS: dict[str, tuple[int, tuple[type, ...], str]] = {
    "uniform": (2, (float, int), "f"),
    "normal": (2, (float, int), "fc"),
    "integers": (2, (int,), "fiu"),
    "permutation": (0, (), "fiu"),
}


def drawable(draw: Any) -> bool:
    """Whether a file can say how numbers are drawn."""
    return type(draw) is Draw and draw.how in _DRAWS and all(type(number(x)) in (int, float) for x in draw.args)


def _literal(value: Any, name: str) -> Any:
    """An input that is no variable: None, or a number, which stands in a list."""
    value = number(value)
    if value is not None and type(value) not in _NUMBERS:
        raise TypeError(f"export: {name} is given a {type(value).__name__}, which a file of plain data can't hold")
    return None if value is None else [value]


def _keywords(equation: Equation) -> dict[str, Any]:
    name, found = equation.primitive.name, {}
    for key, value in equation.keywords.items():
        named = key == "device" and type(value) is str
        found[key] = {"kind": "device name", "of": None} if named else encoded(value, f"{name}, keyword {key!r},")
    return found


def _described(variable: Variable) -> list[Any]:
    if variable.is_number:
        raise TypeError("export: the program is given Python numbers in every run, which a file can't ask for")
    return [dtypes.plain_name(variable.dtype), list(variable.shape)]


# -- and back ----------------------------------------------------------------------------------------
def expect(true: Any, what: str) -> None:
    """Refuse a file in which something does not hold."""
    if not true:
        raise FileFormatError(what)


def decoded(value: Any, where: Device, level: int = 0) -> Any:
    """What some data stand for, on a device."""
    expect(level <= _DEEPEST, f"values are more than {_DEEPEST} levels deep")
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list or kind is tuple:
        return kind([decoded(part, where, level + 1) for part in value])
    expect(kind is dict and value.keys() == {"kind", "of"}, f"given a {kind.__name__}, expected a known kind of value")
    name, parts = value["kind"], value["of"]
    if name == "program":
        return decoded_program(parts, where, level + 1)
    expect(type(name) is str and name in _DECODERS, f"given a value of the unknown kind {name!r:.40}")
    return _DECODERS[name](decoded(parts, where, level + 1), where)


def _pairs(parts: Any, _: Any = None) -> dict[Any, Any]:
    expect(type(parts) is list, "a dict is no list of pairs")
    expect(all(type(pair) is tuple and len(pair) == 2 for pair in parts), "a dict is no list of pairs")
    made = dict(parts)
    expect(len(made) == len(parts), "a dict has a key twice")
    return made


def _slice(parts: Any, _: Any) -> slice:
    expect(type(parts) is tuple and len(parts) == 3, "a slice has other parts than three")
    expect(all(part is None or type(part) is int for part in parts), "a slice has parts that are no integers")
    return slice(*parts)


def _at(axes: Any, _: Any) -> At:
    expect(type(axes) is int and 0 <= axes <= 64, f"positions are for {axes!r:.20} axes")
    return At(axes)


def _meta(parts: Any, _: Any) -> Meta:
    expect(type(parts) is tuple and len(parts) == 3 and type(parts[0]) is tuple, "a shape with its dtype is none")
    check_shape(parts[0], "a shape")
    expect(_is_dtype(parts[1]) and type(parts[2]) is Device, "a shape with its dtype is none")
    return Meta(*parts)


def _step(name: Any, _: Any) -> Primitive:
    primitive = _primitive(name)
    expect(primitive.view or name == "pick", f"a part of memory is found by {name}, which finds none")
    return primitive


def _dtype(name: Any, _: Any = None) -> Any:
    expect(type(name) is str and name in _DTYPES, f"given the dtype {name!r:.40}, which is not known here")
    return dtype_named(name, "the program")


def _place(of: Any, _: Any) -> Place:
    expect(type(of) is int and of >= 0, "the number of a tensor is none")
    return Place(of)


_DTYPES = frozenset({*dtypes.known(), "bfloat16"})
_DECODERS: dict[str, Callable[[Any, Device], Any]] = {
    "dict": _pairs,
    "ordered": lambda parts, _: OrderedDict(_pairs(parts)),
    "slice": _slice,
    "ellipsis": lambda _, __: ...,
    "at": _at,
    "meta": _meta,
    "primitive": _step,
    "tensor": _place,
    "device": lambda _, where: where,
    "device name": lambda _, where: str(where),
    "dtype": _dtype,
}


def _primitive(name: Any) -> Primitive:
    """The primitive of a name."""
    expect(type(name) is str, "an equation has no name")
    known = name in registry and name not in structural
    expect(known, f"an equation is {name!r:.60}, which this release has no operation for")
    return registry[name]


def decoded_program(data: Any, where: Device, level: int = 0) -> Program:
    """The program of some data, on a device; what contradicts itself is an error."""
    expect(type(data) is dict and data.keys() >= _PARTS, "a program has other parts than those of one")
    expect(all(type(data[name]) is kind for name, kind in _KINDS.items()), "a part of a program is of another kind")
    known = [_variable(found, i, where) for i, found in enumerate(data["inputs"])]
    inputs, constants = tuple(known), {}
    for name, tensor in data["constants"].items():
        expect(isinstance(tensor, Tensor) and tensor.device == "cpu", f"the constant {name!r} is no tensor")
        v = Variable(len(known), tuple(tensor.shape), tensor.dtype, where)
        constants[v] = devices.backend_named(where).from_numpy(tensor.array, str(where))
        known.append(v)
    equations = []
    for i, found in enumerate(data["equations"]):
        equation = _equation(found, i, known, where, level)
        equations.append(equation)
        known.extend(equation.results)
    for k in data["outputs"]:  # None inside of loops and choices, where nobody asks for it
        there = (k is None and level > 0) or (type(k) is int and 0 <= k < len(known))
        expect(there, f"the program gives variable {k!r:.20}, which is not known")
    return Program(inputs, equations, [None if k is None else known[k] for k in data["outputs"]], constants)


_KINDS = {"inputs": list, "constants": dict, "equations": list, "outputs": list}
_PARTS = _KINDS.keys()


def _variable(data: Any, n: int, where: Device) -> Variable:
    expect(type(data) is list and len(data) == 2 and type(data[1]) is list, f"variable {n} has no dtype and shape")
    check_shape(tuple(data[1]), f"variable {n}")
    return Variable(n, tuple(data[1]), _dtype(data[0]), where)


def _equation(data: Any, i: int, known: Sequence[Variable], where: Device, level: int) -> Equation:
    expect(type(data) is list and len(data) == 4, f"equation {i} has other parts than those of one")
    name, given, words, made = data
    if name == DRAW:
        return _drawing(given, words, made, len(known), where, f"equation {i}, {name},")
    structure = STRUCTURES.get(name) if type(name) is str else None
    primitive = None if structure is not None else _primitive(name)
    at = f"equation {i}, {name},"
    expect(type(given) is list and type(words) is dict and type(made) is list, f"{at} has a part of another kind")
    inputs = tuple([_input(x, known, at) for x in given])
    if primitive is not None:
        _check_inputs(primitive, inputs, at)
        unknown = [key for key in words if key not in primitive.keywords]
        expect(not unknown, f"{at} has the keyword {unknown[:1]}, which it does not take")
    keywords = {key: decoded(value, where, level + 1) for key, value in words.items()}
    if primitive is not None:
        _check_keywords(primitive, keywords, at)
        expect(len(made) == 1 or (made and primitive.outputs), f"{at} gives {len(made)} results")
    results = tuple([_variable(found, len(known) + k, where) for k, found in enumerate(made)])
    equation = Equation(primitive or structure, inputs, keywords, results)  # type: ignore[arg-type]  # one of them
    wrong = contradiction(equation)
    expect(wrong is None, f"{at} {wrong}")
    return equation


def _drawing(given: Any, words: Any, made: Any, n: int, where: Device, at: str) -> Equation:
    """An equation that draws random numbers."""
    expect(given == [] and type(words) is dict and words.keys() == {"how", "args"}, f"{at} has other parts than those")
    expect(type(made) is list and len(made) == 1, f"{at} gives other results than one")
    (v,), how, args = [_variable(found, n, where) for found in made], words["how"], words["args"]
    expect(type(how) is str and how in _DRAWS, f"{at} draws {how!r:.40}, which is not known")
    count, types, kinds = _DRAWS[how]
    expect(type(args) is tuple and len(args) == count, f"{at} has other numbers than {count} for {how}")
    expect(all(type(x) in types for x in args), f"{at} has what is no number for {how}")
    expect(_kind_of(v.dtype) in kinds, f"{at} draws {how} of dtype {v.dtype}")
    expect(how != "permutation" or len(v.shape) == 1, f"{at} draws a permutation of the shape {v.shape}")
    expect(how != "integers" or -(2**63) <= args[0] < args[1] <= 2**63, f"{at} draws integers from {args}")

    def run() -> Any:
        return drawn_again(how, v.shape, v.dtype, where, args).array

    return Equation(Action(how, run, draws=True), (), {}, (v,))


def _kind_of(dtype: Any) -> str:
    return "f" if str(dtype) == "bfloat16" else dtype.kind


def _check_keywords(primitive: Primitive, keywords: dict[str, Any], at: str) -> None:
    for key, value in keywords.items():
        _check_keyword(primitive.program.__annotations__.get(key), value, f"{at} keyword {key!r},")
    missing = [key for key, default in primitive.keywords.items() if default is REQUIRED and key not in keywords]
    expect(not missing, f"{at} lacks the keyword {missing[:1]}")


def _check_keyword(kind: Any, value: Any, at: str) -> None:
    """Refuse text where none is meant: what equations say may become part of source code."""
    if kind is str:
        expect(type(value) is str and _WORD.fullmatch(value), f"{at} is {value!r:.40}, which is no word")
    elif kind in _NUMERIC:
        expect(type(value) in _NUMERIC[kind], f"{at} is a {type(value).__name__}, expected a number")
    else:
        expect(not _has_text(value), f"{at} has text, expected none")


_WORD = re.compile(r"[a-zA-Z0-9_:,.> -]{0,200}")
_NUMERIC: dict[Any, tuple[type, ...]] = {
    int: (int, bool),
    bool: (bool, int),
    float: (float, int, bool),
    int | None: (int, bool, type(None)),
    bool | None: (bool, int, type(None)),
    float | None: (float, int, bool, type(None)),
}


def _has_text(value: Any) -> bool:
    """Whether a value has text in it; names of keywords, which an operation must have, do not count."""
    if isinstance(value, dict):
        return any(map(_has_text, value.values()))
    return any(map(_has_text, value)) if isinstance(value, (list, tuple)) else isinstance(value, (str, bytes))


def _input(x: Any, known: Sequence[Variable], at: str) -> Any:
    if x is None:
        return None
    if type(x) is list:
        expect(len(x) == 1 and type(x[0]) in _NUMBERS, f"{at} is given what is no number")
        return x[0]
    expect(type(x) is int and 0 <= x < len(known), f"{at} is given variable {x!r:.20}, which is not known before it")
    return known[x]


def _check_inputs(primitive: Primitive, inputs: Sequence[Any], at: str) -> None:
    expect(any(type(x) is Variable for x in inputs), f"{at} is given no variable")
    if primitive.variadic:
        expect(None not in inputs, f"{at} is given None")
        return
    least = len(primitive.arrays) - len(primitive.optional)
    expect(least <= len(inputs) <= len(primitive.arrays), f"{at} is given {len(inputs)} inputs")
    needed = [x for x, name in zip(inputs, primitive.arrays, strict=False) if name not in primitive.optional]
    expect(None not in needed, f"{at} is given None")
