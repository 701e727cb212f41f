"""The compiled operators: every primitive gets a function of its own, written out from one template.

Arguments are unwrapped, the kernel is called, and a node is made, with nothing resolved at call time but the
array's type. Whatever the template does not expect goes to `dispatch.apply`, which takes any mixture.
"""

import functools
import linecache
import types
from collections.abc import Callable, Sequence
from typing import Any

from . import device
from .dispatch import (
    SPELLINGS,
    UNSET,
    alike,
    apply,
    bound,
    box,
    extras_of,
    fits,
    floats,
    halves,
    history,
    lifted,
    settle,
    track_view,
    unified,
)
from .items import Words, meta_of
from .modes import new, precision, recording, told, unusual
from .primitive import ELEMENTWISE, REQUIRED, ROUNDED, Primitive
from .tape import Node, clock


def compile_op(primitive: Primitive) -> Callable[..., Any]:
    """The function that users call: compiled for one to three inputs, generic otherwise."""
    if primitive.variadic or primitive.outputs or not 1 <= len(primitive.arrays) <= 3:
        return _generic_op(primitive)
    return _Template(primitive).function(primitive.arrays, strict=True)


def compile_operator(op: Callable[..., Any], reflected: bool = False) -> Callable[..., Any]:
    """The same as a Python operator: foreign objects give NotImplemented; reflected swaps the operands."""
    primitive: Primitive = op.primitive  # type: ignore[attr-defined]
    order = tuple(reversed(primitive.arrays)) if reflected else primitive.arrays
    return _Template(primitive).function(order, strict=False)


