"""Primitives: a forward program, its derivative rule, and what its kind gives for free.

A *recipe* is what a walk needs of a primitive for one set of inputs that want gradients: which items a node keeps, and
the rules with their parameters bound to those items. It is made once; all nodes of such calls share it.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from lucidgrad.later import Table
from lucidgrad.spelling import BY_NAME, BY_POSITION, EITHER, REQUIRED, SEVERAL, Parameter, signature

from . import device
from .items import Input, InputMeta, InputMetas, Inputs, Item, Keyword, Meta, Part, Result, Words, meta_of
from .source import run

P = ParamSpec("P")
R = TypeVar("R")


#: Every primitive by name: where rules, back ends and namespaces meet. Families are loaded when they are asked for.
registry: Table["Primitive"] = Table()


class Kind(NamedTuple):
    """A family of primitives: what it knows of shapes, and so what its members need not declare."""

    name: str
    broadcasts: bool = False  # cotangents may be larger than their inputs: the engine sums them
    single: bool = False  # 16-bit floats are computed with in float32


ELEMENTWISE = Kind("elementwise", broadcasts=True)  # batching and forward mode come free
LINEAR = Kind("linear")  # its own forward mode; batching shifts the axis keywords
REDUCTION = Kind("reduction", single=True)  # batching shifts the axis keywords
MATRIX = Kind("matrix", broadcasts=True)  # acts on the last two axes, broadcasts the others


#: Operations that every kernel rounds alike: which one runs shows in no bit, so one operand tells enough of the sizes.
ROUNDED = frozenset(
    """
    add subtract multiply divide maximum minimum copysign where clip equal not_equal less less_equal greater
    greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor
    """.split()
)


_IN_CALL = Words()


class joint:
    """Marks a rule that returns the cotangents of all array inputs at once; None for ``constants``, by name."""

    def __init__(self, rule: Callable[..., Any], constants: tuple[str, ...] = ()) -> None:
        self.rule, self.constants = rule, constants


class Steps(dict[Any, Callable[..., Any]]):
    """What a walk does at the nodes of a recipe, by the type of their cotangents; back ends say how it is made."""

    write: Callable[["Recipe", Any], Callable[..., Any]]

    def __init__(self, recipe: "Recipe") -> None:
        self._recipe = recipe

    def __missing__(self, kind: Any) -> Callable[..., Any]:
        self[kind] = made = Steps.write(self._recipe, kind)
        return made


class Recipe:
    """One primitive's rules for one set of inputs that want gradients, made ready for the walk.

    ``items`` says what a node keeps, in order; ``pulls`` pairs input positions with functions
    ``(xp, g, saved) -> cotangent``; ``joint`` replaces them where the rule gives all at once; ``only``
    is the one function, and ``index`` its input, where just one input wants a gradient. ``plain``: a walk takes the
    rules one by one; not of large results, for which a back end may have one kernel of all rules.
    """

    __slots__ = (
        "flat", "index", "items", "joint", "keeps_arrays", "only", "plain", "primitive", "pulls", "revive", "save",
        "steps",
    )  # fmt: skip

    only: Callable[..., Any] | None
    # Written by the engine when first needed: what a node keeps as tensors, and a walk's step by type of cotangent.
    revive: Callable[..., Any] | None
    steps: "Steps"
    flat: bool | None  # whether slopes are the same around what is kept (None: not tried yet)
    fills = True  # whether absent cotangents of outputs are zeros in the rule, instead of None

    def __init__(self, primitive: "Primitive", wanted: Sequence[int], large: bool = False) -> None:
        self.primitive, self.plain = primitive, not large and not primitive.joint
        rules = [primitive.joint] if primitive.joint else [primitive.rules[i] for i in wanted]
        self.items = tuple(dict.fromkeys(item for rule in rules for item in primitive.needs(rule)))
        self.keeps_arrays = any(item.is_array for item in self.items)
        self.pulls = () if primitive.joint else tuple((i, self._pull(primitive.rules[i])) for i in wanted)
        self.joint = self._pull(primitive.joint) if primitive.joint else None
        words = "".join(item.source(_IN_CALL) + ", " for item in self.items)
        #: ``(y, xs, keywords, meta) -> saved``: what the node keeps (the compiled operators write it out).
        self.save = _compiled(f"lambda default: lambda y, xs, keywords, meta=default: ({words})")(meta_of)
        self.index, self.only, self.revive, self.steps = 0, None, None, Steps(self)
        self.flat = None if self.keeps_arrays else False
        if len(self.pulls) == 1:
            self.index, self.only = self.pulls[0]

    def _pull(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Bind a rule's parameters to their places in the saved tuple."""
        return _compiled(f"lambda rule: lambda xp, g, s: rule({self.arguments(rule)})")(rule)

    def arguments(self, rule: Callable[..., Any]) -> str:
        """What a rule is called with, as source text: xp, g, and what it keeps out of the saved tuple s."""
        kept = [item.argument(f"s[{self.items.index(item)}]") for item in self.primitive.needs(rule)]
        return ", ".join(["xp", "g", *kept])

    def push(self, i: int, meta: Callable[[Any], Meta]) -> Callable[..., Any]:
        """``(xp, t, y, xs, keywords) -> part of the tangent``: the rule of input i, where it is its own transpose."""
        rule = self.primitive.joint or self.primitive.rules[i]
        named = [item.argument(item.source(_IN_CALL)) for item in self.primitive.needs(rule)]
        part = f"[{i}]" if self.joint else ""
        made = f"lambda xp, t, y, xs, keywords: rule({', '.join(['xp', 't', *named])}){part}"
        return _compiled(f"lambda rule, meta: {made}")(rule, meta)

    @functools.cache  # noqa: B019  recipes live as long as their primitives
    def fused(self, array_type: type, goes: tuple[bool, ...]) -> Callable[..., Any] | None:
        """A back end's one call ``(g, saved, fit) -> cotangents or None`` in place of the rules, if it has one."""
        make = getattr(device.by_array.get(array_type), "pull", None)
        return None if make is None else make(self, goes)


