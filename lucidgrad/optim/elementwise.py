"""Optimisers that treat every element of a parameter alike: their steps are programs, taken on all tensors at once."""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import lucidgrad as lg
from lucidgrad.ops.steps import Counts, Step

from .optimizer import Optimizer


class _Memo:
    """The tensors of a group that a step is taken on, with what was found out about them, for the next step."""

    __slots__ = ("bundles", "counts", "getters", "kept", "lists", "names", "params", "size", "states", "usual")

    def __init__(self, optimizer: "Elementwise", group: dict[str, Any], names: tuple[str, ...]) -> None:
        self.params, self.size, self.kept, self.names = group["params"], len(group["params"]), optimizer.state, names
        self.states: list[dict[str, Any]] = []
        self.lists: list[list[Any]] = [[] for _ in range(2 + len(names))]
        self.bundles: dict[Any, Any] = {}
        self.counts: Counts | None = None  # numbers of steps that are kept on the device
        self.usual, self.getters = _counts_as_usual(type(optimizer)), [operator.itemgetter(name) for name in names]

    def renew(self, optimizer: "Elementwise", group: dict[str, Any]) -> Any:
        """Take up new gradients; the number of the coming step, or None if anything is not as it was."""
        lists, params, names = self.lists, group["params"], self.names
        if params is not self.params or len(params) != self.size or len(lists[0]) != self.size:
            return None
        if optimizer.state is not self.kept or optimizer._names(group) != names:
            return None
        if not all(map(operator.is_, lists[0], params)):
            return None
        grads = [getattr(p, "_grad", None) for p in params]
        for g in grads:
            if g is None:
                return None
        counts = self.counts
        if counts is None and self.usual:
            lists[1] = grads
            return self._usual_number(params)
        if counts is not None and not optimizer._is_counted_there(group):
            return None
        number = optimizer._number({} if counts is not None else self.states[0])
        for k, state in enumerate(self.states):
            if not state:  # nothing is kept of this parameter
                continue
            if self.kept.get(params[k]) is not state:
                return None
            if counts is not None:
                if any(state[name] is not x for name, x in counts.numbers.items()):
                    return None
            elif optimizer._number(state) != number:
                return None
            for j, name in enumerate(names, 2):
                if state[name] is not lists[j][k]:
                    return None
        lists[1] = grads
        return number

    def _usual_number(self, params: Sequence[Any]) -> Any:
        """The same of states with numbers that are kept in the usual way."""
        states, lists = self.states, self.lists
        try:
            if not all(map(operator.is_, map(self.kept.get, params), states)):
                return None
            counts = list(map(_count_of, states))
            for k, get in enumerate(self.getters, 2):
                if not all(map(operator.is_, map(get, states), lists[k])):
                    return None
        except KeyError:
            return None
        return counts[0] + 1 if counts.count(counts[0]) == len(counts) else None


class _Again:
    """The later steps of a group, for programs that take them."""

    def __init__(self, optimizer: "Elementwise", group: dict[str, Any], memo: _Memo) -> None:
        self.optimizer, self.group, self.states = optimizer, group, memo.states
        self.number: Any = None
        self._counts = memo.usual
        self._there = memo.counts
        self.notes = memo.counts is None and optimizer._advances

    def watched(self) -> list[tuple[Any, tuple[str, ...] | None]]:
        """What the next step depends on, besides settings: dictionaries with some names, lists, and dictionaries."""
        optimizer, group = self.optimizer, self.group
        found: list[tuple[Any, tuple[str, ...] | None]] = [(vars(optimizer), ("state", "param_groups"))]
        found += [(optimizer.param_groups, None), (group, ("params",)), (group["params"], None)]
        if self.states[0]:
            found.append((optimizer.state, None))
        names = optimizer._names(group) + (() if self._there is None else tuple(self._there.numbers))
        return found + [(state, names) for state in self.states if names]

    def settings(self) -> dict[str, Any] | None:
        optimizer, states = self.optimizer, self.states
        if self._there is not None:
            return optimizer._settings(self.group, optimizer._number({}))
        self.number = number = optimizer._number(states[0])
        if self._counts:
            if list(map(_count_of, states)).count(number - 1) < len(states):
                return None
        elif states[0] and list(map(optimizer._number, states)).count(number) < len(states):
            return None
        return optimizer._settings(self.group, number)

    def advance(self) -> None:
        if self._there is not None:
            pass
        elif self._counts:
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


def _counts_as_usual(kind: type["Elementwise"]) -> bool:
    """Whether numbers are kept in the usual way: they are read and written without a call for each."""
    return kind._number is Elementwise._number and kind._advance is Elementwise._advance


