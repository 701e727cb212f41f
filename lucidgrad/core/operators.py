"""The compiled operators: every primitive gets a function of its own, written out from one template.

Arguments are unwrapped, the kernel is called, and a node is made, with nothing resolved at call time but the
array's type. Whatever the template does not expect goes to `dispatch.apply`, which takes any mixture.
"""

import functools
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lucidgrad import native
from lucidgrad.spelling import REQUIRED, Head, complete, head, others, settings

from . import device, dispatch
from .dispatch import apply, bound
from .items import Words, meta_of
from .modes import new, precision, recording, told, unusual
from .primitive import ELEMENTWISE, ROUNDED, Primitive, registry
from .source import deep, run
from .tape import Node, clock, node_source


def compile_op(primitive: Primitive) -> Callable[..., Any]:
    """The function that users call: compiled for one to three inputs, generic otherwise."""
    if primitive.variadic or primitive.outputs or not 1 <= len(primitive.arrays) <= 3:
        return _generic_op(primitive)
    return _Template(primitive).function(primitive.arrays, strict=True)


def compile_method(op: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """The same as a method, whose parameters after the tensor have other names."""
    primitive: Primitive = op.primitive  # type: ignore[attr-defined]
    return _Template(primitive).function(primitive.arrays, strict=True, names=names)


def compile_operator(op: Callable[..., Any], reflected: bool = False) -> Callable[..., Any]:
    """The same as a Python operator: foreign objects give NotImplemented; reflected swaps the operands."""
    primitive: Primitive = op.primitive  # type: ignore[attr-defined]
    order = tuple(reversed(primitive.arrays)) if reflected else primitive.arrays
    return _Template(primitive).function(order, strict=False)


def _generic_op(primitive: Primitive) -> Callable[..., Any]:
    defaults, numbers = primitive.keywords, settings(primitive.program)
    by_position = tuple(defaults) if primitive.variadic else primitive.positional  # after a sequence, as PyTorch
    ours = {other: k for k in defaults for other in others(defaults, k)}
    inputs = 0 if primitive.variadic else len(primitive.arrays)
    parts = "parted" if primitive.view and primitive.outputs and len(primitive.arrays) == 1 else None
    usual = ("joined" if not primitive.outputs else None) if primitive.variadic else parts
    core: Any = native.operator if usual else None  # which is asked at the first call

    def op(*args: Any, **keywords: Any) -> Any:
        nonlocal core
        if core is native.operator:
            core = native.operator(primitive, primitive.arrays, op)
        elif core is not None and (made := core(*args, **keywords)) is not None:
            return made
        if primitive.variadic and len(args) >= 1 and isinstance(args[0], (list, tuple)):
            args, extra = tuple(args[0]), args[1:]
        else:
            extra = () if primitive.variadic else args[len(primitive.arrays) :]
            args = args[: len(args) - len(extra)]
            if len(args) < inputs and primitive.arrays[len(args)] in primitive.optional:
                args += (None,) * (inputs - len(args))  # rules and nodes speak of all inputs
        if extra and len(extra) <= len(by_position) and keywords.keys().isdisjoint(by_position[: len(extra)]):
            given = {**defaults, **dict(zip(by_position, extra)), **keywords}
            extra = () if len(given) == len(defaults) else extra
        else:
            given = {**defaults, **keywords}
        for k in numbers:
            given[k] = bound["setting"](given[k], primitive.name, k)
        try:
            if extra or len(given) > len(defaults) or REQUIRED in given.values():
                given = complete(
                    primitive.name, defaults, ours, zip(by_position, extra), extra[len(by_position) :], keywords
                )
            y = None if unusual or usual is None else bound[usual](primitive, args, given)
            return apply(primitive, args, given) if y is None else y
        except Exception as error:
            bound["refuse"](error, primitive, args, given)
            raise

    return op


class _Template:
    """Writes the source of one primitive's operator. Its own names have an underscore, which parameters never have."""

    def __init__(self, primitive: Primitive) -> None:
        self.p = primitive
        self.xs = primitive.arrays
        self.wanted = list(primitive.differentiable)
        self.call_keywords = "".join(f", {k}={k}" for k in primitive.keywords)
        self.keyword_dict = "{" + ", ".join(f"{k!r}: {k}" for k in primitive.keywords) + "}"
        self.scalars = primitive.kind.broadcasts and len(self.xs) > 1
        self.large = primitive.kind is ELEMENTWISE  # which kernels for large arrays are for

    def function(self, order: Sequence[str], strict: bool, names: Sequence[str] | None = None) -> Callable[..., Any]:
        """The operator: it is written out and compiled when it is first called, so that imports stay quick."""
        scope: dict[str, Any] = {"__builtins__": globals()["__builtins__"]}  # which compiled callees look for
        op = types.FunctionType(_FIRST_CALL, scope, self.p.name)

        def first_call(args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
            p = self.p
            subsets = [tuple(w) for w in _subsets(self.wanted) if w]
            own = {"P": p, "kernels": p.kernels, "by_dtype": p.by_dtype}
            scope.update({f"_{name}": value for name, value in {**_NAMES, **bound, **own}.items()})
            scope.update({_recipe_name(w): p.recipe(w) for w in subsets})
            made = head(p.name, p.parameters(order), names, settings(p.program))
            scope.update(made.scope)
            scope["_core"] = native.operator(p, order, op)
            code = _compiled(self._source(made, strict, scope["_core"] is not None))
            op.__defaults__, op.__kwdefaults__, op.__code__ = made.defaults or None, made.by_name or None, code
            return op(*args, **keywords)

        scope["first_call"] = first_call
        return op

    def _source(self, made: Head, strict: bool, core: bool) -> str:
        p = self.p
        self.xs = tuple(made.local[x] for x in p.arrays)
        args = "".join(f"{x}, " for x in self.xs)
        self.fallback = f"return _apply(_P, ({args}), {self.keyword_dict}, {strict})"
        lines = [f"def op({made.text}):", *deep(made.lines)]
        other = [k for k in p.keywords if made.local[k] != k]
        lines += [f"    {', '.join(other)} = {', '.join(made.local[k] for k in other)}"] if other else []
        if p.casts:
            lines += ["    if dtype is not None:", f"        {args}= _cast({args}dtype=dtype),"]
        if p.precision is not None:
            lines += ["    if _unusual and _precision().casting is not None:"]
            lines += [f"        {args}= _precision().casting(_P, ({args}))"]
        first = [f"_out = _core({args}{', '.join(p.keywords)})", "if _out is not None:", "    return _out"] * core
        body = ["try:", *deep([*first, *self._body()]), "except Exception as _error:"]
        body += [f"    _refuse(_error, _P, ({args}), {self.keyword_dict})", "    raise"]  # what came from inside
        return "\n".join([*lines, *deep(body)]) + "\n"

    # -- the ways to be called
    def _body(self) -> list[str]:
        """Each common mixture of tensors and numbers is written out to its end; `apply` takes the others."""
        if self.scalars and len(self.xs) == 2:
            return self._pair()
        return [*(self._any_mixture() if self.scalars else self._tensors(range(len(self.xs)))), *self._run(self.wanted)]

    def _take(self, i: int) -> list[str]:
        x = self.xs[i]
        lines = [f"_a{i} = {x}.array"]
        if i in self.wanted:
            lines.append(f"_n{i} = {x}._node if {x}._alias is None else _history({x})")
        return lines

    def _tensors(self, places: Iterable[int]) -> list[str]:
        """Nothing but tensors: their arrays are of one type, or of one and of a layer, and come to one dtype."""
        lines: list[str] = []
        for i in places:
            x = self.xs[i]
            lines += [f"if {x}.__class__ is not _Tensor:", *deep([self.fallback])] if not self.scalars else []
            lines += self._take(i)
            lines += self._meet(i) if lines and i else ["_lead = _a0", "_kind = _a0.__class__"]
            lines += self._agree(i, f"_a{self.p.values[0]}") if i in self.p.values[1:] else []
        return lines

    def _pair(self) -> list[str]:
        one, two = self.xs

        def number(i: int, array: str) -> str:
            x = self.xs[i]  # with integers a Python float gives the default dtype: apply sees to it
            return f"({x}.__class__ is int or {x}.__class__ is float and {array}.dtype in _floats)"

        def beside(i: int) -> list[str]:
            """Input i is a tensor, the other one a number."""
            taken = [] if i == 0 else self._take(i)
            wanted = [k for k in self.wanted if k == i]
            return [f"_a{1 - i} = {self.xs[1 - i]}", *taken, f"_kind = _a{i}.__class__", *self._run(wanted, f"_a{i}")]

        return [
            f"if {one}.__class__ is _Tensor:",
            f"    if {two}.__class__ is _Tensor:",
            *deep(deep([*self._tensors((0, 1)), *self._run(self.wanted)])),
            *deep(self._take(0)),
            f"    if {number(1, '_a0')}:",
            *deep(deep(beside(0))),
            f"elif {two}.__class__ is _Tensor and {number(0, f'{two}.array')}:",
            *deep(beside(1)),
            self.fallback,
        ]

    def _any_mixture(self) -> list[str]:
        """Of three inputs, tensors and numbers."""
        lines = ["_lead = _v = None", "_weak = False"]
        for i, x in enumerate(self.xs):
            lines.append(f"if {x}.__class__ is _Tensor:")
            lines += deep([*self._take(i), "if _lead is None:", f"    _lead = _a{i}"])
            lines += deep([f"elif _a{i}.__class__ is not _lead.__class__:", *deep([self.fallback])])
            if i in self.p.values:
                lines += ["    if _v is None:", f"        _v = _a{i}", "    else:", *deep(deep(self._agree(i, "_v")))]
            lines += [f"elif {x}.__class__ is int or {x}.__class__ is float:", f"    _a{i} = {x}", "    _weak = True"]
            lines += [f"    _n{i} = None"] if i in self.wanted else []
            lines += ["else:", *deep([self.fallback])]
        inexact = [f"_a{i}.__class__ is _lead.__class__ and _a{i}.dtype in _floats" for i in range(len(self.xs))]
        lines += [f"if _lead is None or _weak and not ({' or '.join(inexact)}):", *deep([self.fallback])]
        return [*lines, "_kind = _lead.__class__"]

    def _meet(self, i: int) -> list[str]:
        """Another array: of the same type, or else one of the two is a layer and the other is not."""
        return [
            f"if _a{i}.__class__ is not _kind:",
            f"    _kind = _layer_among(_kind, _a{i}.__class__)",
            "    if _kind is None:",
            *deep(deep([self.fallback])),
            f"    _lead = _lead if _lead.__class__ is _kind else _a{i}",
        ]

    def _agree(self, i: int, first: str) -> list[str]:
        """Another array of those that come to one dtype: integers beside floats are cast, and all goes on."""
        arrays = ", ".join(f"_a{k}" for k in range(i + 1))
        return [
            f"_same = _a{i}.dtype is {first}.dtype",
            f"if not _same and _lifted({self.p.yields}, _a{i}.dtype, {first}.dtype) is not None:",
            f"    {arrays} = _unified(_P, ({arrays}))",
            "    _same = True",
            *([f"    {first} = _a{i}"] if first == "_v" else []),
            f"    _lead = _a0 if _a0.__class__ is _lead.__class__ else _a{i}",
        ] + [
            f"elif not _same and _widest(_a{i}.dtype, {first}.dtype) is not None:",
            f"    return _in_widest(_P, ({', '.join(self.xs)},), {self.keyword_dict})",
        ] * (not self.p.mixes)

    # -- the kernel
    def _run(self, wanted: Sequence[int], lead: str = "_lead") -> list[str]:
        """Compute, and record for those of these inputs that have a history; ``lead`` is the array others follow."""
        arrays = ", ".join(f"_a{i}" for i in range(len(self.xs)))
        # integers become floats, 16 bits 32, and complex numbers may be refused: apply sees to these dtypes
        unlike = {"not in _floats": self.p.dtype == "float", "in _halves": self.p.single, "in _complexes": self.p.real}
        other, lines = [f"{lead}.dtype {dtypes}" for dtypes, so in unlike.items() if so], ["try:"]
        if other:
            lines += [f"    _found = _by_dtype[_kind][{lead}.dtype]", "except KeyError:"]
            lines += [f"    if {' or '.join(other)}:", *deep(deep([self.fallback]))]
            lines += [f"    _found = _P.kernels_for(_kind, {lead}.dtype)"]
        else:
            lines += ["    _found = _kernels[_kind]", "except KeyError:", "    _found = _P.kernels_for(_kind)"]
        lines += ["_kernel = _found.usual"]
        if self.large:
            lines += ["_big, _limit = False, _found.limit", f"if _limit is not None and {self._is_big(lead)}:"]
            lines += ["    _big, _kernel = True, _found.larger()"]
        lines += [f"_y = _kernel({arrays}{self.call_keywords})"]
        lines += ["if _y.__class__ is not _kind:", f"    _y = _settle(_y, {lead})"]
        lines += ["_out = _blank()", "_out.array = _y"]
        if not wanted:
            return [*lines, "_out._node = None", *self._off_tape(), *self._view(), "return _out"]
        none = " and ".join(f"_n{i} is None" for i in wanted)
        none += " or _y.dtype not in _floats" if "dtype" in self.p.keywords else ""  # integers are constants
        lines += [f"if {none} or _unusual and not _now().recording:", "    _out._node = None"]
        lines += deep([*self._off_tape(), *self._view(), "return _out"])
        parts = [*self._fit(lead != "_lead"), *self._save(list(wanted), ())]
        parts += [f"_node.extras = _extras_of(_y, {lead}) if _places else None"]
        parts += ["_out._node = _node", "_out._alias = None"]
        lines += node_source("_Node()", parts, f"_y, ({arrays},), {self.keyword_dict}", self._tell())
        return [*lines, *self._view(), "return _out"]

    def _is_big(self, lead: str) -> str:
        """Whether there is a large operand, wherever it stands."""
        others = () if self.p.name in ROUNDED or lead != "_lead" else range(1, len(self.xs))
        found = [f"{lead}.size > _limit", *(f"_a{i}.__class__ is _kind and _a{i}.size > _limit" for i in others)]
        return found[0] if len(found) == 1 else f"({' or '.join(found)})"

    def _off_tape(self) -> list[str]:
        return ["_out._alias = None", "if _unusual:", *deep(["_out._alias = _now().fresh", *self._tell()])]

    def _tell(self) -> list[str]:
        return ["if _told() is not None:", f"    _told()(_P, ({', '.join(self.xs)},), _out)"]

    def _view(self) -> list[str]:
        return [f"_track_view({self.xs[0]}, _out, _P, {self.keyword_dict})"] if self.p.view else []

    # -- the node
    def _fit(self, numbers: bool) -> list[str]:
        arrays = [f"_a{i}" for i in range(len(self.xs))]
        plain = f"(not _found.layered or _alike({', '.join(arrays)}))"
        found = f"_fits(_y, {', '.join(arrays)})"
        if not self.p.kind.broadcasts:
            alike = " and ".join(f"{a}.dtype is _y.dtype" for a in arrays)
            alike = f"{plain} and {alike}" if len(arrays) > 1 else alike
        elif len(arrays) == 1 and self.p.dtype == "real":
            alike = "_a0.dtype is _y.dtype"
        elif len(arrays) == 1 or (numbers and len(arrays) == 2):
            return ["_node.fit = None"]
        elif len(arrays) == 2:
            matrices = self.p.kind.name == "matrix"
            shapes = "_a0.ndim == _a1.ndim == 2" if matrices else "_a0.shape == _a1.shape"
            same = "_same" if len(self.p.values) == 2 else "_a0.dtype is _a1.dtype"
            alike = f"{shapes} and {same} and {plain}"
            found = f"((_a0.shape, _a0.dtype, ()), (_a1.shape, _a1.dtype, ())) if not _found.layered else {found}"
        else:
            alike = " and ".join(f"{a}.shape == _y.shape and {a}.dtype is _y.dtype" for a in arrays)
            alike = f"_a0.__class__ is _a1.__class__ is _a2.__class__ and {alike} and {plain}"
        if not self.large:
            return [f"_node.fit = None if {alike} else {found}"]
        return [f"if {alike}:", "    _node.fit = None", "else:", f"    _node.fit = {found}", f"    {_BIG_RESULT}"]

    def _save(self, rest: list[int], chosen: tuple[int, ...]) -> list[str]:
        """The branches over which inputs want gradients; each keeps just what its rules need."""
        if not rest:
            recipe = self.p.recipe(chosen)
            words = "".join(item.source(_WORDS) + ", " for item in recipe.items)
            nodes = "".join(f"_n{i}, " if i in chosen else "None, " for i in range(len(self.xs)))
            origin = f"({nodes})" if recipe.only is None else f"_n{recipe.index}"
            plain = _recipe_name(chosen)
            made = f"_P.recipe({chosen}, True) if _big else {plain}" if self.large else plain
            return [f"_node.recipe = {made}", f"_node.saved = ({words})", f"_node.origin = {origin}"]
        i, *later = rest
        if not later and not chosen:
            return self._save([], (i,))
        lines = [f"if _n{i} is not None:", *deep(self._save(later, (*chosen, i))), "else:"]
        return lines + deep(self._save(later, chosen))


def _first_call(*args: Any, **keywords: Any) -> Any:
    return first_call(args, keywords)  # type: ignore[name-defined]  # noqa: F821  in the operator's own globals


_FIRST_CALL = _first_call.__code__


@functools.cache
def _compiled(source: str) -> types.CodeType:
    """Compile an operator; those that differ only in rules, kernels and defaults share the code."""
    code: types.CodeType = run(source, {})["op"].__code__
    return code


@functools.cache
def layer_among(one: type, other: type) -> type | None:
    """Of two types of arrays, the one that is a layer while the other is raw: its kernels take both."""
    ranks = [device.by_array[kind].rank for kind in (one, other)]
    return None if ranks[0] == ranks[1] else one if ranks[0] else other


def _recipe_name(wanted: tuple[int, ...]) -> str:
    return "_R" + "".join(map(str, wanted))


def _subsets(items: list[int]) -> list[list[int]]:
    found: list[list[int]] = [[]]
    for item in items:
        found += [[*part, item] for part in found]
    return found


_WORDS = Words(output="_y", input="_a{}", keyword="{}", meta="_meta_of")

#: Operands that broadcast may be smaller than the result, which is what the rules meet.
_BIG_RESULT = "_big = _limit is not None and _y.size > _limit"

_OF_DISPATCH = "alike apply complexes extras_of fits floats halves history lifted settle track_view unified unusual"

#: Globals of the compiled operators, beside `dispatch.bound`; there they have an underscore before their names.
_NAMES: dict[str, Any] = {
    **{name: getattr(dispatch, name) for name in _OF_DISPATCH.split()},
    **{f.__name__: f for f in (layer_among, meta_of, Node)},
    "cast": lambda x, dtype: registry["astype"].op(x, dtype=dtype),
    "clock": clock,
    "new": new.get,
    "now": recording.get,
    "precision": precision.get,
    "told": told.get,
    "places": device.places,
}
