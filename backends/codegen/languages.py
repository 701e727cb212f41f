"""How the two languages that kernels are written in spell types, casts, constants and functions.

CUDA's C++ has templates, overloaded functions and complex numbers. Plain C, for loops on the CPU, has floats only.
"""

import functools
import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from .c_functions import COMMON, CUDA_ONLY, LOOPS_ONLY, Helper
from .expression import Node, Untraceable
from .functions import FUNCTIONS

__all__ = ["CUDA", "PLAIN_C", "Language", "identifier"]

_REAL = {"float16": "float", "float32": "float", "float64": "double", "complex64": "float", "complex128": "double"}
_TYPES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
    **_REAL, "complex64": "complex<float>", "complex128": "complex<double>",
}  # fmt: skip
_STORED = {"float16": "__half", "bfloat16": "__nv_bfloat16"}
_CALL = re.compile(r"\b([a-z]\w*)\(")
_WEAK = {int: "long long", float: "double", complex: "complex<double>", bool: "bool"}


def _kind(dtype: Any) -> str:
    return {int: "i", float: "f"}[dtype] if isinstance(dtype, type) else dtype.kind


def identifier(name: str) -> str:
    """The name of a kernel in C: no word of the language's, and no function's."""
    return "lg_" + re.sub(r"\W", "_", name, flags=re.ASCII)


class Language:
    """CUDA's C++."""

    #: What kernels call infinity and NaN.
    constants = """#define LG_INFINITY __longlong_as_double(0x7ff0000000000000LL)
#define LG_NAN __longlong_as_double(0x7ff8000000000000LL)
"""
    #: Whether results of integers alone are computed, whose dtype may be the default one.
    integers = True

    @functools.cached_property
    def functions(self) -> str:
        """What goes before kernels: the constants and functions that they name."""
        helpers = [line for name, helper in COMMON.items() for line in self._printed(name, helper)]
        return f"{self.constants}{''.join(helpers)}{CUDA_ONLY}"

    def _printed(self, name: str, helper: Helper) -> Iterable[str]:
        """A function for all types; where integers have a body of their own, that is for all but the two floats."""
        parameters = ", ".join(f"T {word}" for word in helper.parameters)
        whole = f"__device__ inline T {name}({parameters}) {{ {helper.body} }}\n"
        if helper.integers is None:
            return [f"template <typename T> {whole}"]
        floats = [re.sub(r"\bT\b", real, whole) for real in ("float", "double")]
        return [*floats, f"template <typename T> {whole.replace(helper.body, helper.integers)}"]

    def check(self, dtypes: set[Any]) -> None:
        """Raise `Untraceable` if kernels don't take arrays of these dtypes together."""

    def stored(self, dtype: Any) -> str:
        """The type in which memory holds a dtype."""
        return _STORED.get(np.dtype(dtype).name) or self.type(dtype)

    def type(self, dtype: Any) -> str:
        """The type that a dtype is computed in."""
        if isinstance(dtype, type):
            return _WEAK[dtype]
        found = _TYPES.get(np.dtype(dtype).name)
        if found is None:  # bfloat16, whose arrays have kernels of their own
            raise Untraceable(f"arrays of {dtype}")
        return found

    def convert(self, target: str, word: str) -> str:
        """A real value as one of another type."""
        return f"static_cast<{target}>({word})"

    def spell(self, node: Node, args: list[str]) -> str:
        """The expression of an operation."""
        if node.op == "cast":
            return self._cast(args[0], node.args[0].dtype, node.dtype)
        if node.op == "where":
            return f"{args[0]} ? {args[1]} : {args[2]}"
        if node.op in ("real", "imag"):
            return f"{args[0]}.{node.op}()"
        first = node.args[0].dtype
        kind = _kind(first)
        real = "double" if first is float else _REAL.get(getattr(first, "name", ""), "")
        text = self.function(node.op, kind, real).format(*args, T=real, C=f"complex<{real}>")
        return self.convert(self.type(node.dtype), text) if kind in "iu" else text

    def function(self, op: str, kind: str, real: str) -> str:
        """The pattern of a function of arguments of a kind."""
        text = FUNCTIONS[op].spelling(kind)
        assert text is not None  # or the node would not have been made
        return text

    def _cast(self, word: str, old: Any, new: Any) -> str:
        source = self.type(old)
        if not isinstance(new, type) and new.kind == "b":
            return f"({word} != {source}(0))" if "complex" in source else f"({word} != 0)"
        target = self.type(new)
        if target == source:
            return word
        if target.startswith("complex") and not source.startswith("complex"):
            return f"{target}(static_cast<{target[8:-1]}>({word}))"
        return f"{target}({word})" if target.startswith("complex") else self.convert(target, word)

    def constant(self, value: Any, dtype: Any) -> str:
        """A number that is written out."""
        target = self.type(dtype)
        if target.startswith("complex"):
            value = complex(value)
            part = target[8:-1]
            return f"{target}({self._real(value.real, part)}, {self._real(value.imag, part)})"
        if target == "bool":
            return "true" if value else "false"
        if target in ("float", "double"):
            try:
                return self._real(float(value), target)
            except OverflowError as error:
                raise Untraceable("an integer that no float holds") from error
        return self.convert(target, f"{int(value)}{'ull' if int(value) >= 2**63 else 'll'}")

    def _real(self, value: float, target: str) -> str:
        """The double that Python has, rounded by a cast, as NumPy does it."""
        if math.isnan(value):
            return self.convert(target, "LG_NAN")
        if math.isinf(value):
            return self.convert(target, f"{'-' if value < 0 else ''}LG_INFINITY")
        text = f"{value!r}"
        return text if target == "double" else self.convert(target, text)


