"""A plan as a C file with one function, and the Python function that calls it.

Arrays are given as a tuple, whose items C reads where CPython keeps them, and of these the addresses of the elements:
asking NumPy for addresses would take longer than many programs. It is checked once that they lie where they should.
"""

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lucidgrad.backends.cpu.compiled import blas, building, memory, threads
from lucidgrad.backends.cpu.compiled.library import LAYOUT_IS_KNOWN, OFFSET, address
from lucidgrad.backends.cpu.compiled.panels import PRODUCTS
from lucidgrad.core.source import run as define

from . import kernels
from .planning import Planner
from .steps import LANGUAGE

__all__ = ["bound", "is_possible"]

_FLAGS = OFFSET + 48  # behind data, number of axes, sizes, strides, base, dtype
_ITEMS, _FLOAT = tuple.__basicsize__, float.__basicsize__ - 8
#: Files are compiled at the same time.
STEPS_PER_FILE = 40
#: What an array must be: without gaps, aligned.
_PLAIN = 0x0101


@functools.cache
def is_possible() -> bool:
    """Whether there is a compiler, and objects are laid out as is known here."""
    if not LAYOUT_IS_KNOWN or building.why_not() is not None or threads.parallel() is None:
        return False
    array, number = np.zeros((3, 2)), 1.5
    flags = [ctypes.c_int.from_address(id(x) + _FLAGS).value & _PLAIN for x in (array, array[:, :1])]
    pair = (array, number)
    first = ctypes.c_size_t.from_address(id(pair) + _ITEMS).value
    return (
        flags == [_PLAIN, 0x0100]
        and first == id(array)
        and ctypes.c_double.from_address(id(number) + _FLOAT).value == number
    )


def source(planner: Planner, overlapping: Sequence[int]) -> dict[str, str]:
    """The C files of a plan; ``overlapping``: inputs that are written, and must not lie in others' memory."""
    head, files, calls = _head(planner), dict[str, str](), list[str]()
    for first in range(0, len(planner.steps), STEPS_PER_FILE):
        functions: dict[str, None] = {}
        bodies = []
        for k, step in enumerate(planner.steps[first : first + STEPS_PER_FILE], first):
            lines = step.body()
            functions.update(dict.fromkeys(step.helpers()))
            bodies += [f"void step{k}(void *task, long begin, long end)", "{", "frame *const f = task;", *lines, "}"]
            calls += step.call(f"step{k}") + ["if (f.wrong) return 3;"] * step.checks
        files[f"steps{first}.c"] = "\n".join([head, *functions, *bodies, ""])
    declared = "".join(f"void step{k}(void *, long, long);\n" for k in range(len(planner.steps)))
    main = f"{declared}{_main(planner, overlapping, calls)}"
    if len(files) == 1:
        return {"program.c": files["steps0.c"] + main}
    return {"program.c": head + main, **files}


