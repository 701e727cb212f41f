"""Kernels as loops in C, for arrays in host memory: SIMD inside, threads outside.

A loop's innermost axis has stride one or zero in every array. Arrays come as Python objects, of which the loop reads
the address of the data: asking an array for that in Python takes longer than a call.
"""

from collections.abc import Sequence

from .kernels import Kernel
from .languages import PLAIN_C

__all__ = ["BLOCK", "LEAP", "loop_source"]

#: Elements of a loop without outer axes that are computed together: where a block ends does not depend on threads.
BLOCK = 4096
#: Elements that a thread takes at a time, about.
PORTION = 32768
#: Elements that are computed at a time: before them memory is asked for what comes later, after them a large result is
#: stored past the caches.
LEAP = 64
#: Lines of a kernel above which its loop is compiled once, for any count. Shorter ones are faster with a loop for whole
#: leaps and one for the rest: unrolled, vectors go side by side; long ones have no registers for that.
LONG = 64


def loop_source(loops: Sequence[tuple[str, Kernel, Sequence[bool]]], offset: int) -> str:
    """A C file of kernels, each with a name, and of each array whether the innermost axis moves it.

    ``offset`` is where an array object keeps the address of its data. A kernel has two functions: ``<name>_flat`` for
    arrays without gaps, ``(parallel, threads, n, results, arrays, numbers)``, and ``<name>_rows`` with two outer axes,
    ``(parallel, threads, outer, middle, n, results, arrays and their two strides, numbers)``; ``parallel`` shares loops
    among threads.
    """
    head = [
        '#include "wide.h"\n#include "parallel.h"\n#include "stores.h"',
        PLAIN_C.functions,
        f"#define DATA(o) (*(void **)((char *)(o) + {offset}))",
    ]
    return "\n".join([*head, *(line for loop in loops for line in _functions(*loop))]) + "\n"


