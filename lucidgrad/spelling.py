"""What parameters are called: the standard's and NumPy's names beside PyTorch's, and heads of functions that take both.

Whoever writes a function out as source asks here for its head. Every parameter has one value, however it is spelled: a
call that gives it twice is refused.
"""

import inspect
import typing
from collections.abc import Iterable, Mapping, Sequence
from types import CodeType, UnionType
from typing import Any, NamedTuple, NoReturn

#: Names that mean the same, and are accepted everywhere.
FAMILIES = (("axis", "dim", "axes", "dims"), ("keepdims", "keepdim"))

#: What a parameter is where nothing was given, and the default of one that must be.
UNSET = object()
REQUIRED = inspect.Parameter.empty

#: How a parameter is given, in the order of a head: as `inspect` counts them.
BY_POSITION, EITHER, SEVERAL, BY_NAME, REST = range(5)
_KINDS = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.KEYWORD_ONLY,
    inspect.Parameter.VAR_KEYWORD,
)


_UNIONS = (typing.Union, UnionType)


class Parameter(NamedTuple):
    """A parameter of a function, by the function's own name."""

    name: str
    kind: int
    default: Any = REQUIRED


class Head(NamedTuple):
    """The head of a function as source text, and what belongs to it.

    ``lines`` come first in the body, and leave each value in the variable of `local`. ``scope`` has what they need.
    """

    text: str
    lines: list[str]
    local: dict[str, str]
    defaults: tuple[Any, ...]
    by_name: dict[str, Any]
    scope: dict[str, Any]


def read(code: CodeType, defaults: Sequence[Any] | None, by_name: dict[str, Any] | None) -> list[Parameter]:
    """The parameters of a function, from its code and its defaults."""
    names = code.co_varnames
    count, more = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    given = dict(zip(names[count - len(defaults or ()) : count], defaults or ()))
    found = [
        Parameter(n, int(i >= code.co_posonlyargcount), given.get(n, REQUIRED)) for i, n in enumerate(names[:count])
    ]
    several, rest = code.co_flags & 4, code.co_flags & 8
    found += [Parameter(names[more], SEVERAL)] if several else []
    found += [Parameter(n, BY_NAME, (by_name or {}).get(n, REQUIRED)) for n in names[count:more]]
    return found + ([Parameter(names[more + bool(several)], REST)] if rest else [])


def renamed(own: Sequence[Parameter], names: Sequence[str]) -> list[tuple[Parameter, Parameter]]:
    """The parameters of a method, each beside the function's: those after the tensor have these names, in this order.

    A name stands for the parameter that has it, or one of its family, or else for the next one. ``"a|b"`` are two names
    of one, ``"*a"`` is one that may be given as several arguments, ``"~a"`` is accepted and makes no difference.
    """
    first, *left = own
    made = [(Parameter("self", BY_POSITION), first)]
    for name in names:
        if name[0] == "~":
            left.append(Parameter(name[1:], BY_NAME, None))
            continue
        plain = name.lstrip("*").partition("|")[0]
        mine = next((p for p in left if p.name == plain or p.name in others((), plain)), None) or left[0]
        left.remove(mine)
        made.append((Parameter(plain, SEVERAL) if name[0] == "*" else mine._replace(name=plain, kind=EITHER), mine))
    return made + [(p, p) for p in left]


def others(public: Iterable[str], name: str) -> list[str]:
    """The names that mean the same as that of a parameter, of a function that has these."""
    family = next((family for family in FAMILIES if name in family), ())
    return [] if len({*family}.intersection(public)) > 1 else [other for other in family if other != name]


def head(
    function: str,
    own: Sequence[Parameter],
    names: Sequence[str] | None = None,
    notes: Mapping[str, Any] | None = None,
    also: bool = True,
) -> Head:
    """The head of a function with these parameters, or of a method that calls them by other names.

    It takes other spellings of axes unless ``also`` is False. What annotations say are numbers are Python's own: the
    caller's ``_setting`` makes them of libraries' scalars.
    """
    pairs = [(p, p) for p in own] if names is None else renamed(own, names)
    spelled = {name.lstrip("*").partition("|")[0]: name.split("|")[1:] for name in names or ()}
    public = [p.name for p, _ in pairs]
    rest = next((p.name for p, _ in pairs if p.kind == REST), "_more")
    alternatives: dict[str, str] = {}
    local, scope, lines = {}, dict[str, Any](), list[str]()
    made: list[Parameter] = []
    for p, mine in pairs:
        several = p.kind == SEVERAL and p.name in spelled
        more = others(public, p.name) if also and (several or p.kind in (EITHER, BY_NAME)) else []
        more = [*more, *spelled.get(p.name, ())]
        if mine.name not in (p.name, *more, *public) and p.kind and mine.kind in (EITHER, BY_NAME):
            more.append(mine.name)
        if several:  # by name it is one sequence
            more, p = [p.name, *more], p._replace(name=f"{p.name}_")
            one = f"{p.name}[0]" if mine.name == "axis" else f"_gathered({p.name})"  # an axis may be a number
            lines += [f"if len({p.name}) == 1:", f"    {p.name} = {one}"]
            if mine.default is not REQUIRED:
                lines += [f"elif not {p.name}:", f"    {p.name} = _default_{p.name}"]
        after = p.kind == EITHER and mine.default is REQUIRED and any(q.default is UNSET for q in made)
        if (more or after) and not several and mine.default is not None:  # None is as good as nothing
            p = p._replace(default=UNSET)
            lines += [f"if {p.name} is _UNSET:", f"    {p.name} = _default_{p.name}"]
            if mine.default is REQUIRED:
                lines[-1] = f"    _missing(_function_name, {p.name!r})"
        scope[f"_default_{p.name}"] = mine.default
        if p.kind in (EITHER, BY_NAME) and _is_number((notes or {}).get(mine.name)) and not others((), p.name):
            known = f"{p.name} is not None and {p.name}.__class__ is not float and {p.name}.__class__ is not int"
            lines += [f"if {known}:", f"    {p.name} = _setting({p.name}, _function_name, {p.name!r})"]
        local[mine.name] = p.name
        alternatives |= dict.fromkeys(more, p.name)
        made.append(p)
    if alternatives:
        targets = list(dict.fromkeys(alternatives.values()))
        taken = ", ".join(f"{name}={name}" for name in targets)
        strict = rest == "_more"
        made += [Parameter(rest, REST)] * strict
        found = [f"    {', '.join(targets)}, = _respelled(_function_name, {rest}, _alternatives, {strict}, {taken})"]
        lines = [f"if {rest}:", *found, *lines]
        scope |= {"_respelled": _respelled, "_alternatives": alternatives}
    scope |= {"_UNSET": UNSET, "_missing": _missing, "_gathered": _gathered, "_function_name": function}
    made.sort(key=lambda p: p.kind)
    return Head(
        _text(made),
        lines,
        local,
        tuple(p.default for p in made if p.kind < SEVERAL and p.default is not REQUIRED),
        {p.name: p.default for p in made if p.kind == BY_NAME and p.default is not REQUIRED},
        scope,
    )