def _head(planner: Planner) -> str:
    """What all files begin with: types, and the functions of loops."""
    inputs, outputs, numbers = (
        max(len(getattr(own, name)) for own in planner.all()) for name in ("arrays", "outputs", "numbers")
    )
    called = "".join(f"void (*{kernels.word(*key)})(const void *, long, long); " for key in _kernels(planner))
    return f"""#include "wide.h"
#include "parallel.h"
#include "stores.h"
#include <string.h>
{LANGUAGE.functions}
typedef struct {{
#define BLAS(T, s) \\
    void (*s##gemm)(int, int, int, long, long, long, T, const T *, long, const T *, long, T, T *, long); \\
    void (*s##gemv)(int, int, long, long, T, const T *, long, const T *, long, T, T *, long); \\
    T (*s##dot)(long, const T *, long, const T *, long);
    BLAS(float, s) BLAS(double, d)
}} blas_table;
typedef struct {{
    void (*alone)(int);
#define DIVIDED(T, s) \\
    void (*s)(void *, int, int, long, long, long, const T *, long, const T *, long, T, T *, long, int);
    DIVIDED(float, s) DIVIDED(double, d)
}} dividing_table;
typedef struct {{ {called or "int none;"} }} kernel_table;
typedef struct {{
    char *input[{inputs or 1}], *output[{outputs or 1}], *arena, **constants;
    double numbers[{numbers or 1}];
    blas_table blas;
    kernel_table kernels;
    dividing_table dividing;
    lg_parallel_for parallel;
    long wrong;
    int threads;
}} frame;
typedef struct {{
    lg_parallel_for parallel;
    char **constants;
    blas_table blas;
    dividing_table dividing;
    kernel_table kernels;
}} table;
static inline int lg_share(const frame *f, long elements)
{{
    const long most = elements / {threads.PER_THREAD};
    return f->threads < 2 || most < 2 ? 1 : most < f->threads ? (int)most : f->threads;
}}
#define PRODUCT(T, s) /* of matrices, by several threads if it is large */ \\
static inline void lg_##s##gemm(const frame *f, int turn_a, int turn_b, long m, long n, long k, const T *a, long lda, \\
                                const T *b, long ldb, T beta, T *c, long ldc) \\
{{ \\
    const int threads = f->dividing.s ? lg_share(f, m * n * k / {PRODUCTS}) : 1; \\
    if (threads < 2) \\
        f->blas.s##gemm(101, turn_a, turn_b, m, n, k, 1, a, lda, b, ldb, beta, c, ldc); \\
    else \\
        f->dividing.s(f->blas.s##gemm, turn_a, turn_b, m, n, k, a, lda, b, ldb, beta, c, ldc, threads); \\
}}
PRODUCT(float, s) PRODUCT(double, d)
#define DATA(o) (*(char **)((char *)(o) + {OFFSET}))
#define FLAGS(o) (*(int *)((char *)(o) + {_FLAGS}))
#define NUMBER(o) (*(double *)((char *)(o) + {_FLOAT}))
"""


def _main(planner: Planner, overlapping: Sequence[int], calls: Sequence[str]) -> str:
    """The function that is called: it takes addresses out of objects, and goes through the steps."""
    inputs, outputs = len(planner.arrays), len(planner.outputs)
    sizes = ", ".join(str(v.size * v.dtype.itemsize) for v in planner.arrays) or "0"
    written = ", ".join(map(str, overlapping)) or "0"
    products = int(_multiplies(planner))
    return f"""
static long steps(frame *p)
{{
#define f (*p)
    {chr(10).join(calls)}
#undef f
    return 0;
}}
EXPORT long lg_program(void *given, char *arena, const table *t, int threads)
{{
    void **a = (void **)((char *)given + {_ITEMS});
    frame f;
    f.arena = arena, f.constants = t->constants, f.parallel = t->parallel, f.threads = threads, f.wrong = 0;
    f.blas = t->blas, f.dividing = t->dividing, f.kernels = t->kernels;
    for (int i = 0; i < {inputs}; i++) {{
        if ((FLAGS(a[i]) & {_PLAIN}) != {_PLAIN}) return 1;
        f.input[i] = DATA(a[i]);
    }}
    for (int i = 0; i < {outputs}; i++) f.output[i] = DATA(a[{inputs} + i]);
    for (int i = 0; i < {len(planner.numbers)}; i++) f.numbers[i] = NUMBER(a[{inputs + outputs} + i]);
    static const long sizes[] = {{ {sizes} }}, written[] = {{ {written} }};
    for (int k = 0; k < {len(overlapping)}; k++)
        for (int i = 0; i < {inputs}; i++)
            if (i != written[k] && f.input[i] < f.input[written[k]] + sizes[written[k]]
                && f.input[written[k]] < f.input[i] + sizes[i]) return 2;
    const int alone = {products} && threads > 1 && t->dividing.alone;
    if (alone) t->dividing.alone(1);
    const long found = steps(&f);
    if (alone) t->dividing.alone(0);
    return found;
}}
"""


def _kernels(planner: Planner) -> list[tuple[str, str]]:
    steps = [part for own in planner.all() for step in own.steps for part in getattr(step, "steps", [step])]
    return sorted({key for step in steps for key in step.kernels})


