"""Questions to a peer and its answers, in the order of one test: written beside the peer, read without it."""

import builtins
import collections
import functools
import inspect
import types
from typing import Any

import numpy as np
import pytest
from thoroughness import NIGHTLY

from golden import standins, stores

#: Functions of a test that a peer may call back.
FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)

#: What PyTorch says where its kernels lack one for a processor: products in bfloat16 on some that have units for them.
UNABLE = ("could not create a primitive",)


class Tape:
    """The questions of one test. Its entries grow while it is recorded; for a replay they are given, if there are any.

    An entry is ``[question, answer]``; before it come the calls that the peer made meanwhile to functions of the test,
    ``["<", number of the function, arguments, keywords]``, what those asked, and ``[">", whether they raised]``.
    """

    def __init__(self, test: str, entries: list | None, recording: bool, pools: Any = None):
        self.test, self.entries, self.recording, self.pools = test, entries, recording, pools
        self.place = 0  # of the next entry
        self.things: list = []  # stand-ins, by number
        self.numbers: dict[int, int] = {}  # by id of the peer's object
        self.functions: list = []  # of the test
        self.peer_runs = False  # methods of derived classes then meet no stand-ins
        self.raised: BaseException | None = None  # by a function of the test

    def take(self, asked: str) -> list:
        """The next entry."""
        if self.entries is None:
            if NIGHTLY:
                pytest.skip("the cases of a nightly run are not recorded: they need PyTorch itself")
            pytest.fail(f"nothing is recorded of {self.test}: {stores.COMMAND}", pytrace=False)
        if self.place == len(self.entries):
            self.differ("the end", asked)
        self.place += 1
        return self.entries[self.place - 1]

    def differ(self, recorded: str, asked: str) -> None:
        """Say that the test was changed since it was recorded."""
        if NIGHTLY:
            pytest.skip("the cases of a nightly run are not recorded: they need PyTorch itself")
        pytest.fail(f"recorded was {recorded!r}, the test asks {asked!r}: {stores.COMMAND}", pytrace=False)


#: Of the running test. None while none runs, and while fixtures of whole modules are made or any is torn down: what
#: happens then depends on which tests run, so it is passed on to a peer, and otherwise nothing.
current: Tape | None = None


def asked(thing: Any, what: str, function: Any, args: tuple = (), keywords: Any = None, otherwise: Any = None) -> Any:
    """The answer to a question: ``function`` of the peer's object and of arguments; `otherwise` if it was not asked."""
    tape, peer, keywords = current, thing._peer, keywords or {}
    if peer.real is not None and (tape is None or tape.peer_runs):
        found = function(thing._real, *theirs(None, peer, args), **theirs(None, peer, keywords))
        return standins.Thing(peer, None, found) if tape is None else found
    if tape is None:
        return standins.Thing(peer, None)
    question = _question(thing, what, args, keywords)
    if tape.recording:
        args, keywords = theirs(tape, peer, args), theirs(tape, peer, keywords)
        return _recorded(tape, thing, question, function, args, keywords, live=what[0] == ".")
    if otherwise is not None and [e[0] for e in (tape.entries or [])[tape.place : tape.place + 1]] != [question]:
        return otherwise
    theirs(tape, peer, (args, keywords))  # for the numbers of functions
    return _replayed(tape, peer, question)


def _recorded(tape, thing, question, function, args, keywords, live):
    try:
        tape.peer_runs = True
        found = function(thing._real, *args, **keywords)
    except Exception as error:
        if str(error) in UNABLE:
            pytest.skip(f"PyTorch can't compute this on this processor: {error}")
        kinds = [kind.__name__ for kind in type(error).__mro__]
        name = kinds[0] if error is tape.raised else next(name for name in kinds if hasattr(builtins, name))
        message = str(error).partition("\nException raised from ")[0]  # what follows is another one in each process
        tape.entries.append([question, ["!", name, message]])
        raise
    finally:
        tape.peer_runs = False
    answer, found = noted(tape, thing._peer, found, live)
    tape.entries.append([question, answer])
    return found


