"""Optimisers that treat every element of a parameter alike: their steps are programs, taken on all tensors at once."""

import functools
import operator
from collections.abc import Callable
from typing import Any, ClassVar

import lucidgrad as lg
from lucidgrad.ops.steps import Step

from .optimizer import Optimizer


class _Memo:
    """The tensors of a group that a step is taken on, with what was found out about them, for the next step."""

    __slots__ = ("bundles", "kept", "lists", "names", "params", "size", "states")

    def __init__(self, optimizer: Optimizer, group: dict[str, Any], names: tuple[str, ...]) -> None:
        self.params, self.size, self.kept, self.names = group["params"], len(group["params"]), optimizer.state, names
        self.states: list[dict[str, Any]] = []
        self.lists: list[list[Any]] = [[] for _ in range(2 + len(names))]
        self.bundles: dict[Any, Any] = {}

    def renew(self, optimizer: "Elementwise", group: dict[str, Any]) -> Any:
        """Take up new gradients; the number of the coming step, or None if anything is not as it was."""
        lists, params, names = self.lists, group["params"], self.names
        if params is not self.params or len(params) != self.size or len(lists[0]) != self.size:
            return None
        if optimizer.state is not self.kept or optimizer._names(group) != names:
            return None
        if not all(map(operator.is_, lists[0], params)):
            return None
        grads = [p.grad for p in params]
        for g in grads:
            if g is None:
                return None
        number = optimizer._number(self.states[0])
        for k, state in enumerate(self.states):
            if not state:  # nothing is kept of this parameter
                continue
            if optimizer._number(state) != number or self.kept.get(params[k]) is not state:
                return None
            for j, name in enumerate(names, 2):
                if state[name] is not lists[j][k]:
                    return None
        lists[1] = grads
        return number


class _Again:
    """The later steps of a group, for programs that take them."""

    def __init__(self, optimizer: "Elementwise", group: dict[str, Any], memo: _Memo) -> None:
        self.optimizer, self.group, self.states = optimizer, group, memo.states
        self.number: Any = None
        kind = type(optimizer)  # numbers that are kept in the usual way are read and written without a call for each
        self._counts = kind._number is Elementwise._number and kind._advance is Elementwise._advance

    def watched(self) -> list[tuple[Any, tuple[str, ...] | None]]:
        """What the next step depends on, besides settings: dictionaries with some names, lists, and dictionaries."""
        optimizer, group = self.optimizer, self.group
        found: list[tuple[Any, tuple[str, ...] | None]] = [(vars(optimizer), ("state", "param_groups"))]
        found += [(optimizer.param_groups, None), (group, ("params",)), (group["params"], None)]
        if self.states[0]:
            found.append((optimizer.state, None))
        names = optimizer._names(group)
        return found + [(state, names) for state in self.states if names]

    def settings(self) -> dict[str, Any] | None:
        optimizer, states = self.optimizer, self.states
        self.number = number = optimizer._number(states[0])
        if self._counts:
            if list(map(_count_of, states)).count(number - 1) < len(states):
                return None
        elif states[0] and list(map(optimizer._number, states)).count(number) < len(states):
            return None
        return optimizer._settings(self.group, number)

    def advance(self) -> None:
        if self._counts:
            for state in self.states:
                state["step"] = self.number
        elif self.optimizer._advances:
            for state in self.states:
                self.optimizer._advance(state, self.number, self.group)
        self.optimizer._opt_called = True

    def undoing(self) -> Callable[[], None]:
        """What sets the numbers of all states back to what they are now."""
        before = [{k: v for k, v in s.items() if not isinstance(v, lg.Tensor)} for s in self.states]

        def undo() -> None:
            for state, numbers in zip(self.states, before, strict=True):
                state.update(numbers)

        return undo


_count_of = operator.itemgetter("step")


