"""Other parameters and another state for an optimiser, for a while."""

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import lucidgrad as lg

from .optimizer import Optimizer


def _matched(optimizer: Optimizer, params: list[Any], saved: Any) -> list[tuple[dict[str, Any], list[Any]]]:
    """The saved groups with their parameters, checked against the optimiser's."""
    state, groups = (saved.get(key) if isinstance(saved, dict) else None for key in ("state", "param_groups"))
    if not isinstance(state, dict) or not isinstance(groups, list):
        raise RuntimeError(
            'given no state that optimizer.state_dict() gave, expected {"state": ..., "param_groups": ...}'
        )
    if len(groups) != len(optimizer.param_groups):
        raise RuntimeError(
            f"given a state of {len(groups)} groups, expected {len(optimizer.param_groups)} as the optimiser has"
        )
    found, known, start = [], set(), 0
    for i, (own, group) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        if not isinstance(group, dict) or group.keys() != own.keys() or len(group["params"]) != len(own["params"]):
            raise RuntimeError(
                f"given a group {i} with other settings or another number of parameters than the optimiser's, expected "
                f"what optimizer.state_dict() gives"
            )
        count = len(group["params"])
        found.append((group, params[start : start + count]))
        known.update(group["params"])
        start += count
    if start != len(params):
        raise RuntimeError(f"given {len(params)} parameters, expected {start} as the optimiser has")
    if not known.issuperset(state) or not all(isinstance(entry, dict) for entry in state.values()):
        raise RuntimeError("given a state of parameters that no group has, expected what optimizer.state_dict() gives")
    return found


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, lg.Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Inside, an optimiser has other parameters, settings and states; then its own again.

    What a step writes, it writes into the tensors that are given, and counts of steps into the given state.

    Parameters
    ----------
    optimizer : Optimizer
        The optimiser, which has taken a step.
    swapin_parameters : dict
        Tensors by name, in the order of the optimiser's parameters.
    swapin_optim_state : dict
        A state as ``optimizer.state_dict()`` gives it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, other = lg.ones(2, requires_grad=True), lg.zeros(2, requires_grad=True)
    >>> optimiser = lg.optim.SGD([x], lr=0.5, momentum=0.9)
    >>> x.grad, other.grad = lg.ones(2), lg.ones(2)
    >>> optimiser.step()
    >>> state = {"state": {}, "param_groups": optimiser.state_dict()["param_groups"]}
    >>> with lg.optim.swap_in_optimizer_params_and_state(optimiser, {"x": other}, state):
    ...     optimiser.step()
    >>> x.tolist(), other.tolist()
    ([0.5, 0.5], [-0.5, -0.5])
    """
    if not optimizer.state:
        raise RuntimeError("given an optimiser without a state, expected one that has taken a step")
    matched = _matched(optimizer, list(swapin_parameters.values()), swapin_optim_state)
    saved = swapin_optim_state["state"]
    own_state, own_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    state: defaultdict[Any, Any] = defaultdict(dict)
    try:
        for group, (given, params) in zip(optimizer.param_groups, matched, strict=True):
            group.update({**given, "params": params})
            for p, key in zip(params, given["params"], strict=True):
                if saved.get(key):
                    state[p] = dict(saved[key])
        optimizer.state = state
        yield
    finally:
        for given, params in matched:
            for p, key in zip(params, given["params"], strict=True):
                if key in saved:
                    now = state.get(p, {})
                    saved[key].update({name: now[name] for name in optimizer._numbers if name in now})
        for group, before in zip(optimizer.param_groups, own_groups, strict=True):
            group.clear()
            group.update(before)
        optimizer.state = own_state
