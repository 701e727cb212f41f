"""The source of a launch: what each section does for one element, with the steps through memory written out.

Sections whose text is the same, steps of optimisers for tensors of any size above all, have it once. Addresses and
sizes travel by value, in a table among the kernel's arguments; a block works for one section. Numbers that a
program is given are read from memory, so that a graph that was recorded once serves all their values.
"""

from collections.abc import Iterable, Mapping, Sequence

from lucidgrad.backends.codegen import CUDA, identifier
from lucidgrad.backends.codegen.equations import collapsed
from lucidgrad.backends.cuda.compiling import THREADS
from lucidgrad.backends.cuda.generated import PREAMBLE
from lucidgrad.backends.cuda.tables import ELEMENTS, SEARCH
from lucidgrad.levels.program import Variable

from .grouping import Entry, Section

__all__ = ["Text", "element_of", "kernel_name", "source_of", "text_of"]

#: Letters of a kernel's name.
LONGEST_NAME = 60
#: Bytes of a table for each section and for each address.
PER_SECTION, PER_ADDRESS = 20, 8


class Text:
    """What a section does for element ``i``, and the arrays whose addresses it is given, in order."""

    def __init__(self, section: Section, lines: list[str], arrays: list[Variable], numbers: list[int]) -> None:
        self.lines, self.arrays, self.numbers = tuple(lines), arrays, numbers
        self.names = list(dict.fromkeys(entry.name for entry in section.entries))

    @property
    def room(self) -> int:
        """Bytes of the table that it takes."""
        return PER_SECTION + PER_ADDRESS * len(self.arrays)


def text_of(section: Section, steps: Mapping[Variable, Sequence[int]], numbers: Mapping[Variable, int]) -> Text:
    """The text of a section; ``steps`` has the steps of its arrays in elements, as its shape sees them."""
    reads = section.reads
    writes = [(v, v) for v in section.stored] + list(section.into.items())
    arrays = list(dict.fromkeys([*reads, *(target for _, target in writes)]))
    shape, moved = collapsed(section.shape, [steps[v] for v in arrays])
    index = {v: _index(shape, own) for v, own in zip(arrays, moved, strict=True)}
    place = {v: f"p[{k}]" for k, v in enumerate(arrays)}
    lines = [] if {"i", "0"}.issuperset(index.values()) else _coordinates(shape)
    names: dict[Variable, str] = {}
    for k, v in enumerate(reads):
        kept, names[v] = CUDA.stored(v.dtype), f"x{k}"
        lines.append(f"const {kept} x{k} = static_cast<const {kept} *>({place[v]})[{index[v]}];")
    used = _numbers(section, numbers)
    lines += _body(section, names, used)
    for v, target in writes:
        lines.append(f"static_cast<{CUDA.stored(v.dtype)} *>({place[target]})[{index[target]}] = {names[v]};")
    return Text(section, lines, arrays, sorted(used.values()))


def element_of(
    section: Section, shape: Sequence[int], steps: Sequence[Sequence[int]], numbers: Mapping[Variable, int]
) -> str:
    """A section that stores one variable as a function of an element of a shape: ``lg_element(p, numbers, i)``.

    ``steps`` has those of what it reads, in elements; the addresses are ``p``.
    """
    names, used = {v: f"x{k}" for k, v in enumerate(section.reads)}, _numbers(section, numbers)
    shape, moved = collapsed(shape, steps)
    places = [_index(shape, own) for own in moved]
    lines = [] if {"i", "0"}.issuperset(places) else _coordinates(shape)
    for k, (v, place) in enumerate(zip(section.reads, places, strict=True)):
        kept = CUDA.stored(v.dtype)
        lines.append(f"const {kept} x{k} = static_cast<const {kept} *>(p[{k}])[{place}];")
    lines += [f"const double n{k} = numbers[{k}];" for k in sorted(used.values())]
    lines += _body(section, names, used)
    (y,) = section.stored
    body = "\n    ".join([*lines, f"return {names[y]};"])
    head = f"__device__ inline {CUDA.stored(y.dtype)} lg_element(void *const *p, const double *numbers, long long i)"
    return f"{head} {{\n    {body}\n}}\n"


def _numbers(section: Section, numbers: Mapping[Variable, int]) -> dict[Variable, int]:
    """The numbers that a section asks for, by their places."""
    return {v: numbers[v] for e in section.entries for v in e.sources if type(v) is Variable and v.is_number}