@functools.cache
def _compiled(source: str) -> Any:
    """Evaluate an expression made of parameter names; many rules share one."""
    return run(f"made = {source}", {})["made"]


class Kernels:
    """The functions that compute a primitive on arrays of one type: the usual one, and that for large operands.

    ``limit`` is the largest number of elements that is not large yet; None: there is no other function. ``layered``:
    the arrays are layers. A back end gives them; ``watched`` are the same while somebody looks on at every call.
    """

    __slots__ = ("_larger", "_make", "layered", "limit", "unwatched", "usual")

    def __init__(
        self, usual: Callable[..., Any], limit: int | None = None, make: Any = None, layered: bool = False
    ) -> None:
        self.usual, self.limit, self._make, self.layered = usual, limit, make, layered
        self._larger: Callable[..., Any] | None = None
        self.unwatched: Kernels | None = None

    def larger(self) -> Callable[..., Any]:
        """The function for large operands, made when it is first asked for."""
        if self._larger is None:
            self._larger = self._make()
        return self._larger

    def of(self, *arrays: Any) -> Callable[..., Any]:
        """The function for operands of this type and Python numbers: nothing but they decide."""
        if self.limit is not None:
            for a in arrays:
                if getattr(a, "size", 0) > self.limit:
                    return self.larger()
        return self.usual

    def watched(self, by: Callable[[Callable[..., Any]], Callable[..., Any]]) -> "Kernels":
        made = Kernels(by(self.usual), self.limit, lambda: by(self.larger()), self.layered)
        made.unwatched = self
        return made


#: Who looks on at every call of a kernel: ``(primitive, function) -> function``.
watchers: list[Callable[["Primitive", Callable[..., Any]], Callable[..., Any]]] = []