def _replayed(tape, peer, question):
    while True:
        head, *rest = tape.take(question)
        if head == "<":
            _call_back(tape, peer, *rest)
        elif head != question:
            tape.differ(head, question)
        elif isinstance(rest[0], list) and rest[0][0] == "!":
            raise _error(tape, *rest[0][1:])
        else:
            return told(tape, peer, rest[0])


def _call_back(tape, peer, number, args, keywords):
    raised = False
    try:
        tape.functions[number](*(told(tape, peer, a) for a in args), **{k: told(tape, peer, v) for k, v in keywords})
    except Exception as error:
        tape.raised, raised = error, True
    head, *rest = tape.take("the end of a call")
    if head != ">" and not raised:
        tape.differ(head, "the end of a call")
    if raised and rest != [True]:
        raise tape.raised


def _error(tape, name, message):
    if tape.raised is not None and type(tape.raised).__name__ == name:
        return tape.raised
    kind = getattr(builtins, name)
    return kind(message.strip("'")) if kind is KeyError else kind(message)


def derived(peer: Any, name: str, build: Any) -> Any:
    """A class of the test, derived from one of the peer's."""
    tape = current
    if tape is None or (tape.recording and tape.peer_runs):
        made = build() if peer.real is not None else None
        return standins.Thing(peer, None, made) if tape is None else made
    if tape.recording:
        answer, found = noted(tape, peer, build(), False)
        tape.entries.append([f"class {name}", answer])
        return found
    return _replayed(tape, peer, f"class {name}")


# -- arguments -----------------------------------------------------------------------------------------
def theirs(tape: Tape | None, peer: Any, value: Any) -> Any:
    """Arguments as the peer wants them: its own objects, and functions that note when they are called."""
    if isinstance(value, standins.StandIn):
        return value._real
    if isinstance(value, (standins.List, standins.Dict)) and value.home._real is not None:
        return value.home._real
    if type(value) in (tuple, list):
        return type(value)(theirs(tape, peer, part) for part in value)
    if type(value) in (dict, standins.Dict):
        return {theirs(tape, peer, k): theirs(tape, peer, v) for k, v in value.items()}
    if type(value) is slice:
        return slice(*(theirs(tape, peer, part) for part in (value.start, value.stop, value.step)))
    if isinstance(value, FUNCTIONS):
        return _function(tape, peer, value)
    return value


def _function(tape, peer, function):
    if tape is None:
        return functools.wraps(function)(lambda *a, **k: theirs(None, peer, function(*a, **k)))
    number = len(tape.functions)
    tape.functions.append(function)

    @functools.wraps(function)
    def called(*args, **keywords):
        if current is not tape or not tape.peer_runs:
            return theirs(None, peer, function(*args, **keywords))
        noted_args = [noted(tape, peer, a, False) for a in args]
        noted_more = {k: noted(tape, peer, v, False) for k, v in keywords.items()}
        more = [[k, code] for k, (code, _) in noted_more.items()]
        tape.entries.append(["<", number, [code for code, _ in noted_args], more])
        tape.peer_runs, raised = False, True
        try:
            found = function(*(a for _, a in noted_args), **{k: v for k, (_, v) in noted_more.items()})
            raised = False
            return theirs(None, peer, found)
        except Exception as error:
            tape.raised = error
            raise
        finally:
            tape.peer_runs = True
            tape.entries.append([">", True] if raised else [">"])

    return called


def _question(thing, what, args, keywords):
    """Words for a question: by them a changed test is recognised. Numbers of arrays are not among them."""
    if what == "()":
        what = ""
    subject = f"{thing._name} {what}".strip() if isinstance(thing, standins.Named) else what
    given = [_words(a) for a in args] + [f"{k}={_words(v)}" for k, v in keywords.items()]
    return f"{subject}({', '.join(given)})" if given or not what else subject