def settings(program: Any) -> dict[str, Any]:
    """Parameters of a primitive's program that are numbers, with their annotations; its axes are left to Python."""
    return {name: note for name, note in program.__annotations__.items() if note in (float, float | None)}


def _is_number(note: Any) -> bool:
    """Whether an annotation says that something is a number, or may be one."""
    parts = typing.get_args(note) if typing.get_origin(note) in _UNIONS else (note,)
    return any(part is float or part is int for part in parts)


def _text(parameters: Sequence[Parameter]) -> str:
    parts: list[str] = []
    kinds = [p.kind for p in parameters]
    for i, p in enumerate(parameters):
        if p.kind == BY_NAME and BY_NAME not in kinds[:i] and SEVERAL not in kinds:
            parts.append("*")
        stars = "*" * (p.kind == SEVERAL) + "**" * (p.kind == REST)
        parts.append(stars + p.name + "=None" * (p.default is not REQUIRED))
        if p.kind == BY_POSITION and kinds[i + 1 : i + 2] != [BY_POSITION]:
            parts.append("/")
    return ", ".join(parts)


def passed(own: Sequence[Parameter], local: dict[str, str]) -> str:
    """The arguments of a call that hands the values on."""
    marks = {BY_POSITION: "{1}", EITHER: "{1}", SEVERAL: "*{1}", BY_NAME: "{0}={1}", REST: "**{1}"}
    return ", ".join(marks[p.kind].format(p.name, local[p.name]) for p in own)


def signature(parameters: Iterable[Parameter], notes: Mapping[str, Any]) -> inspect.Signature:
    """The signature of a function with these parameters; its annotations are given by name."""
    made = [
        inspect.Parameter(p.name, _KINDS[p.kind], default=p.default, annotation=notes.get(p.name, REQUIRED))
        for p in parameters
    ]
    result = notes.get("return", REQUIRED)
    return inspect.Signature(made, return_annotation=result, __validate_parameters__=False)


# -- what is refused -----------------------------------------------------------------------------
def _respelled(
    function: str, more: dict[str, Any], names: Mapping[str, str], strict: bool, /, **values: Any
) -> Iterable[Any]:
    """The values of parameters, of which some were given under other names: those are taken out of the rest."""
    for name in [name for name in more if name in names]:
        own, value = names[name], more.pop(name)
        several = own.endswith("_")
        if values[own] != () if several else values[own] is not UNSET and values[own] is not None:
            refuse_both(function, own, name)
        values[own] = (value,) if several else value
    if strict and more:
        raise TypeError(f"{function}() got an unexpected keyword argument {next(iter(more))!r}")
    return values.values()


def complete(
    function: str,
    defaults: Mapping[str, Any],
    ours: Mapping[str, str],
    by_position: Iterable[tuple[str, Any]],
    superfluous: Sequence[Any],
    by_name: Mapping[str, Any],
) -> dict[str, Any]:
    """All keywords of a call that was not written out; ``ours`` has the function's own names for other spellings."""
    given: dict[str, Any] = {}
    for name, value in (*by_position, *by_name.items()):
        own = ours.get(name, name)
        if own in given:
            refuse_both(function, own, name)
        given[own] = value
    unknown = [name for name in given if name not in defaults]
    if unknown or superfluous:
        raise TypeError(f"{function}() got unexpected arguments {unknown or superfluous}")
    given = {**defaults, **given}
    for name, value in given.items():
        if value is REQUIRED:
            _missing(function, name)
    return given


def _gathered(given: tuple[Any]) -> tuple[Any, ...]:
    """What was given as one argument, which may be a sequence."""
    return tuple(given[0]) if isinstance(given[0], (tuple, list)) else given


def refuse_both(function: str, *names: str) -> NoReturn:
    """Refuse a call that gives one argument twice."""
    both = " and ".join(repr(name) if not name.endswith("_") else f"{name[:-1]!r} by position" for name in names)
    raise TypeError(f"{function}: given {both}, which are one argument; expected it once")


def _missing(function: str, name: str) -> NoReturn:
    raise TypeError(f"{function}() misses the argument {name!r}")
