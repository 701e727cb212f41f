"""Wrong calls: each public callable with one argument replaced by what it can't be, and what the error says."""

import contextlib
import dis
import inspect
import json
import re
import resource
import signal
import sys
import types
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from callables import NAMES, Call, parameters, restored, valid

from lucidgrad.backends import cudasim


def _endless() -> list[Any]:
    made: list[Any] = [1.0]
    made.append(made)
    return made


#: What is put in the place of an argument, made anew for each call.
WRONG: dict[str, Callable[[], Any]] = {
    # types
    "None": lambda: None,
    "a string": lambda: "abc",
    "an object": object,
    "an empty list": list,
    "a ragged list": lambda: [[1, 2], [3]],
    "a list of strings": lambda: ["a", None],
    "a list that contains itself": _endless,
    "a dict": dict,
    "a class": lambda: int,
    "a function": lambda: len,
    "bytes": lambda: b"\0",
    "a list": lambda: [0, 1],
    "a NumPy array of objects": lambda: np.array([None, "a"], dtype=object),
    "a NumPy array of text": lambda: np.array(["a", "b"]),
    # dtypes
    "integers": lambda: NAMES["I"](2, 3),
    "booleans": lambda: NAMES["B"](2, 3),
    "complex numbers": lambda: NAMES["C"](2, 3),
    "half precision": lambda: NAMES["X"](2, 3).half(),
    "64 bits": lambda: NAMES["X"](2, 3).double(),
    # shapes
    "a 0-d tensor": lambda: NAMES["X"](),
    "no elements": lambda: NAMES["X"](0),
    "no rows": lambda: NAMES["X"](0, 3),
    "one axis": lambda: NAMES["X"](7),
    "two axes": lambda: NAMES["X"](5, 7),
    "six axes": lambda: NAMES["X"](1, 2, 1, 3, 1, 2),
    "indices out of range": lambda: NAMES["I"](2, 3) + 99,
    "negative indices": lambda: NAMES["I"](2) - 99,
    # ranges
    "-1": lambda: -1,
    "0": lambda: 0,
    "-7": lambda: -7,
    "17": lambda: 17,
    "1.5": lambda: 1.5,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "1j": lambda: 1j,
    "2**40": lambda: 2**40,
    "2**62": lambda: 2**62,
    "2**100": lambda: 2**100,
    "True": lambda: True,
    "axes that repeat": lambda: (0, 0),
    "axes out of range": lambda: (0, 9),
    "huge sizes": lambda: (2**40, 2**40),
    "too many sizes": lambda: (1,) * 70,
    "negative sizes": lambda: (-2, -3),
}

#: Texts of NumPy and of Python itself, which say nothing of the call.
INSIDE = re.compile(
    r"""ufunc|setting\ an\ array\ element|could\ not\ be\ broadcast|cannot\ reshape|has\ no\ attribute
    |'NoneType'\ object|unsupported\ operand|not\ iterable|only\ integer\ scalar|only\ length-1|only\ 0-dimensional
    |not\ subscriptable|list\ index\ out|tuple\ index\ out|string\ index\ out|\brange\(\)|cannot\ unpack
    |not\ enough\ values|too\ many\ values|must\ be\ real\ number|object\ cannot\ be\ interpreted
    |cannot\ be\ interpreted\ as|not\ callable|inhomogeneous|object\ arrays|too\ large\ to\ convert|C\ long
    |array\ is\ too\ big|Unable\ to\ allocate|Maximum\ allowed|buffer\ is\ too\ small|unhashable
    |maximum\ recursion|negative\ dimensions|not\ supported\ between|can\ only\ concatenate|can't\ multiply
    |bad\ operand|doesn't\ match|argument\ must\ be|takes\ exactly|is\ not\ in\ list|division\ by\ zero|zip\(\)
    |(?<!\.)\b(?:max|min|sum)\(\)|invalid\ literal|could\ not\ convert|cannot\ convert|out-of-bound""",
    re.VERBOSE,
)

#: Classes that are never meant for users; others are if a ``raise`` of ours chose them.
UNCLEAR = (RecursionError, UnicodeError, NameError)


#: How often something is to be run: a large number takes its time, which is what was asked for.
TIMES = {("cuda.make_graphed_callables", "num_warmup_iters")}

ROOM = 40 << 30  # bytes that may be reserved, most of them by the emulated device; what is used is far less

