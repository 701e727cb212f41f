"""What PyTorch answered, recorded: comparisons with it run where it is not installed.

``torch = peer("torch")`` is PyTorch itself where that is installed. Elsewhere it is a stand-in that computes nothing:
it answers what the same test was told when it was recorded. A test may do with it what it does with PyTorch: call
functions, make modules and optimisers, take gradients, look at arrays, expect errors. Arguments are not stored, since
tests make them anew; of the answers only what is looked at (arrays, numbers, shapes, names, errors).

``python -m tests.golden --record [files or folders]`` records tests, with PyTorch installed, and tries the recordings
at once; without names it records all that use a peer. ``python -m tests.golden --check`` records them again and tells
what differs from the files. Answers lie in ``tests/golden/answers``, a file for each file of tests.

A recorded answer must be compared with a computed one. It says nothing where lucidgrad's number goes into PyTorch and
a verdict comes out (``torch.allclose(theirs, torch.tensor(ours))``): look at arrays, and compare them here. Random
cases come from seeds, not from hypothesis, whose examples change.
"""

import functools
import importlib
import importlib.util
import os
from collections.abc import Callable
from typing import Any

import numpy as np

#: The version of PyTorch that gave the answers.
RECORDED_FROM = "2.13"

#: "record", "check", "replay", or "" for a peer itself if it is installed, otherwise its answers.
MODE = os.environ.get("LUCIDGRAD_GOLDEN", "")
RECORDING = MODE in ("record", "check")


def installed(name: str = "torch") -> bool:
    """Whether a peer is used itself, not its recorded answers."""
    return not MODE and importlib.util.find_spec(name) is not None


def peer(name: str) -> Any:
    """The library (or a module of it), or what stands for it."""
    if installed(name.partition(".")[0]):
        return importlib.import_module(name)
    from golden import standins

    return standins.path(_peer(name.partition(".")[0]), name)


@functools.cache
def _peer(name: str) -> Any:
    from golden import standins

    return standins.Peer(name, real=importlib.import_module(name) if RECORDING else None)


def thin(array: Any, most: int = 300) -> Any:
    """Some elements of a large array or tensor: recordings shall stay small. Beside PyTorch itself, all of them."""
    size = int(np.prod(array.shape))
    return array if installed() or size <= most else array.reshape(-1)[:: -(-size // most)]


def ask(thing: Any, function: Callable[[Any], Any], name: str = "") -> Any:
    """Plain values that a function of something in a library gives: what no stand-in can do, like signatures."""
    from golden import standins, tapes

    if not isinstance(thing, standins.StandIn):
        return function(thing)
    return tapes.asked(thing, f"ask {name}".strip(), function)