class Primitive:
    """A declared primitive. ``op`` is the function that users call, compiled by `operators`.

    ``silenced`` is there if other processes take part: then no program leaves the primitive out, does it twice, or in
    another order. With the keywords that it makes of the usual ones, something of the same shape is computed alone.
    """

    silenced: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    def __init__(
        self,
        program: Callable[..., Any],
        kind: Kind,
        vjp: Any,
        jvp: Callable[..., Any] | None,
        batch: Callable[..., Any] | None,
        view: bool,
        outputs: bool,
        dtype: str,
        precision: str | None,
        single: bool | None,
        inline: bool = False,
        casts: bool = False,
        real: bool = False,
        placing: bool = False,
    ) -> None:
        code, defaults = program.__code__, program.__defaults__ or ()  # inspect.signature costs an import its time
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = dict(zip(names[code.co_argcount - len(defaults) : code.co_argcount], defaults, strict=True))
        given.update(program.__kwdefaults__ or {})
        arrays, metadata = names[: code.co_posonlyargcount], names[code.co_posonlyargcount :]
        self.variadic = bool(code.co_flags & inspect.CO_VARARGS)
        if self.variadic:  # def op(xp, *xs, axis): no slash, so xp counts among the metadata
            arrays = "xp", code.co_varnames[len(names)]
            metadata = metadata[1:] if names[:1] == ("xp",) else metadata
        if arrays[:1] != ("xp",) or len(arrays) < 2 or code.co_flags & inspect.CO_VARKEYWORDS:
            raise TypeError(
                f"primitive {program.__name__}: the program's first parameter is xp, arrays follow as positional-only, "
                f"metadata as named keywords"
            )
        if {"g", "xp", "y"} & set(metadata) or any(name.startswith("_") for name in names):
            raise TypeError(
                f"primitive {program.__name__}: a parameter is called g, xp, y or _..., as others already are"
            )
        self.name, self.program, self.kind, self.jvp, self.batch = program.__name__, program, kind, jvp, batch
        self.view, self.outputs, self.dtype, self.inline, self.casts = view, outputs, dtype, inline, casts
        self.precision, self.single = precision, vjp is not None and (kind.single if single is None else single)
        self.arrays, self.real, self.placing = arrays[1:], real, placing
        self.optional = {name for name in self.arrays if name in given}
        self.keywords = {name: given.get(name, REQUIRED) for name in metadata}
        self.positional = tuple(name for name in metadata if name in names[: code.co_argcount])
        self.joint: Callable[..., Any] | None = getattr(vjp, "rule", None)
        self.rules: tuple[Any, ...] = ()
        if vjp is not None and self.joint is None:
            self.rules = vjp if isinstance(vjp, tuple) else (vjp,)
            if len(self.rules) != len(self.arrays) or self.variadic:
                raise TypeError(f"primitive {self.name}: {len(self.rules)} rules for inputs {self.arrays}")
        #: Positions of the inputs that have a derivative.
        fixed = getattr(vjp, "constants", ())
        self.differentiable = tuple(
            i for i, a in enumerate(self.arrays) if (self.joint and a not in fixed) or (self.rules and self.rules[i])
        )
        #: Positions of the inputs that come to one dtype, if any; of a variadic function they all do.
        self.values = () if kind is LINEAR else self.differentiable
        if dtype == "float" and not self.values:
            self.values = tuple(range(len(self.arrays)))
        #: Whether floats of several dtypes may meet in it: where just one operation follows, which takes the wider one.
        self.mixes = kind is not ELEMENTWISE or self.variadic or self.name in ROUNDED or len(self.values) < 2
        #: The kinds of those that take the dtype of floats beside them: booleans lift none, but functions would.
        self.yields = (0, 1) if dtype == "float" else (1,)
        self._needs = {rule: self._read(rule) for rule in (*self.rules, self.joint) if rule is not None}
        self.kernels: dict[type, Kernels] = {}  # by array type, found when first asked for
        self.by_dtype: dict[type, dict[Any, Kernels]] = {}  # and by dtype, where floats come out
        self._recipes: dict[tuple[tuple[int, ...], bool], Recipe] = {}
        self.op: Callable[..., Any] = program  # replaced by operators.compile_op

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def _read(self, rule: Callable[..., Any]) -> tuple[Item, ...]:
        """A rule's parameter names are its save-list."""
        code = rule.__code__
        names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        if names[:2] != ["xp", "g"]:
            raise TypeError(f"primitive {self.name}: a rule's first parameters are xp, g; here {names}")
        return tuple(self._item(name) for name in names[2:])

    def _item(self, name: str) -> Item:
        plain = name.removesuffix("_meta")
        if name == "y":
            return Result()
        if self.outputs and name[:1] == "y" and name[1:].isdecimal():
            return Part(int(name[1:]))
        if name in self.keywords:
            return Keyword(name)
        if self.variadic and plain in self.arrays:
            return Inputs() if plain == name else InputMetas()
        if plain in self.arrays:
            return (Input if plain == name else InputMeta)(self.arrays.index(plain))
        raise TypeError(
            f"primitive {self.name}: a rule asks for {name!r}; it can have y (of several y0, y1, ...), "
            f"{', '.join(self.arrays)}, the same with _meta, and the keywords {tuple(self.keywords)}"
        )

    def needs(self, rule: Any) -> tuple[Item, ...]:
        """What one rule keeps."""
        return self._needs[rule]

    def parameters(self, order: Sequence[str] | None = None) -> list[Parameter]:
        """The parameters of the public function, whose arrays may be in another order."""
        own = SEVERAL if self.variadic else BY_POSITION
        found = [Parameter(x, own, None if x in self.optional else REQUIRED) for x in order or self.arrays]
        for k, default in self.keywords.items():
            found.append(Parameter(k, EITHER if k in self.positional else BY_NAME, default))
        return found + [Parameter("dtype", BY_NAME, None)] * self.casts

    def signature(self) -> inspect.Signature:
        """The public signature: the program's without xp."""
        return signature(self.parameters(), {"dtype": Any, **self.program.__annotations__, "return": REQUIRED})

    def kernels_for(self, array_type: type, dtype: Any = None) -> Kernels:
        """The functions for arrays of a type; for a dtype, since complex numbers may have a way of their own."""
        table = self.kernels if dtype is None else self.by_dtype.setdefault(array_type, {})
        key = array_type if dtype is None else dtype
        if key not in table:
            backend = device.by_array.get(array_type)
            if backend is None:
                raise TypeError(f"{self.name}: no back end for arrays of type {array_type.__name__}")
            found = backend.kernels_of(self, dtype)
            for watch in watchers:
                found = found.watched(functools.partial(watch, self))
            table[key] = found
        return table[key]

    def find_kernel(self, array_type: type) -> Callable[..., Any]:
        """The usual function on arrays of a type."""
        return self.kernels_for(array_type).usual

    def recipe(self, wanted: tuple[int, ...], large: bool = False) -> Recipe:
        """The rules for these inputs and for results that are large or not, made once."""
        if (wanted, large) not in self._recipes:
            self._recipes[wanted, large] = Recipe(self, wanted, large)
        return self._recipes[wanted, large]