#: Callables for which no call was found.
missing: list[str] = []


class Slow(BaseException):
    """A call took seconds."""


def is_internal(error: BaseException) -> str:
    """Why an error is one of the inside of the library, or an empty string.

    Clear errors are of usual classes, were raised by a statement of ours (not by Python, NumPy or C below it; a call
    that does not fit the signature is Python's own to refuse), and don't quote NumPy's or Python's texts.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    package = "" if last is None else last.tb_frame.f_globals.get("__name__", "lucidgrad").partition(".")[0]
    if package in ("__main__", "battery", "callables"):
        return ""
    if isinstance(error, UNCLEAR) or (isinstance(error, AssertionError) and not error.args):
        return f"class {type(error).__name__}"
    if isinstance(error, (OSError, BufferError)) or str(error).startswith("The truth value of an array"):
        return ""  # of files, of other libraries' memory, and of what is no flag
    found = INSIDE.search(str(error))
    if found:
        return f"text {found.group()!r}"
    if package != "lucidgrad":
        return f"raised in {package}"
    return "" if last is None or _raises(last) else f"not raised by us: {type(error).__name__}"


def _raises(step: types.TracebackType) -> bool:
    """Whether a step of a traceback stands at a ``raise``."""
    return dis.opname[step.tb_frame.f_code.co_code[step.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")


class Outcome(NamedTuple):
    """A wrong call and what came of it."""

    name: str
    parameter: str
    wrong: str
    why: str
    error: BaseException | None

    def __str__(self) -> str:
        return f"{self.name}({self.parameter} = {self.wrong}): {type(self.error).__name__}: {self.error} [{self.why}]"


def replaced(call: Call) -> Iterator[tuple[str, Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]]]:
    """The parameters of a callable, each with what makes the arguments of a call with another value there."""
    args, _ = call.arguments()
    found = parameters(call.function)
    places = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for i in range(len(args)):
        name = places[i] if i < len(places) else f"argument {i + 1}"

        def positional(value: Any, i: int = i) -> Any:
            args, keywords = call.arguments()
            return (*args[:i], value, *args[i + 1 :]), keywords

        yield name, positional
    for parameter in found:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY or (
            parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and parameter.name not in places[: len(args)]
        ):

            def named(value: Any, name: str = parameter.name) -> Any:
                args, keywords = call.arguments()
                return args, {**keywords, name: value}

            yield parameter.name, named


def attempts(select: Callable[[str], bool], most: int = 2) -> Iterator[Outcome]:
    """Run the wrong calls whose names are selected."""
    for call in valid(most):
        if not call.source:
            missing.append(call.name)
            continue
        for parameter, change in replaced(call):
            for wrong, make in WRONG.items():
                if select(f"{call.name}({call.source}) {parameter} {wrong}"):
                    yield attempt(call, parameter, wrong, change, make)


def attempt(call: Call, parameter: str, wrong: str, change: Any, make: Callable[[], Any]) -> Outcome:
    """Make one wrong call."""
    if call.name.startswith("Tensor.") and parameter == "self":
        return Outcome(call.name, parameter, wrong, "", None)  # Python's to refuse, as in str.join(3)
    args, keywords = change(make())
    try:
        with restored():
            signal.setitimer(signal.ITIMER_REAL, 5)
            try:
                call.function(*args, **keywords)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    except Slow as error:
        return Outcome(call.name, parameter, wrong, "" if (call.name, parameter) in TIMES else "slow", error)
    except Exception as error:
        return Outcome(call.name, parameter, wrong, is_internal(error), error)
    return Outcome(call.name, parameter, wrong, "", None)


def alarmed(*_: Any) -> None:
    """End a call that takes too long."""
    raise Slow("took five seconds")


def main(every: int, most: int) -> None:
    """Make one of so many wrong calls, in a process of their own: some change what holds for all, or take memory."""
    signal.signal(signal.SIGALRM, alarmed)
    if not cudasim.usable_gpus():
        with contextlib.suppress(cudasim.EmulatorError):
            cudasim.install(devices=2)
    with open("/proc/self/statm") as sizes:
        used = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
    tried, found = 0, []
    for outcome in attempts(lambda name: zlib.crc32(name.encode()) % every == 0, most):
        tried += 1
        found += [str(outcome)[:300]] if outcome.why else []
    print(json.dumps({"missing": missing, "tried": tried, "found": found}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