def _generic_op(primitive: Primitive) -> Callable[..., Any]:
    defaults = primitive.keywords
    by_position = tuple(defaults) if primitive.variadic else primitive.positional  # after a sequence, as PyTorch
    ours = {torch: k for k, torch in SPELLINGS.items() if k in defaults}
    inputs = 0 if primitive.variadic else len(primitive.arrays)

    def op(*args: Any, **keywords: Any) -> Any:
        if primitive.variadic and len(args) >= 1 and isinstance(args[0], (list, tuple)):
            args, extra = tuple(args[0]), args[1:]
        else:
            extra = () if primitive.variadic else args[len(primitive.arrays) :]
            args = args[: len(args) - len(extra)]
            if len(args) < inputs and primitive.arrays[len(args)] in primitive.optional:
                args += (None,) * (inputs - len(args))  # rules and nodes speak of all inputs
        given = {**defaults, **keywords}
        try:
            if extra or len(given) > len(defaults) or REQUIRED in given.values():
                given = complete(extra, keywords)
            if primitive.variadic and not primitive.outputs and not unusual:
                y = _constants(primitive, args, given)
                if y is not None:
                    return y
            return apply(primitive, args, given)
        except Exception as error:
            bound["refuse"](error, primitive, args, given)
            raise

    def complete(extra: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        given = {**dict(zip(by_position, extra, strict=False)), **keywords}
        given = {ours.get(k, k): value for k, value in given.items()}
        unknown = [k for k in given if k not in defaults]
        if unknown or len(extra) > len(by_position):
            raise TypeError(f"{primitive.name}() got unexpected arguments {unknown or extra}")
        given = {**defaults, **given}
        missing = [k for k, value in given.items() if value is REQUIRED]
        if missing:
            raise TypeError(f"{primitive.name}() misses the argument {missing[0]!r}")
        return given

    return op


def _constants(primitive: Primitive, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """A call on tensors of one kind that want no gradient; None where something else is among them."""
    tensor_type = bound["Tensor"]
    arrays = [x.array for x in args if type(x) is tensor_type and x._node is None and x._alias is None]
    if len(arrays) != len(args) or len({(type(a), a.dtype) for a in arrays}) != 1:
        return None
    y = primitive.find_kernel(type(arrays[0]))(*arrays, **keywords)
    return box(y if type(y) is type(arrays[0]) else settle(y, arrays[0]))


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

    def function(self, order: Sequence[str], strict: bool) -> Callable[..., Any]:
        """The operator: it is written out and compiled when it is first called, so that imports stay quick."""
        scope: dict[str, Any] = {"__builtins__": globals()["__builtins__"]}  # which compiled callees look for
        op = types.FunctionType(_FIRST_CALL, scope, self.p.name)

        def first_call(args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
            p = self.p
            subsets = [tuple(w) for w in _subsets(self.wanted) if w]
            own = {"P": p, "kernels": p.kernels, "by_dtype": p.by_dtype}
            scope.update({f"_{name}": value for name, value in {**_NAMES, **bound, **own}.items()})
            scope.update({_recipe_name(w): p.recipe(w) for w in subsets})
            code, torch_names = _compiled(self._source(order, strict))
            op.__defaults__ = tuple(p.keywords[k] for k in p.positional if self._optional(k)) or None
            op.__defaults__ = (None,) * len(p.optional) + (op.__defaults__ or ()) or None
            op.__kwdefaults__ = {k: p.keywords[k] for k in p.keywords if k not in p.positional and self._optional(k)}
            op.__kwdefaults__ |= dict.fromkeys(torch_names, UNSET)
            op.__code__ = code
            return op(*args, **keywords)

        scope["first_call"] = first_call
        return op

    def _source(self, order: Sequence[str], strict: bool) -> str:
        p = self.p
        spellings = [(torch, k) for k, torch in SPELLINGS.items() if k in p.keywords and torch not in p.keywords]
        head = [f"{x}=None" if x in p.optional else x for x in order] + ["/"]
        head += [f"{k}=None" if self._optional(k) else k for k in p.positional]
        head += ["*", *(f"{k}=None" if self._optional(k) else k for k in p.keywords if k not in p.positional)]
        head += [f"{torch}=_UNSET" for torch, _ in spellings]
        head = head[:-1] if head[-1] == "*" else head
        args = "".join(f"{x}, " for x in self.xs)
        self.fallback = f"return _apply(_P, ({args}), {self.keyword_dict}, {strict})"
        lines = [f"def op({', '.join(head)}):"]
        for torch, k in spellings:
            lines += [f"    if {torch} is not _UNSET:", f"        {k} = {torch}"]
            if p.keywords[k] is REQUIRED:
                lines += [f"    if {k} is _REQUIRED:"]
                lines += [f'        raise TypeError(f"{{_P.name}}() misses the argument {k!r}")']
        if p.precision is not None:
            lines += ["    if _unusual and _precision().casting is not None:"]
            lines += [f"        {args}= _precision().casting(_P, ({args}))"]
        body = ["try:", *("    " + line for line in self._unwrap() + self._finish()), "except Exception as _error:"]
        body += [f"    _refuse(_error, _P, ({args}), {self.keyword_dict})", "    raise"]  # what came from inside
        return "\n".join([*lines, *("    " + line for line in body)]) + "\n"

    def _optional(self, keyword: str) -> bool:
        return self.p.keywords[keyword] is not REQUIRED or keyword in SPELLINGS

    def _take(self, i: int) -> list[str]:
        x = self.xs[i]
        lines = [f"_a{i} = {x}.array"]
        if i in self.wanted:
            lines.append(f"_n{i} = {x}._node if {x}._alias is None else _history({x})")
        return lines

    def _unwrap(self) -> list[str]:
        if not self.scalars:
            lines = []
            for i, x in enumerate(self.xs):
                lines += [f"if type({x}) is not _Tensor:", "    " + self.fallback, *self._take(i)]
                lines += self._meet(i) if i else ["_lead = _a0", "_kind = type(_a0)"]
                lines += self._agree(i, f"_a{self.p.values[0]}") if i in self.p.values[1:] else []
            return lines
        if len(self.xs) == 2:
            return self._unwrap_pair()
        lines = ["_lead = _v = None", "_weak = False"]
        for i, x in enumerate(self.xs):
            lines.append(f"if type({x}) is _Tensor:")
            lines += ["    " + line for line in self._take(i)]
            lines += ["    if _lead is None:", f"        _lead = _a{i}"]
            lines += [f"    elif type(_a{i}) is not type(_lead):", "        " + self.fallback]
            if i in self.p.values:
                lines += ["    if _v is None:", f"        _v = _a{i}", "    else:"]
                lines += ["        " + line for line in self._agree(i, "_v")]
            lines += [f"elif type({x}) is int or type({x}) is float:", f"    _a{i} = {x}", "    _weak = True"]
            lines += [f"    _n{i} = None"] if i in self.wanted else []
            lines += ["else:", "    " + self.fallback]
        inexact = " or ".join(f"type(_a{i}) is type(_lead) and _a{i}.dtype in _floats" for i in range(len(self.xs)))
        return [
            *lines,
            f"if _lead is None or _weak and not ({inexact}):",
            "    " + self.fallback,
            "_kind = type(_lead)",
        ]

    def _meet(self, i: int) -> list[str]:
        """Another array: of the same type, or else one of the two is a layer and the other is not."""
        return [
            f"if type(_a{i}) is not _kind:",
            f"    _kind = _layer_among(_kind, type(_a{i}))",
            "    if _kind is None:",
            "        " + self.fallback,
            f"    _lead = _lead if type(_lead) is _kind else _a{i}",
        ]

    def _agree(self, i: int, first: str) -> list[str]:
        """Another array of those that come to one dtype: integers beside floats are cast, and all goes on."""
        arrays = ", ".join(f"_a{k}" for k in range(i + 1))
        return [
            f"_same = _a{i}.dtype is {first}.dtype",
            f"if not _same and _lifted({self.p.yields}, _a{i}.dtype, {first}.dtype) is not None:",
            f"    {arrays} = _unified(_P, ({arrays}))",
            *([f"    {first} = _a{i}"] if first == "_v" else []),
            "    _same = True",
            f"    _lead = _a0 if type(_a0) is type(_lead) else _a{i}",
        ]

    def _unwrap_pair(self) -> list[str]:
        x1, x2 = self.xs
        array2 = f"{x2}.array"
        inexact = "{0}.dtype in _floats"  # with integers a Python float gives the default dtype: apply sees to it

        def scalar(i: int) -> list[str]:
            return [f"_a{i} = {self.xs[i]}", "_pair = False"] + ([f"_n{i} = None"] if i in self.wanted else [])

        def deep(lines: list[str]) -> list[str]:
            return ["    " + line for line in lines]

        return [
            f"if type({x1}) is _Tensor:",
            *deep(self._take(0)),
            "    _lead = _a0",
            "    _kind = type(_a0)",
            f"    if type({x2}) is _Tensor:",
            *deep(deep(self._take(1))),
            *deep(
                deep(self._meet(1) + (self._agree(1, "_a0") if self.p.values else ["_same = _a0.dtype is _a1.dtype"]))
            ),
            "        _pair = True",
            f"    elif type({x2}) is int or type({x2}) is float and {inexact.format('_a0')}:",
            *deep(deep(scalar(1))),
            "    else:",
            "        " + self.fallback,
            f"elif type({x2}) is _Tensor and (type({x1}) is int or type({x1}) is float and {inexact.format(array2)}):",
            *deep(scalar(0)),
            *deep(self._take(1)),
            "    _lead = _a1",
            "    _kind = type(_a1)",
            "else:",
            "    " + self.fallback,
        ]

    def _finish(self) -> list[str]:
        arrays = ", ".join(f"_a{i}" for i in range(len(self.xs)))
        lines = ["try:"]
        if self.p.dtype == "float" or self.p.single:  # integers become floats, 16 bits 32: apply sees to their dtype
            other = " or ".join(
                ["_lead.dtype not in _floats"] * (self.p.dtype == "float") + ["_lead.dtype in _halves"] * self.p.single
            )
            lines += ["    _found = _by_dtype[_kind][_lead.dtype]", "except KeyError:"]
            lines += [f"    if {other}:", "        " + self.fallback]
            lines += ["    _found = _P.kernels_for(_kind, _lead.dtype)"]
        else:
            lines += ["    _found = _kernels[_kind]", "except KeyError:", "    _found = _P.kernels_for(_kind)"]
        lines += ["_kernel = _found.usual"]
        if self.large:
            lines += ["_big = False", f"if _found.limit is not None and {self._is_big()}:"]
            lines += ["    _big, _kernel = True, _found.larger()"]
        lines += [f"_y = _kernel({arrays}{self.call_keywords})"]
        lines += ["if type(_y) is not _kind:", "    _y = _settle(_y, _lead)"]
        lines += ["_out = _Tensor()", "_out.array = _y"]
        if self.wanted:
            none = " and ".join(f"_n{i} is None" for i in self.wanted)
            none += " or _y.dtype not in _floats" if "dtype" in self.p.keywords else ""  # integers are constants
            lines += [f"if {none} or _unusual and not _now().recording:", "    _out._node = None"]
            lines += ["    " + line for line in (*self._off_tape(), *self._view())]
            lines += ["    return _out", "_n = _Node()", "_n.extras = _extras_of(_y, _lead) if _places else None"]
            lines += [*self._fit(), *self._save(self.wanted, ())]
            lines += ["_n.when = next(_clock)", "if _unusual and _new().keeping is not None:"]
            lines += [f"    _new().keeping(_n, _y, ({arrays},), {self.keyword_dict})"]
            lines += ["    " + line for line in self._tell("_n")]
            lines += ["_out._node = _n", "_out._alias = None", *self._view(), "return _out"]
        else:
            lines += ["_out._node = None", *self._off_tape(), *self._view(), "return _out"]
        return lines

    def _is_big(self) -> str:
        """Whether there is a large operand, wherever it stands."""
        others = () if self.p.name in ROUNDED else range(1, len(self.xs))
        found = ["_lead.size > _found.limit"]
        found += [f"type(_a{i}) is _kind and _a{i}.size > _found.limit" for i in others]
        return found[0] if len(found) == 1 else f"({' or '.join(found)})"

    def _off_tape(self) -> list[str]:
        deep = ["    " + line for line in ("_out._alias = _now().fresh", *self._tell("_out"))]
        return ["_out._alias = None", "if _unusual:", *deep]

    def _tell(self, made: str) -> list[str]:
        return ["if _told() is not None:", f"    _told()(_P, ({', '.join(self.xs)},), {made})"]

    def _view(self) -> list[str]:
        return [f"_track_view({self.xs[0]}, _out, _P, {self.keyword_dict})"] if self.p.view else []

    def _fit(self) -> list[str]:
        arrays = [f"_a{i}" for i in range(len(self.xs))]
        plain = f"(_kind not in _layers or _alike({', '.join(arrays)}))"
        if not self.p.kind.broadcasts:
            alike = " and ".join(f"{a}.dtype is _y.dtype" for a in arrays)
            alike = f"{plain} and {alike}" if len(arrays) > 1 else alike
        elif len(arrays) == 1:
            alike = "_a0.dtype is _y.dtype" if self.p.dtype == "real" else "True"
        else:
            alike = " and ".join(f"{a}.shape == _y.shape and {a}.dtype is _y.dtype" for a in arrays)
            if len(arrays) == 2:
                pair = f"_a0.shape == _a1.shape and _same and {plain}"
                if self.p.kind.name == "matrix":
                    pair = f"_a0.ndim == _a1.ndim == 2 and {pair.split(' and ', 1)[1]}"
                alike = f"not _pair or {pair}"
            else:
                alike = f"type(_a0) is type(_a1) is type(_a2) and {alike} and {plain}"
        if alike == "True":
            return ["_n.fit = None"]
        found = f"_fits(_y, {', '.join(arrays)})"
        if len(arrays) == 2:  # written out for two arrays without levels
            found = f"((_a0.shape, _a0.dtype, ()), (_a1.shape, _a1.dtype, ())) if _kind not in _layers else {found}"
        if not self.large:
            return [f"_n.fit = None if {alike} else {found}"]
        return [f"if {alike}:", "    _n.fit = None", "else:", f"    _n.fit = {found}", f"    {_BIG_RESULT}"]

    def _save(self, rest: list[int], chosen: tuple[int, ...]) -> list[str]:
        """The branches over which inputs want gradients; each keeps just what its rules need."""
        if not rest:
            recipe = self.p.recipe(chosen)
            words = "".join(item.source(_WORDS) + ", " for item in recipe.items)
            nodes = "".join(f"_n{i}, " if i in chosen else "None, " for i in range(len(self.xs)))
            origin = f"({nodes})" if recipe.only is None else f"_n{recipe.index}"
            plain = _recipe_name(chosen)
            made = f"_P.recipe({chosen}, True) if _big else {plain}" if self.large else plain
            return [f"_n.recipe = {made}", f"_n.saved = ({words})", f"_n.origin = {origin}"]
        i, *later = rest
        if not later and not chosen:
            return self._save([], (i,))
        lines = [
            f"if _n{i} is not None:",
            *("    " + line for line in self._save(later, (*chosen, i))),
            "else:",
        ]
        return lines + ["    " + line for line in self._save(later, chosen)]


def _first_call(*args: Any, **keywords: Any) -> Any:
    return first_call(args, keywords)  # type: ignore[name-defined]  # noqa: F821  in the operator's own globals


_FIRST_CALL = _first_call.__code__


@functools.cache
def _compiled(source: str) -> tuple[types.CodeType, list[str]]:
    """Compile an operator; those that differ only in rules, kernels and defaults share the code."""
    file = f"<operator {_compiled.cache_info().misses}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)  # shown in tracebacks
    code = next(c for c in compile(source, file, "exec").co_consts if isinstance(c, types.CodeType))
    torch_names = [name for name in SPELLINGS.values() if f"{name}=_UNSET" in source]
    return code, torch_names


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
_BIG_RESULT = "_big = _found.limit is not None and _y.size > _found.limit"

#: Globals of the compiled operators, beside `dispatch.bound`; there they have an underscore before their names.
_NAMES: dict[str, Any] = {
    "REQUIRED": REQUIRED,
    "UNSET": UNSET,
    "Node": Node,
    "clock": clock,
    "alike": alike,
    "apply": apply,
    "extras_of": extras_of,
    "fits": fits,
    "floats": floats,
    "halves": halves,
    "history": history,
    "layer_among": layer_among,
    "layers": device.layers,
    "lifted": lifted,
    "meta_of": meta_of,
    "new": new.get,
    "now": recording.get,
    "places": device.places,
    "precision": precision.get,
    "settle": settle,
    "told": told.get,
    "track_view": track_view,
    "unified": unified,
    "unusual": unusual,
}