def _functions(name: str, kernel: Kernel, varies: Sequence[bool]) -> list[str]:
    types = [PLAIN_C.type(dtype) for dtype, _ in kernel.arrays]
    made = [PLAIN_C.type(dtype) for dtype, _ in kernel.results]
    numbers = [(PLAIN_C.type(dtype), word) for dtype, word in kernel.numbers]
    read, written = ([PLAIN_C.stored(dtype) for dtype, _ in some] for some in (kernel.arrays, kernel.results))
    inputs, outputs = range(len(types)), range(len(made))
    words = [word for _, word in kernel.arrays]
    tail = "".join(f", const {kind} {word}" for kind, word in numbers)

    pointers = "".join(f", {t} *restrict y{k}" for k, t in enumerate(written))
    pointers += "".join(f", const {t} *restrict x{k}" for k, t in enumerate(read))
    part = [f"static inline __attribute__((always_inline)) void {name}_some(const long n{pointers}{tail}) {{"]
    part += [f"    const {types[k]} {words[k]} = *x{k};" for k in inputs if not varies[k]]
    part += ["    #pragma omp simd", "    for (long i = 0; i < n; i++) {"]
    part += [f"        const {types[k]} {words[k]} = x{k}[i];" for k in inputs if varies[k]]
    part += [f"        {t} r{k};" for k, t in enumerate(made)]
    part += [f"        {line}" for line in kernel.lines]
    part += [f"        y{k}[i] = r{k};" for k in outputs]
    part += ["    }", "}"]
    sources = "".join(f", x{k} + at" if varies[k] else f", x{k}" for k in inputs)
    sources += "".join(f", {word}" for _, word in numbers)
    places = "".join(f", y{k} + at" for k in outputs) + sources
    long = len(kernel.lines) > LONG
    part += [f"static __attribute__((noinline)) void {name}_part(const long n{pointers}{tail}) {{", "    long at = 0;"]
    part += [f"    for (; at < n; at += {LEAP}) {{" if long else f"    for (; at + {LEAP} <= n; at += {LEAP}) {{"]
    part += [f"        lg_early(x{k} + at, {LEAP} * sizeof *x{k}, 0);" for k in inputs if varies[k]]
    part += [f"        lg_early(y{k} + at, {LEAP} * sizeof *y{k}, 1);" for k in outputs]
    some = f"n - at < {LEAP} ? n - at : {LEAP}"
    part += [f"        {name}_some({some if long else LEAP}{places});", "    }"]
    part += [*([] if long else [f"    {name}_some(n - at{places});"]), "}"]

    near = "".join(f", b{k}" for k in outputs) + sources
    part += [f"static __attribute__((noinline)) void {name}_past(const long n{pointers}{tail}) {{"]
    part += [f"    {t} b{k}[{LEAP}] __attribute__((aligned(64)));" for k, t in enumerate(written)]
    part += [f"    for (long at = 0; at < n; at += {LEAP}) {{", f"        const long some = {some};"]
    part += [f"        {name}_part(some{near});"]
    part += [f"        lg_stream(y{k} + at, b{k}, some * sizeof *b{k});" for k in outputs]
    part += ["    }", "}"]

    fields = [*(f"{t} *y{k};" for k, t in enumerate(written)), *(f"const {t} *x{k};" for k, t in enumerate(read))]
    fields += [*(f"long far{k}, near{k};" for k in inputs), *(f"{kind} {word};" for kind, word in numbers)]
    task = [f"typedef struct {{ long n, middle; void (*part)(long{pointers}{tail}); {' '.join(fields)} }} {name}_task;"]
    numbers_of = "".join(f", t->{word}" for _, word in numbers)
    fill = [f"    {name}_task t;", "    t.n = n;"]
    fill += [f"    t.y{k} = DATA(o{k});" for k in outputs] + [f"    t.x{k} = DATA(p{k});" for k in inputs]
    fill += [f"    t.{word} = {word};" for _, word in numbers]
    given = "lg_parallel_for parallel, int threads"
    results = "".join(f", void *o{k}" for k in outputs)
    seen = f"    if (t->part == {name}_past) STREAMED_ALL();"

    places = "".join(f", t->y{k} + at" for k in outputs)
    places += "".join(f", t->x{k} + at" if varies[k] else f", t->x{k}" for k in inputs)
    flat = [f"static void {name}_blocks(void *task, long begin, long end) {{", f"    const {name}_task *t = task;"]
    flat += [f"    for (long at = begin * {BLOCK}; at < end * {BLOCK} && at < t->n; at += {BLOCK})"]
    flat += [f"        t->part(t->n - at < {BLOCK} ? t->n - at : {BLOCK}{places}{numbers_of});", seen, "}"]
    flat += [f"EXPORT void {name}_flat({given}, long n{results}{''.join(f', void *p{k}' for k in inputs)}{tail}) {{"]
    flat += [*fill, f"    t.part = n * sizeof *t.y0 >= STREAMED ? {name}_past : {name}_part;"]
    flat += [f"    parallel({name}_blocks, &t, (n + {BLOCK - 1}) / {BLOCK}, {PORTION // BLOCK}, threads);", "}"]

    places = "".join(f", t->y{k} + row * t->n" for k in outputs)
    places += "".join(f", t->x{k} + i * t->far{k} + j * t->near{k}" for k in inputs)
    rows = [f"static void {name}_lines(void *task, long begin, long end) {{", f"    const {name}_task *t = task;"]
    rows += ["    for (long row = begin; row < end; row++) {"]
    rows += ["        const long i = row / t->middle, j = row % t->middle;"]
    rows += [f"        t->part(t->n{places}{numbers_of});", "    }", seen, "}"]
    strided = "".join(f", void *p{k}, long far{k}, long near{k}" for k in inputs)
    rows += [f"EXPORT void {name}_rows({given}, long outer, long middle, long n{results}{strided}{tail}) {{", *fill]
    rows += ["    t.middle = middle;", *(f"    t.far{k} = far{k};\n    t.near{k} = near{k};" for k in inputs)]
    rows += [f"    const long portion = {PORTION} / n + 1;"]
    rows += ["    const int large = outer * middle * n * sizeof *t.y0 >= STREAMED && n * sizeof *t.y0 % 64 == 0;"]
    rows += [f"    t.part = large ? {name}_past : {name}_part;"]
    rows += [f"    parallel({name}_lines, &t, outer * middle, portion, threads);", "}"]
    return [*part, *task, *flat, *rows]