def _words(value):
    if isinstance(value, standins.Named):
        return value._name
    if value is None or isinstance(value, (bool, int, str, type(...))):
        return repr(value)[:60]
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype.char}{list(value.shape)}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_words, value[:12]))}]{len(value) if len(value) > 12 else ''}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_words(k)}: {_words(v)}' for k, v in value.items())}}}"
    return "·"


# -- answers -------------------------------------------------------------------------------------------
def noted(tape: Tape, peer: Any, value: Any, live: bool) -> tuple[Any, Any]:
    """What a tape says of an answer, and what the test is given. `live`: writes into containers reach the peer."""
    if value is None or type(value) in (bool, int, float, str):
        return value, value
    if value is inspect.Parameter.empty:
        return ["e"], value
    if type(value) is complex:
        return ["c", value.real, value.imag], value
    if isinstance(value, np.ndarray):
        return ["a", value.copy()], value
    if isinstance(value, np.generic):
        return ["g", np.asarray(value)], value
    if type(value).__name__ in ("dtype", "layout", "memory_format") and str(value).startswith(f"{peer.name}."):
        return ["p", str(value)], standins.path(peer, str(value))
    if type(value) is tuple or type(value).__bases__ == (tuple,):  # others are more than their parts
        parts = [noted(tape, peer, part, live) for part in value]
        names = getattr(type(value), "__match_args__", ())
        code = ["n", list(names)] if names else ["t"]
        return [*code, *(c for c, _ in parts)], _tuple(names, [part for _, part in parts])
    if isinstance(value, (list, dict)):
        return _noted_container(tape, peer, value, live)
    if isinstance(value, (set, frozenset)) and all(isinstance(v, (int, str)) for v in value):
        return ["s", *sorted(value)], set(value)
    if id(value) in tape.numbers:
        number = tape.numbers[id(value)]
        return ["=", number], tape.things[number]
    return ["o"], _thing(tape, peer, value)


def _thing(tape, peer, value=None):
    made = standins.Thing(peer, len(tape.things), value)
    if value is not None:
        tape.numbers[id(value)] = len(tape.things)
    tape.things.append(made)
    return made


def _noted_container(tape, peer, value, live):
    if isinstance(value, list):
        parts = [noted(tape, peer, part, live) for part in value]
        code, found = ["l", *(c for c, _ in parts)], [part for _, part in parts]
    else:
        items = [(noted(tape, peer, k, live), noted(tape, peer, v, live)) for k, v in value.items()]
        code = ["d", *([k[0], v[0]] for k, v in items)]
        found = {k[1]: v[1] for k, v in items}
    if not live:
        return code, found
    return [code[0].upper(), *code[1:]], _live(tape, peer, found, value)


def _live(tape, peer, found, value=None):
    made = standins.List(found) if isinstance(found, list) else standins.Dict(found)
    made.home = _thing(tape, peer, value)
    return made


def _tuple(names, parts):
    return collections.namedtuple("Answer", names)(*parts) if names else tuple(parts)


def told(tape: Tape, peer: Any, code: Any) -> Any:
    """What a test is given, from what the tape says."""
    if not isinstance(code, list):
        return code
    kind, *rest = code
    if kind == "c":
        return complex(*rest)
    if kind == "e":
        return inspect.Parameter.empty
    if kind in "ag":
        array = tape.pools.array(*rest)
        return array if kind == "a" else array[()]
    if kind == "p":
        return standins.path(peer, rest[0])
    if kind == "=":
        return tape.things[rest[0]]
    if kind == "o":
        return _thing(tape, peer)
    if kind == "s":
        return set(rest)
    if kind == "n":
        return _tuple(rest[0], [told(tape, peer, part) for part in rest[1:]])
    if kind in "dD":
        found: Any = {told(tape, peer, k): told(tape, peer, v) for k, v in rest}
    else:
        found = [told(tape, peer, part) for part in rest]
    if kind == "t":
        return tuple(found)
    return _live(tape, peer, found) if kind in "LD" else found
