"""Objects that stand for a library's: they pass calls on and note the answers, or give the noted answers."""

import builtins
import contextlib
import copy
import importlib
import operator
from typing import Any

import numpy as np

from golden import stores, tapes


class Peer:
    """A library that answers; `real` is None where only its answers are there."""

    def __init__(self, name: str, real: Any):
        self.name, self.real, self.known = name, real, {}


class StandIn:
    """What all stand-ins do: every use is a question to the tape."""

    __slots__ = ()
    __array_priority__ = 1000  # as PyTorch's tensors: operators of NumPy's arrays leave the work to them

    def __call__(self, *args, **keywords):
        return tapes.asked(self, "()", lambda it, *a, **k: it(*a, **k), args, keywords)

    def __hash__(self):
        return id(self)

    def __instancecheck__(self, instance):
        if not isinstance(instance, StandIn):  # a dict, or ours: no instance of anything there
            return False
        return tapes.asked(self, "has instance", lambda it, x: isinstance(x, it), (instance,))

    def __mro_entries__(self, bases):
        return (_Derived,)

    def __repr__(self):
        return tapes.asked(self, "repr", repr, otherwise=object.__repr__(self))

    def __format__(self, spec):
        return tapes.asked(self, "format", lambda it: format(it, spec))

    def __array__(self, dtype=None, copy=None):
        return tapes.asked(self, "array", lambda it: np.asarray(it, dtype))

    def __dlpack__(self, **how):
        return self.__array__().__dlpack__(**how)

    def __dlpack_device__(self):
        return (1, 0)  # the CPU

    def __iter__(self):
        return iter(tapes.asked(self, "iter", list))

    def __deepcopy__(self, memo):
        return tapes.asked(self, "deepcopy", copy.deepcopy)

    def __exit__(self, kind, value, trace):
        return tapes.asked(self, "exit", lambda it: it.__exit__(None, None, None))


def _one(name, function):
    return lambda self, *args: tapes.asked(self, name, function, args)


def _turned(function):
    return lambda a, b: function(b, a)


for _name in "str bool float int complex len abs".split():
    setattr(StandIn, f"__{_name}__", _one(_name, getattr(builtins, _name)))
for _name in "index neg pos invert getitem setitem delitem contains eq ne lt le gt ge".split():
    setattr(StandIn, f"__{_name}__", _one(_name, getattr(operator, _name)))
StandIn.__enter__ = _one("enter", lambda it: it.__enter__())
StandIn.__round__ = _one("round", round)
for _name in "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift".split():
    _plain = _name.rstrip("_")
    setattr(StandIn, f"__{_plain}__", _one(_plain, getattr(operator, _name)))
    setattr(StandIn, f"__r{_plain}__", _one(f"r{_plain}", _turned(getattr(operator, _name))))
for _name in "iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor".split():
    setattr(StandIn, f"__{_name}__", _one(_name, getattr(operator, _name)))


class Named(StandIn):
    """A module, function, class or dtype: reached by its name alone, so looking it up is no question."""

    __slots__ = ("_name", "_peer", "_real")

    def __new__(cls, name, peer, real=None):
        if name not in peer.known:
            self = peer.known[name] = object.__new__(cls)
            for key, value in (("_name", name), ("_peer", peer), ("_real", peer.real if real is None else real)):
                object.__setattr__(self, key, value)
        return peer.known[name]

    def __getattr__(self, key):
        name = f"{self._name}.{key}"
        if self._peer.real is None:
            fact = stores.facts().get(name)
            if fact is None:
                if key.startswith("__"):
                    raise AttributeError(name)
                return Named(name, self._peer)
            if fact == ["absent"]:
                raise AttributeError(name)
            return fact[0]
        if key.startswith("__") and key not in ("__all__", "__name__", "__version__"):
            raise AttributeError(name)
        try:
            found = getattr(self._real, key)
        except AttributeError:
            with contextlib.suppress(ImportError):
                return Named(name, self._peer, importlib.import_module(name))
            stores.facts()[name] = ["absent"]
            raise
        if isinstance(found, (bool, int, float, str, list)):
            stores.facts()[name] = [found]
            return found
        return Named(name, self._peer, found)

    def __setattr__(self, key, value):
        tapes.asked(self, f"set {key}", lambda it, v: setattr(it, key, v), (value,))

    def __eq__(self, other):
        return self is other if isinstance(other, Named) else StandIn.__eq__(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = StandIn.__hash__

    def __str__(self):
        return self._name

    def __repr__(self):
        return self._name


def path(peer, name):
    """What has a dotted name."""
    found = Named(peer.name, peer)
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


class Thing(StandIn):
    """A tensor, module, optimiser, method ... of a peer."""

    __slots__ = ("_number", "_peer", "_real")

    def __init__(self, peer, number, real=None):
        for key, value in (("_peer", peer), ("_number", number), ("_real", real)):
            object.__setattr__(self, key, value)

    def __getattr__(self, key):
        if key.startswith("__"):  # Python and NumPy ask for these on their own
            raise AttributeError(key)
        return tapes.asked(self, f".{key}", lambda it: getattr(it, key))

    def __setattr__(self, key, value):
        tapes.asked(self, f"set {key}", lambda it, v: setattr(it, key, v), (value,))

    def __delattr__(self, key):
        tapes.asked(self, f"del {key}", lambda it: delattr(it, key))


class _Derives(type):
    """A class that a test derives from a peer's is the peer's matter: its methods run there, or not at all."""

    def __new__(mcs, name, bases, namespace):
        if not bases:
            return super().__new__(mcs, name, bases, namespace)
        originals = namespace["__orig_bases__"]
        peer = next(b._peer for b in originals if isinstance(b, StandIn))
        namespace = {k: v for k, v in namespace.items() if k != "__orig_bases__"}

        def derived():
            return type(name, tuple(b._real if isinstance(b, StandIn) else b for b in originals), namespace)

        return tapes.derived(peer, name, derived)


class _Derived(metaclass=_Derives):
    """What `_Derives` is told of in a class statement."""


class List(list):
    """A list that the peer keeps: writes reach it."""

    home: Any = None

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        tapes.asked(self.home, "setitem", operator.setitem, (key, value))


class Dict(dict):
    """A dictionary that the peer keeps: writes reach it."""

    home: Any = None

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        tapes.asked(self.home, "setitem", operator.setitem, (key, value))