class Elementwise(Optimizer):
    """An optimiser whose ``step`` is a `Step` on the parameters that have gradients.

    A subclass says which step, which states it has (`_names`), what they begin with (`_begin`) and what the settings
    of a group mean for the step of a number (`_settings`).
    """

    _rule: ClassVar[Step]
    _compiles = True
    _advances: ClassVar[bool] = True  # whether `_advance` does anything

    @functools.cached_property
    def _memos(self) -> dict[int, "_Memo"]:
        """What the last step found out about each group."""
        return {}

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The states that are tensors, in the order of the step's program."""
        return ()

    def _begin(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        """The state of a parameter before its first step."""
        return {"step": 0, **{name: lg.zeros_like(p.detach()) for name in self._names(group)}}

    def _settings(self, group: dict[str, Any], number: Any) -> dict[str, Any]:
        """The settings of the step's program."""
        raise TypeError(f"{type(self).__name__} does not say what its step's settings are")

    def _number(self, state: dict[str, Any]) -> Any:
        """The number of the coming step of a parameter, whose state is empty before the first.

        The steps of one number are taken together.
        """
        return state.get("step", 0) + 1

    def _advance(self, state: dict[str, Any], number: Any, group: dict[str, Any]) -> None:
        """Note that the step of a number was taken."""
        state["step"] = number

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient.

        Parameters
        ----------
        closure
            Computes the loss and its gradients anew; called first, with recording on.

        Returns
        -------
        object
            What the closure returned.
        """
        loss = None
        if closure is not None:
            with lg.enable_grad():
                loss = closure()
        taken: list[tuple[Any, _Memo, dict[str, Any]]] = []  # counted at the end: an error leaves all counts equal
        new: list[_Memo] = []
        for i, group in enumerate(self.param_groups):
            memo = self._memos.get(i)
            if memo is not None:
                number = memo.renew(self, group)
                if number is not None:
                    self._take(group, number, memo)
                    taken.append((number, memo, group))
                    continue
            sets = self._gathered(group)
            for number, found in sets.items():
                self._take(group, number, found)
                taken.append((number, found, group))
                new.append(found)
            if len(sets) == 1 and not group.get("differentiable"):
                self._memos[i] = found
        for number, memo, group in taken:
            for state in memo.states:
                self._advance(state, number, group)
        for memo in new:
            self.state.update((p, state) for p, state in zip(memo.lists[0], memo.states, strict=True) if state)
        return loss

    def _gathered(self, group: dict[str, Any]) -> dict[Any, "_Memo"]:
        """The tensors of parameters that have a gradient, by the number of the step."""
        found: dict[Any, _Memo] = {}
        names = self._names(group)
        for p in group["params"]:
            g = p.grad
            if g is None:
                continue
            state = self.state.get(p) or {}
            number = self._number(state)
            if not state:
                if names and p.is_cuda and lg.cuda.is_current_stream_capturing():
                    raise RuntimeError(
                        f"{type(self).__name__}: a CUDA graph is being recorded, and a parameter has no state yet, "
                        f"which every launch would begin anew; take a step before the recording"
                    )
                state = self._begin(p, group)
            memo = found.get(number)
            if memo is None:
                memo = found[number] = _Memo(self, group, names)
            memo.states.append(state)
            memo.lists[0].append(p)
            memo.lists[1].append(g)
            for k, name in enumerate(names, 2):
                memo.lists[k].append(state[name])
        return found

    def _take(self, group: dict[str, Any], number: Any, memo: "_Memo") -> None:
        settings = self._settings(group, number)
        if group.get("differentiable"):
            with lg.enable_grad():
                self._rule.record(*memo.lists, **settings)
        else:
            self._rule.take(memo.lists, settings, memo.bundles, (_Again, self, group, memo))
        memo.lists[1] = []  # a memo must not keep gradients alive

    def _check_state(self, p: Any, state: Any) -> None:
        for name, value in state.items() if isinstance(state, dict) else ():
            if isinstance(value, lg.Tensor) and value.shape != p.shape:
                raise ValueError(
                    f"loaded state dict has a {name} of shape {value.shape} for a parameter of shape {p.shape}"
                )


def check_lr(lr: Any) -> None:
    """Raise unless a learning rate is a number that is not negative, or a tensor of one."""
    if isinstance(lr, lg.Tensor) and lr.size != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not isinstance(lr, (int, float, lg.Tensor)) and not hasattr(lr, "__float__"):
        raise TypeError(f"Invalid learning rate: {lr!r}, a {type(lr).__name__}; expected a number such as 1e-3")
    check("learning rate", lr, lr >= 0)


def check(what: str, value: Any, fine: Any) -> None:
    """Raise PyTorch's error for a setting that is not fine."""
    if not fine:
        raise ValueError(f"Invalid {what}: {value}")


def check_betas(betas: Any) -> None:
    """Raise unless both are in [0, 1)."""
    for i in (0, 1):
        check(f"beta parameter at index {i}", betas[i], 0 <= betas[i] < 1)


def check_ways(foreach: Any, differentiable: bool, fused: Any = None) -> None:
    """Raise for ways of running that exclude each other.

    Every step is one call for all tensors, so ``foreach`` and ``fused`` choose nothing; every step can be recorded in a
    CUDA graph, so ``capturable`` chooses nothing either.
    """
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