class PlainC(Language):
    """C for loops over floats and truth values: functions that a compiler can turn into SIMD instructions."""

    constants = '#include "vector_math.h"\n#include "exponential.h"\n#include "normal.h"\n'
    integers = False
    floats = frozenset(map(np.dtype, ("float32", "float64")))

    _TAKEN = floats | {np.dtype("bool")}
    _OWN = frozenset({"fabs", "floor", "ceil", "trunc", "rint", "sqrt", "copysign", "nextafter", "fmod"})
    _OWN |= {"tgamma", "lgamma"}  # the compiler knows how they are declared
    _THERE = frozenset({"lg_normal_densityf", "lg_normal_sharef"})  # in headers, as these functions of float32 are:
    _OURS = frozenset({"erfc", "exp", "tanh"})
    _OTHER = {  # noqa: RUF012
        "reciprocal": "(({T})1 / {0})",
        "isfinite": "({0} - {0} == 0)",
        "isinf": "({0} - {0} != 0 && {0} == {0})",
        "signbit": "(__builtin_signbit({0}) != 0)",
    }

    @functools.cached_property
    def functions(self) -> str:
        helpers = [line for name, helper in (COMMON | LOOPS_ONLY).items() for line in self._printed(name, helper)]
        return f"{self.constants}typedef _Bool bool;\n#define true 1\n#define false 0\n{''.join(helpers)}"

    def _printed(self, name: str, helper: Helper) -> Iterable[str]:
        parameters = ", ".join(f"T {word}" for word in helper.parameters)
        for real in ("float", "double"):
            if self._name(name, real) in self._THERE:
                continue
            body = _CALL.sub(lambda call, real=real: f"{self._name(call[1], real)}(", helper.body)  # type: ignore[misc]
            whole = f"static inline T {self._name(name, real)}({parameters}) {{ {body} }}\n"
            yield re.sub(r"\bT\b", real, whole)

    def _name(self, function: str, real: str) -> str:
        """What a function of one kind of floats is called."""
        if function == "isinf":  # it is for both
            return "__builtin_isinf"
        if function in self._OURS and real == "float":
            return f"lg_{function}f"
        return f"{'__builtin_' if function in self._OWN else ''}{function}{'f' if real == 'float' else ''}"

    def stored(self, dtype: Any) -> str:
        """The type of elements in memory; compilers vectorise no loop that reads or writes ``bool``."""
        return "unsigned char" if dtype == np.dtype("bool") else self.type(dtype)

    def check(self, dtypes: set[Any]) -> None:
        if not dtypes & self.floats or not dtypes <= self._TAKEN:
            raise Untraceable("dtypes that loops don't take")

    def type(self, dtype: Any) -> str:
        target = super().type(dtype)
        if dtype is complex or (not isinstance(dtype, type) and np.dtype(dtype) not in self._TAKEN):
            raise Untraceable(f"{target} in a loop of floats")
        return target

    def convert(self, target: str, word: str) -> str:
        return f"({target})({word})"

    def function(self, op: str, kind: str, real: str) -> str:
        text = super().function(op, kind, real)
        if kind != "f":
            if kind not in "bi" or re.match(r"\w+\(", text):
                raise Untraceable(f"{op} of something else than floats")
            return text
        if op in self._OTHER:
            return self._OTHER[op]
        call = _CALL.match(text)
        if call is None:
            return text
        return f"{self._name('lg_hypot' if op == 'hypot' else call[1], real)}{text[call.end() - 1 :]}"


CUDA = Language()
PLAIN_C = PlainC()