def _multiplies(planner: Planner) -> bool:
    """Whether there are products of matrices."""
    return any(step.multiplies for own in planner.all() for step in own.steps)


def _table(planner: Planner) -> tuple[Any, list[Any]]:
    """The addresses that the function is given in every call, and what must stay alive for them."""
    constants = (ctypes.c_void_p * (len(planner.constants) or 1))(*map(address, planner.constants))
    found = blas.functions() or {}
    words = [threads.parallel(), ctypes.addressof(constants)]
    words += [found.get(f"{letter}{name}") for letter in "sd" for name in ("gemm", "gemv", "dot")]
    words += blas.dividing() if _multiplies(planner) else [None] * 3
    words += [kernels.address(*key) for key in _kernels(planner)]
    return (ctypes.c_void_p * len(words))(*words), [constants, planner.constants]


def bound(
    planner: Planner, into: Mapping[int, int], otherwise: Callable[[Sequence[Any]], list[Any]]
) -> Callable[[Sequence[Any]], list[Any]] | None:
    """The function that runs a plan; None if the compiler gave up. ``otherwise`` runs what C refuses."""
    written = sorted(set(into.values()))
    library = building.load("program", source(planner, written), ["-fwrapv"])
    if library is None:
        return None
    call = library.lg_program
    call.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    call.restype = ctypes.c_long
    table, alive = _table(planner)
    arenas: list[tuple[int, Any]] = []
    size = planner.arena

    def arena() -> tuple[int, Any]:
        made = np.empty(size + 64, np.uint8)
        return -(-address(made) // 64) * 64, made

    program = planner.program
    words = [f"v{k}" for k in range(len(program.inputs))]
    arrays = [w for w, v in zip(words, program.inputs, strict=True) if not v.is_number]
    numbers = [_number(w, v) for w, v in zip(words, program.inputs, strict=True) if v.is_number]
    fresh = planner.outputs
    scope = {
        "call": call, "arenas": arenas, "arena": arena, "table": ctypes.addressof(table), "alive": (table, alive),
        "threads": threads.get_num_threads, "empty": memory.empty, "small": np.empty, "slow": None,
    }  # fmt: skip
    lines = [f"{''.join(f'{w}, ' for w in words)} = values"] if words else []
    for k, (b, shape) in enumerate(fresh):
        scope[f"shape{k}"], scope[f"dtype{k}"] = shape, b.dtype
        lines.append(f"o{k} = {'empty' if b.bytes >= memory.LEAST else 'small'}(shape{k}, dtype{k})")
    own = iter(range(len(fresh)))
    results = [arrays[into[k]] if k in into else f"o{next(own)}" for k in range(len(program.outputs))]
    given = "".join(f"{w}, " for w in (*arrays, *(f"o{k}" for k in range(len(fresh))), *numbers))
    lines += [
        "try: a = arenas.pop()",
        "except IndexError: a = arena()",
        f"code = call(({given}), a[0], table, threads())",
        "arenas.append(a)",
        f"return slow(code, values) if code else [{', '.join(results)}]",
    ]
    made = define("def run(values):\n" + "\n".join(f"    {line}" for line in lines), scope, "program")["run"]
    place = [k for k, v in enumerate(program.inputs) if not v.is_number]

    def slow(code: int, values: Sequence[Any]) -> list[Any]:
        """Give C arrays as it wants them: without gaps, and none in the memory of one that is written."""
        if code == 3:
            return otherwise(values)
        plain = list(values)
        targets = {place[i] for i in into.values()}
        for k in place:
            if k in targets or (values[k].flags.num & _PLAIN) != _PLAIN:
                plain[k] = np.array(values[k], order="C", copy=True)
        done = made(plain)
        for k, i in into.items():
            np.copyto(values[place[i]], plain[place[i]])
            done[k] = values[place[i]]
        return done

    scope["slow"] = slow
    return made


def _number(word: str, variable: Any) -> str:
    """A number as a float, exactly."""
    return f"{word} if type({word}) is float else float({word})" if variable.dtype is not float else word