class Elementwise(Optimizer):
    """An optimiser whose ``step`` is a `Step` on the parameters that have gradients.

    A subclass says which step, which states it has (`_names`), what they begin with (`_begin`) and what the settings
    of a group mean for the step of a number (`_settings`).
    """

    _rule: ClassVar[Step]
    _compiles = True
    _advances: ClassVar[bool] = True  # whether `_advance` does anything
    _counts_there: ClassVar[bool] = False  # whether numbers of steps can be kept on a device, see `_followed`
    found_inf: Any = None  # a tensor on the device: where it is true, steps are left out

    @functools.cached_property
    def _memos(self) -> dict[int, "_Memo"]:
        """What the last step found out about each group."""
        return {}

    @functools.cached_property
    def _counted(self) -> dict[int, Counts]:
        """Numbers that are kept on a device, by what is kept of the first."""
        return {}

    @property
    def _step_supports_amp_scaling(self) -> bool:
        """Whether ``found_inf`` can leave out the coming step: all that it notes is on the device."""
        for group in self.param_groups:
            if group.get("differentiable") or (self._advances and not self._is_counted_there(group)):
                return False
            begins = bool(self._names(group))  # states begin with the first step that is taken
            for p in group["params"]:
                if p.grad is not None and (not p.is_cuda or (begins and not self.state.get(p))):
                    return False
        return True

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

    @staticmethod
    def _followed(xp: Any, numbers: dict[str, Any], settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The same on the device: what the step's ``prepare`` is given of the numbers, and the numbers after it."""
        step = numbers["step"] + 1
        return {"step": step}, {"step": step}

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
        sparse = self._check_gradients()
        taken: list[tuple[Any, _Memo, dict[str, Any]]] = []  # counted at the end: an error leaves all counts equal
        new: list[_Memo] = []
        for i, group in enumerate(self.param_groups):
            memo = self._memos.get(i)
            if memo is not None:
                number = memo.renew(self, group)
                if number is not None:
                    self._take(group, number, memo, sparse)
                    taken.append((number, memo, group))
                    continue
            sets = self._gathered(group)
            for number, found in sets.items():
                number = number if found.counts is None else self._number({})
                self._take(group, number, found, sparse)
                taken.append((number, found, group))
                new.append(found)
            if len(sets) == 1 and not group.get("differentiable"):
                self._memos[i] = found
        for number, memo, group in taken if self._advances else ():
            if memo.counts is None and memo.usual:
                for state in memo.states:
                    state["step"] = number
            elif memo.counts is None:
                for state in memo.states:
                    self._advance(state, number, group)
        for memo in new:
            self.state.update((p, state) for p, state in zip(memo.lists[0], memo.states, strict=True) if state)
        return loss

    def _gathered(self, group: dict[str, Any]) -> dict[Any, "_Memo"]:
        """The tensors of parameters that have a gradient, by the number of the step."""
        found: dict[Any, _Memo] = {}
        names, counting = self._names(group), self._is_counted_there(group)
        for p in group["params"]:
            g = p.grad
            if g is None:
                continue
            state = self.state.get(p) or {}
            there = counting and p.is_cuda
            if not state:
                if names and p.is_cuda and lg.cuda.is_current_stream_capturing():
                    raise RuntimeError(
                        f"{type(self).__name__}: a CUDA graph is being recorded, and a parameter has no state yet, "
                        f"which every launch would begin anew; take a step before the recording"
                    )
                number = self._number(state)
                state = self._begin(p, group)
            elif not there:
                if isinstance(state.get("step"), lg.Tensor):  # it was kept there until now
                    state.update({name: self._taken(p, state[name], name) for name in self._numbers})
                number = self._number(state)
            key = self._number_there(p, state) if there else number
            memo = found.get(key)
            if memo is None:
                memo = found[key] = _Memo(self, group, names)
            memo.states.append(state)
            memo.lists[0].append(p)
            memo.lists[1].append(g)
            for k, name in enumerate(names, 2):
                memo.lists[k].append(state[name])
        return {key: self._with_counts(memo) for key, memo in found.items()} if counting else found

    def _is_counted_there(self, group: dict[str, Any]) -> bool:
        """Whether the steps of a group are counted on the device, where its parameters are on one."""
        return bool(self._counts_there and group.get("capturable") and not group.get("differentiable"))

    def _number_there(self, p: Any, state: dict[str, Any]) -> Any:
        """Which parameters are counted together: those that have the same tensors, or are to begin with the same."""
        step = state["step"]
        begin = (state[name] for name in self._numbers)
        return ("there", id(step)) if isinstance(step, lg.Tensor) else ("begin", str(p.device), *begin)

    def _with_counts(self, memo: "_Memo") -> "_Memo":
        """Parameters with the numbers of their steps on the device, which nobody else counts by."""
        if not memo.lists[0][0].is_cuda:
            return memo
        own = {name: memo.states[0][name] for name in self._numbers}
        step = own["step"]
        begin = not isinstance(step, lg.Tensor)
        if begin or sum(state.get("step") is step for state in self.state.values()) > len(memo.states):
            if lg.cuda.is_current_stream_capturing():
                raise RuntimeError(
                    f"{type(self).__name__}: a CUDA graph is being recorded, and parameters are not counted on the "
                    f"device yet, or other ones have gradients than before; take a step before the recording"
                )
            with lg.no_grad():
                where = memo.lists[0][0].device
                own = {
                    name: lg.full((), float(x), dtype="float64", device=where) if begin else x.clone()
                    for name, x in own.items()
                }
            for state in memo.states:
                state.update(own)
        step = own["step"]
        counts = self._counted.get(id(step))
        if counts is None or counts.numbers["step"] is not step:
            counts = self._counted[id(step)] = Counts(self._rule, own, self._followed)
        memo.counts = counts
        return memo

    def _take(self, group: dict[str, Any], number: Any, memo: "_Memo", sparse: bool = False) -> None:
        settings = self._settings(group, number)
        if sparse and any(g.is_sparse for g in memo.lists[1]):
            memo = self._take_sparse(group, settings, memo)
            if not memo.lists[0]:
                return
        if group.get("differentiable"):
            with lg.enable_grad():
                self._rule.record(*memo.lists, **settings)
        else:
            again, there = (_Again, self, group, memo), None
            if memo.counts is not None:
                there = memo.counts.advance(settings, again, self.found_inf)
            self._rule.take(memo.lists, settings, memo.bundles, again, there, self.found_inf)
        memo.lists[1] = []  # a memo must not keep gradients alive

    def _takes_rows(self, group: dict[str, Any]) -> bool:
        """Whether the step on all of a parameter is the step on the rows that have a gradient."""
        return True

    def _take_sparse(self, group: dict[str, Any], settings: dict[str, Any], memo: "_Memo") -> "_Memo":
        """Take the step on row-sparse gradients; what is left to do is another memo."""
        rows = list(zip(*memo.lists, strict=True))
        if self._takes_rows(group):
            for row in rows:
                if row[1].is_sparse:
                    self._take_named(row, settings)
            rows = [row for row in rows if not row[1].is_sparse]
        left = _Memo(self, group, memo.names)
        left.states, left.bundles = memo.states, memo.bundles
        left.lists = [[row[k].to_dense() if k == 1 else row[k] for row in rows] for k in range(len(memo.lists))]
        memo.lists[1] = []
        return left

    def _take_named(self, whole: Sequence[Any], settings: dict[str, Any]) -> None:
        """The step on the rows that a row-sparse gradient names."""
        from lucidgrad.ops.rows import touched

        self._take_rows(*touched(whole[1]), whole, settings)

    def _take_rows(self, at: Any, sums: Any, none: Any, whole: Sequence[Any], settings: dict[str, Any]) -> None:
        """The step on some rows of a parameter and its states, unless there are none."""
        if not at.size:
            return
        unless = self.found_inf
        with lg.no_grad():
            if none is not None:
                unless = none if unless is None else lg.logical_or(none, unless)
            rows = [sums if k == 1 else lg.take(x.detach(), at, axis=0) for k, x in enumerate(whole)]
            self._rule.take([[x] for x in (*rows, *self._beside(rows))], settings, unless=unless)
            for k, x in enumerate(whole):
                if k != 1:  # the gradient is not written
                    x[at] = rows[k]

    def _beside(self, rows: Sequence[Any]) -> Sequence[Any]:
        """What the step's program takes beside the rows of a parameter, its gradient and its states."""
        return ()

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

    Every step is one call for all tensors, so ``foreach`` and ``fused`` choose nothing.
    """
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_sparse(group: dict[str, Any]) -> None:
    """Raise for settings of a group that don't go with row-sparse gradients."""
    for name in ("weight_decay", "differentiable"):
        if group[name]:
            raise RuntimeError(
                f"{name} option is not compatible with sparse gradients; p.grad = p.grad.to_dense() makes one dense"
            )
