"""Every generated kernel: each elementwise primitive's program and rules, per dtype and keywords, at special points.

The expected values are those of the programs on NumPy; for float16 computed in float32 and rounded at the end, which
is how kernels compute.
"""

import functools
import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from samples import COMPLEX, KEYWORDS, LONG, RULES_ONLY
from thoroughness import NIGHTLY

from lucidgrad.backends import codegen
from lucidgrad.core import device, dispatch
from lucidgrad.core.primitive import ELEMENTWISE, registry

CPU = device.backend_named("cpu")

FLOATS = ("float16", "float32", "float64")
DTYPES = (*FLOATS, "complex64", "complex128", "int32", "int64", "uint8", "bool")

REAL_POINTS = (
    *(0.0, -0.0, 0.5, -0.5, 1, -1, 2, -2, 3, -3, 6, 0.3, -0.7, 1.7, -4.2, 25, -25, 100, -100, 1e-3, -1e-3),
    *(1e3, -1e3, np.inf, -np.inf, np.nan),
)
FEW_POINTS = (0.0, 0.5, 1, -1, 2, 0.3, 1.7, 30, np.inf, np.nan)
COMPLEX_POINTS = (0, 1, -1, 1j, -1j, 0.5 + 0.3j, -1.2 + 0.7j, 2 - 3j, 1e-3 + 1e-3j, -0.3 - 0.2j)
WHOLE_POINTS = (0, 1, 2, 3, 5, 7, 100)

#: Elementwise primitives that can't be traced at all, with the reason.
UNTRACEABLE: dict[str, str] = {}

#: Dtypes that a primitive's C function or the tracer does not take, though the primitive does; its program runs then.
LEFT_OUT = {
    ("nan_to_num", "int32"): "integers have no limits of floats; they are as they are",
    ("nan_to_num", "int64"): "integers have no limits of floats; they are as they are",
    ("nan_to_num", "uint8"): "integers have no limits of floats; they are as they are",
    ("nan_to_num", "bool"): "integers have no limits of floats; they are as they are",
}

#: Python numbers for arguments where others than these are needed, or fewer, for the compiler's sake: (2.5, 3).
NUMBERS = {
    "pow": (2, 2.0, 1, 0, -1, 0.5, 2.5, -3),
    **dict.fromkeys(["beta", "betaln", "beta_density", "hurwitz_zeta", "lower_gamma", "upper_gamma"], (2.5,)),
    "lower_beta": (),
}

_SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")
_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert", *_SHIFTS)


@dataclass(frozen=True, eq=False)
class Case:
    """One kernel with arguments: of the forward program, or (``recipe`` is not None) of rules."""

    name: str
    dtype: str
    keywords: dict[str, Any]
    args: tuple[Any, ...]
    recipe: Any = None
    goes: tuple[bool, ...] = ()
    variant: str = ""
    cache: dict[str, Any] = field(default_factory=dict)

    @property
    def primitive(self):
        return registry[self.name]

    @property
    def direction(self):
        return "forward" if self.recipe is None else "vjp"

    def __str__(self):
        words = "-".join(f"{k}={v}" for k, v in self.keywords.items() if self.primitive.keywords[k] != v)
        return "-".join(filter(None, (self.name, self.direction, self.dtype, words, self.variant)))

    def kernel(self):
        """The kernel, and of rules which results go where."""
        if "kernel" not in self.cache:
            if self.recipe is None:
                self.cache["kernel"] = codegen.Pulled(self._made(), (0,))
            else:
                self.cache["kernel"] = self._made()
        return self.cache["kernel"]

    def _made(self, by_value=False):
        try:
            if self.recipe is None:
                return codegen.forward_kernel(self.primitive, np.ndarray, self.args, self.keywords, by_value)
            return codegen.pull_kernel(self.recipe, self.goes, self.cotangent(), self.saved(), by_value=by_value)
        except codegen.NeedsValue:
            return self._made(by_value=True)

    def _value(self):
        """The forward program's result."""
        if "y" not in self.cache:
            self.cache["y"] = _narrow(_run(self.primitive, map(_wide, self.args), self.keywords), self.dtype)
        return self.cache["y"]

    def cotangent(self):
        y = self._value()
        g = np.linspace(-1.5, 2.0, max(y.size, 1)).reshape(y.shape)
        g = np.where(np.arange(max(y.size, 1)).reshape(y.shape) % 7 == 3, 0, g)
        return (g + 0.5j * g[::-1] if y.dtype.kind == "c" else g).astype(y.dtype)

    def saved(self):
        return self.recipe.save(self._value(), self.args, self.keywords)

    def arguments(self):
        """What the kernel's places refer to."""
        return self.args if self.recipe is None else (self.cotangent(), *self.saved())

    def expected(self):
        """The program's results, in the order of the kernel's."""
        if self.recipe is None:
            if self.name == "nan_to_num":  # the limits are those of the dtype itself
                return [_run(self.primitive, self.args, self.keywords)]
            return [self._value()]
        g, saved = _wide(self.cotangent()), tuple(map(_wide, self.saved()))
        with np.errstate(all="ignore"):
            pulled = {i: pull(CPU.xp, g, saved) for i, pull in self.recipe.pulls}
        found = {k: pulled[i] for i, k in enumerate(self.kernel().results) if k is not None and k >= 0}
        return [_narrow(np.broadcast_to(found[k], g.shape), self.dtype) for k in sorted(found)]


