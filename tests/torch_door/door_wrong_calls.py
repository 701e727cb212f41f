"""Calls of the door's functions with one argument replaced by what it can't be; which of them end inside.

``python tests/torch_door/door_wrong_calls.py 40`` makes one of forty of them, in a process of their own.
"""

import inspect
import json
import resource
import signal
import sys
import zlib
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS), str(TESTS / "calls")]

import battery  # noqa: E402
import callables  # noqa: E402
import door_battery  # noqa: E402
import door_calls  # noqa: E402
import numpy as np  # noqa: E402

import lucidgrad.torch as door  # noqa: E402

ROOM = 8 << 30  # bytes that may be reserved


class Call:
    """A call that works, whose arguments are made anew."""

    def __init__(self, name, function, source):
        self.name, self.function, self.source = name, function, source

    def arguments(self):
        """All arguments by name."""
        given = {n: door.asarray(np.array(door_calls.GIVEN[n])) for n in door_battery.names_in(self.source)}
        scope = {"pack": callables._pack, "torch": door, "float": float, "bytearray": bytearray, **given}
        args, keywords = eval(f"pack{self.source[self.source.index('(') :]}", scope)
        bound = inspect.signature(self.function).bind_partial(*args) if args else None
        return {**(bound.arguments if bound else {}), **keywords}


def main(every):
    """Make one of so many wrong calls."""
    signal.signal(signal.SIGALRM, battery.alarmed)
    with open("/proc/self/statm") as sizes:
        used = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
    tried, found = 0, []
    for name, (function, source) in door_calls.first_calls().items():
        call = Call(name, function, source)
        parameters = inspect.signature(function).parameters.values()
        for parameter in (p.name for p in parameters if p.kind is not p.VAR_POSITIONAL):
            for wrong, make in battery.WRONG.items():
                if zlib.crc32(f"{name} {parameter} {wrong}".encode()) % every == 0:
                    change = lambda value, n=parameter, call=call: ((), {**call.arguments(), n: value})
                    outcome = battery.attempt(call, parameter, wrong, change, make)
                    tried += 1
                    found += [str(outcome)[:300]] if outcome.why else []
    print(json.dumps({"tried": tried, "found": found}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