def _body(section: Section, names: dict[Variable, str], used: Mapping[Variable, int]) -> list[str]:
    """The statements of all entries; what they make is known by names then."""
    names |= {v: f"n{k}" for v, k in used.items()}
    lines = []
    for k, entry in enumerate(section.entries):
        lines += _computed(f"v{k}", entry, names)
        names[entry.made] = f"v{k}"
    return lines


def _computed(name: str, entry: Entry, names: Mapping[Variable, str]) -> list[str]:
    """The statements that compute an entry; what it comes to is rounded as in memory."""
    kept = CUDA.stored(entry.made.dtype)
    if entry.expression is None:
        return [f"const {kept} {name} = {names[entry.sources[0]]};"]
    given = [_word(names[v], v) if type(v) is Variable else "" for v in entry.sources]
    text = [line.format(*given) for line in entry.expression.lines]
    made = entry.expression.result.format(*given)
    if kept != CUDA.type(entry.made.dtype):
        made = CUDA.convert(kept, made)
    return [f"{kept} {name};", "{", *text, f"{name} = {made};", "}"]


def _word(name: str, v: Variable) -> str:
    """A value as expressions compute with it: half precision as single."""
    computed = CUDA.type(v.dtype)
    return name if v.is_number or CUDA.stored(v.dtype) == computed else CUDA.convert(computed, name)


def _coordinates(shape: Sequence[int]) -> list[str]:
    """Where element ``i`` is along each axis but the only one."""
    size = 1
    for n in shape:
        size *= n
    kind = "unsigned int" if size < 2**31 else "long long"  # to divide takes less time
    lines, rest = [f"const {kind} rest = i;"], "rest"
    for a in range(len(shape) - 1, 0, -1):
        lines.append(f"const long long i{a} = {rest} % {shape[a]};")
        lines.append(f"const {kind} rest{a} = {rest} / {shape[a]};")
        rest = f"rest{a}"
    return [*lines, f"const long long i0 = {rest};"]


def _index(shape: Sequence[int], steps: Sequence[int]) -> str:
    """The place of an element in an array: that of ``i`` where elements follow one another."""
    own, step = [], 1
    for n in reversed(shape):
        own.append(step)
        step *= n
    if shape and list(steps) == own[::-1]:
        return "i"
    return " + ".join(f"i{a}" if s == 1 else f"i{a} * {s}" for a, s in enumerate(steps) if s) or "0"


def kernel_name(names: Iterable[str]) -> str:
    """What a kernel that computes these primitives is called."""
    return identifier("_".join(dict.fromkeys(names)))[:LONGEST_NAME]


def source_of(name: str, texts: Sequence[Text], sections: int, addresses: int) -> str:
    """The source of a kernel for sections of these texts; ``sections`` and ``addresses``: the size of its table."""
    used = sorted({k for text in texts for k in text.numbers})
    numbers = "".join(f"    const double n{k} = numbers[{k}];\n" for k in used)
    cases = []
    for k, text in enumerate(texts):
        body = "\n        ".join(text.lines)
        cases.append(f"""    {f"if (t.texts[mine] == {k}) " if len(texts) > 1 else ""}EACH(i) {{
        {body}
    }}
""")
    whole = "".join(line for text in texts for line in text.lines)
    headers = "#include <cupy/complex.cuh>\n" if "complex<" in whole else ""
    return f"""#include <cuda_fp16.h>
{headers}{PREAMBLE}{SEARCH}
typedef long long I;
struct Table {{
    void *addresses[{addresses}];
    I sizes[{sections}];
    int first[{sections + sections % 2}], begins[{sections}], texts[{sections}];
}};
#define EACH(i) for (I i = start + threadIdx.x; i < end; i += {THREADS})

extern "C" __global__ void __launch_bounds__({THREADS}, 1) {name}(Table t, const double *numbers) {{
    SEARCH(t.first[middle], {sections})
    void *const *const p = t.addresses + t.begins[mine];
    const I start = (I)((int)blockIdx.x - t.first[mine]) * {ELEMENTS};
    const I end = start + {ELEMENTS} < t.sizes[mine] ? start + {ELEMENTS} : t.sizes[mine];
{numbers}{"".join(cases)}}}
"""