def _run(primitive, args, keywords):
    with np.errstate(all="ignore"):
        return np.asarray(dispatch.compute(primitive, list(args), keywords))


def _wide(value):
    half = isinstance(value, np.ndarray) and value.dtype == np.float16
    return value.astype(np.float32) if half else value


def _narrow(value, dtype):
    value = np.asarray(value)
    with np.errstate(all="ignore"):
        return value.astype(dtype) if dtype == "float16" and value.dtype == np.float32 else value


def points(name, dtype):
    """Arguments of a primitive: all combinations of the points where functions tend to be special."""
    count = len(registry[name].arrays)
    kind = np.dtype(dtype).kind
    if kind == "f":
        chosen = [REAL_POINTS if count < 3 else FEW_POINTS] * count
    elif kind == "c":
        chosen = [COMPLEX_POINTS] * count
    else:
        chosen = [(False, True) if kind == "b" else WHOLE_POINTS] * count
    if name in _SHIFTS:
        chosen[1] = (0, 1, 3, 5)
    if kind in "iu" and name == "pow":
        chosen = [(0, 1, 2, 3), (0, 1, 2, 3)]
    grids = [np.ravel(a).astype(dtype) for a in np.meshgrid(*map(np.asarray, chosen), indexing="ij")]
    if name == "where":
        grids[0] = grids[0] != 0
    return tuple(grids)


def takes(name, dtype):
    """Whether a primitive is defined on a dtype (integers that become floats do so before a kernel is called)."""
    kind, primitive = np.dtype(dtype).kind, registry[name]
    if name in _BITS:
        return kind in "iu" or (kind == "b" and name not in _SHIFTS)
    if kind == "c":
        return name in COMPLEX
    if kind in "iub":
        whole = primitive.dtype == "same" and name not in RULES_ONLY and not name.startswith("logical")
        booleans = name in ("equal", "not_equal", "where", "zeros_like", "ones_like") or name.startswith("logical")
        return (whole and kind != "b") or (kind == "b" and booleans)
    return not name.startswith("logical")


@functools.cache
def names():
    return sorted(name for name, p in registry.items() if p.kind is ELEMENTWISE)


def cases_of(name, dtypes=DTYPES, everything=NIGHTLY):
    """All kernels of a primitive; by day, of a long program, only those of arrays and of the first keywords."""
    primitive, made, all_ways = registry[name], [], everything or name not in LONG
    for dtype, keywords in itertools.product(dtypes, KEYWORDS.get(name, [{}])[: None if all_ways else 1]):
        if not takes(name, dtype) or (name, dtype) in LEFT_OUT:
            continue
        keywords, args = {**primitive.keywords, **keywords}, points(name, dtype)
        made += _both(name, dtype, keywords, args)
        if all_ways and len(args) > 1 and dtype == "float32" and name not in RULES_ONLY:
            for i, value in itertools.product(range(len(args)), NUMBERS.get(name, (2.5, 3))):
                if name != "where" or i:  # a Python number for an array
                    some = (*args[:i], value, *args[i + 1 :])
                    made += _both(name, dtype, keywords, some, f"number{i}={value}")
    return made


def _both(name, dtype, keywords, args, variant=""):
    primitive = registry[name]
    made = [Case(name, dtype, keywords, args, variant=variant)]
    wants = tuple(i for i in primitive.differentiable if isinstance(args[i], np.ndarray) and args[i].dtype.kind in "fc")
    if wants:
        recipe = primitive.recipe(wants)
        made.append(Case(name, dtype, keywords, args, recipe, tuple(i in wants for i in range(len(args))), variant))
    return made