def primitive(
    kind: Kind,
    *,
    vjp: Any = None,
    jvp: Callable[..., Any] | None = None,
    batch: Callable[..., Any] | None = None,
    view: bool = False,
    outputs: bool = False,
    dtype: str = "same",
    precision: str | None = None,
    single: bool | None = None,
    inline: bool = False,
    casts: bool = False,
    real: bool = False,
    placing: bool = False,
) -> Callable[[Callable[Concatenate[Any, P], R]], Callable[P, R]]:
    """Declare a primitive: the decorated program computes it with any namespace ``xp``.

    The program's signature is that of the public function after ``xp``: array inputs are positional-only,
    everything else is metadata. Where there is an ``axis`` or ``keepdims``, ``dim`` and ``keepdim`` work, too.

    Parameters
    ----------
    kind
        The family: ELEMENTWISE, LINEAR, REDUCTION or MATRIX.
    vjp
        One rule ``(xp, g, <what it keeps>) -> cotangent``, a tuple of them (or None) per array input,
        or `joint` of a rule that returns all cotangents. None: nothing is differentiable.
    jvp
        Forward rule ``(xp, y, primals, tangents, **keywords)`` where the kind's is not enough.
    batch
        Batching rule ``(call, values, batched, keywords) -> value`` where the kind's does not fit.
    view
        The result may share the first input's memory.
    outputs
        The program returns a tuple; rules get ``g`` and ``y`` as tuples.
    dtype
        ``"same"``: results have the inputs' dtype, or are not differentiable; ``"float"``: integers become the default
        float; ``"real"``: complex numbers may become real.
    precision
        Under autocast: ``"low"`` runs in 16 bits, ``"full"`` in float32, None in the dtypes of the inputs.
    single
        Whether inputs of 16 bits become float32 first, and the result 16 bits again, so that neither the program nor
        the rule rounds in between. False where kernels see to that themselves; by default as the kind says.
    inline
        It is (part of) a rule, under a name that back ends may have a kernel for, and needs no rules of its own: a tape
        records its program, and dual numbers run it unless there is a ``jvp``.
    casts
        The public function of one array takes a ``dtype``, too, which the array is cast to first.
    real
        It computes with real numbers alone: complex ones, which would lose their imaginary parts, are refused.
    placing
        The rule is one call that puts the cotangent among zeros: walks may add it to a sum instead.
    """
    from .operators import compile_op

    def declare(program: Callable[Concatenate[Any, P], R]) -> Callable[P, R]:
        words = view, outputs, dtype, precision, single, inline, casts, real, placing
        made = Primitive(program, kind, vjp, jvp, batch, *words)
        made.op = compile_op(made)
        functools.update_wrapper(made.op, program, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
        del made.op.__wrapped__  # type: ignore[attr-defined]  # its signature has xp, ours has not
        made.op.__signature__ = made.signature()  # type: ignore[attr-defined]
        made.op.primitive = made  # type: ignore[attr-defined]
        registry[made.name] = made
        return made.op

    return declare
