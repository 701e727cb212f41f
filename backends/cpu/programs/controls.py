"""Loops and choices in C: the steps of their programs are planned on their own, and no Python runs between them.

A program inside has a frame of its own, which says where its inputs and outputs are; going on to the next step of a
loop changes these addresses and nothing else. What is carried goes to and fro between two places, so that it ends in
that of the result.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lucidgrad.levels.program import Equation, Program, Variable
from lucidgrad.levels.structures import COND, SCAN, WHILE

from .copies import CHARS
from .places import Buffer, Place, whole
from .planning import Planner
from .steps import Step, pointer

__all__ = ["handler"]

Handler = Callable[[Planner, Equation], None]
Planned = Sequence[tuple[Equation, Handler]]
Parts = Callable[[Program, int], list[Any]]


def handler(equation: Equation, parts_of: Parts) -> Handler | None:
    """What plans a structure; None unless C does all that is inside."""
    found: dict[str, Planned] = {}
    for name, program in equation.keywords.items():
        if type(program) is Program:
            parts: list[Any] = parts_of(program, 0) if _fits(program) else [None]
            if len(parts) > 1 or (parts and not isinstance(parts[0], list)):
                return None
            found[name] = parts[0] if parts else []
    return functools.partial(_plan, found) if _fits(Program(equation.variables, [], equation.results, {})) else None


def _fits(program: Program) -> bool:
    """Whether all that goes in or comes out has elements, of a dtype that C has."""
    arrays = [v for v in (*program.inputs, *program.outputs) if v is not None and not v.is_number]
    numbers = any(v is not None and v.is_number for v in program.outputs)
    return not numbers and all(isinstance(v.dtype, np.dtype) and v.dtype.char in CHARS and v.size for v in arrays)


def _plan(found: Mapping[str, Planned], planner: Planner, equation: Equation) -> None:
    given = [planner.contiguous(planner.place(x)) for x in equation.variables if not x.is_number]
    numbers = [planner.numbers.index(x) for x in equation.variables if x.is_number]
    prefix = f"{planner.prefix}{len(planner.steps)}"
    programs = {}
    for name, part in found.items():
        programs[name] = _inside(planner, equation.keywords[name], part, f"{prefix}{name}_")
    made = [planner.result(v) for v in equation.results]
    planner.append(_KINDS[equation.primitive](planner, equation, programs, given, made, numbers, prefix))


def _inside(planner: Planner, program: Program, part: Planned, prefix: str) -> Planner:
    """The plan of a program inside another one."""
    own = Planner(program, planner.constants, prefix)
    for equation, plan in part:
        plan(own, equation)
    own.finish([v for v in program.outputs if v is not None], {})
    planner.inner.append(own)
    return own


class _Control(Step):
    """A loop or a choice; ``run`` is its text in C, in which ``in`` and ``out`` are addresses."""

    def __init__(
        self,
        planner: Planner,
        equation: Equation,
        programs: dict[str, Planner],
        given: list[Place],
        made: list[Place],
        numbers: list[int],
        prefix: str,
    ) -> None:
        self.equation, self.programs, self.given, self.made = equation, programs, given, made
        self.numbers, self.prefix = numbers, prefix
        self.checks = any(step.checks for own in programs.values() for step in own.steps)
        self.arena = planner.buffer(np.dtype("int8"), max(64, *(own.arena for own in programs.values())))
        self.scratch = self._scratch(planner)

    def _scratch(self, planner: Planner) -> list[Place]:
        """Places besides those of results."""
        return []

    def reads(self) -> Iterable[Buffer]:
        return [p.buffer for p in self.given]

    def writes(self) -> Iterable[Buffer]:
        return [*(p.buffer for p in (*self.made, *self.scratch)), self.arena]

    def body(self) -> list[str]:
        lists = {"in": self.given, "out": self.made, "other": self.scratch}
        lines = ["(void)begin, (void)end;"]
        for name, places in lists.items():
            words = ", ".join(f"(char *){pointer(p.buffer, p.offset)}" for p in places) or "0"
            lines.append(f"char *const {name}[] = {{ {words} }};")
        return [*lines, f"run{self.prefix}(f, in, out, other, (char *){pointer(self.arena)});"]

    def helpers(self) -> Iterable[str]:
        for own in self.programs.values():
            yield from _functions(own)
        numbers = [f"g.numbers[{k}] = outer->numbers[{i}];" for k, i in enumerate(self.numbers)]
        ends = ["outer->wrong = g.wrong;"] if self.checks else []
        yield "\n".join([
            f"static void run{self.prefix}("
            "frame *outer, char *const *in, char *const *out, char *const *other, char *arena)",
            "{", "frame g = *outer;", "g.arena = arena, g.wrong = 0;", "(void)in, (void)out, (void)other;",
            *numbers, *self.run(), *ends, "}",
        ])  # fmt: skip

    def run(self) -> list[str]:
        raise AssertionError  # every one has some

    def _call(self, name: str) -> list[str]:
        """Go through the steps of a program."""
        text = f"{self.programs[name].prefix}all(&g);"
        checks = any(step.checks for step in self.programs[name].steps)
        return [text, *(["if (g.wrong) { outer->wrong = g.wrong; return; }"] if checks else [])]


def _functions(own: Planner) -> Iterable[str]:
    """The steps of a program inside, and the function that goes through them."""
    calls: list[str] = []
    for k, step in enumerate(own.steps):
        name = f"{own.prefix}{k}"
        lines = step.body()
        yield from step.helpers()
        head = [f"static void {name}(void *task, long begin, long end)", "{", "frame *const f = task;", "(void)f;"]
        yield "\n".join([*head, *lines, "}"])
        calls += step.call(name) + ["if (f.wrong) return;"] * step.checks
    yield "\n".join(
        [f"static void {own.prefix}all(frame *p)", "{", "(void)p;", "#define f (*p)", *calls, "#undef f", "}"]
    )


class _Scan(_Control):
    def _scratch(self, planner: Planner) -> list[Place]:
        return _like(planner, self.made[: self.equation.keywords["carries"]])

    def run(self) -> list[str]:
        words = self.equation.keywords
        n, m, length = words["carries"], words["columns"], words["length"]
        body: Program = words["body"]
        lines = [f"g.input[{k}] = in[{k}];" for k in range(n + m, len(self.given))]
        lines.append(f"for (long s = 0; s < {length}; s++) {{")
        lines.append(f"const long i = {f'{length} - 1 - s' if words['reverse'] else 's'};")
        lines.append(f"const int odd = ({length} - s) % 2;  /* which place was written last, and comes next */")
        lines += [f"g.input[{k}] = !s ? in[{k}] : odd ? other[{k}] : out[{k}];" for k in range(n)]
        lines += [f"g.output[{k}] = odd ? out[{k}] : other[{k}];" for k in range(n)]
        lines += [f"g.input[{k}] = in[{k}] + i * {_bytes(body.inputs[k])};" for k in range(n, n + m)]
        lines += [f"g.output[{k}] = out[{k}] + i * {_bytes(v)};" for k, v in enumerate(body.outputs) if k >= n]
        return ["(void)other;", *lines, "(void)i;", *self._call("body"), "}"]


class _While(_Control):
    def _scratch(self, planner: Planner) -> list[Place]:
        truth = whole(planner.buffer(np.dtype(bool), 1), ())
        return [*_like(planner, self.made), truth]

    def run(self) -> list[str]:
        n, body = self.equation.keywords["carries"], self.equation.keywords["body"]
        lines = [f"g.input[{k}] = in[{k}];" for k in range(len(self.given))]
        lines += ["for (int odd = 0;; odd = !odd) {", f"g.output[0] = other[{n}];", *self._call("condition")]
        lines.append(f"if (!*(const unsigned char *)other[{n}]) break;")
        lines += [f"g.output[{k}] = odd ? out[{k}] : other[{k}];" for k in range(n)]
        lines += [*self._call("body"), *(f"g.input[{k}] = g.output[{k}];" for k in range(n)), "}"]
        return lines + [
            f"if (g.input[{k}] != out[{k}]) memcpy(out[{k}], g.input[{k}], {_bytes(body.inputs[k])});" for k in range(n)
        ]


class _Cond(_Control):
    def run(self) -> list[str]:
        lines = [f"g.input[{k - 1}] = in[{k}];" for k in range(1, len(self.given))]
        lines.append("if (*(const unsigned char *)in[0]) {")
        for name in ("true", "false"):
            made = [k for k, v in enumerate(self.equation.keywords[name].outputs) if v is not None]
            lines += [f"g.output[{at}] = out[{k}];" for at, k in enumerate(made)]
            lines += [*self._call(name), "} else {" if name == "true" else "}"]
        return lines


def _like(planner: Planner, places: Sequence[Place]) -> list[Place]:
    return [whole(planner.buffer(p.dtype, p.size), p.shape) for p in places]


def _bytes(variable: Variable) -> int:
    return int(variable.size * variable.dtype.itemsize)


_KINDS: dict[Any, type[_Control]] = {SCAN: _Scan, WHILE: _While, COND: _Cond}
