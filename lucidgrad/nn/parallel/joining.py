"""Trainings in which some processes have fewer inputs than others."""

from collections.abc import Callable
from typing import Any

import lucidgrad as lg
from lucidgrad.communication import collectives


class Joining:
    """Who still has inputs: all tell each other at the beginning of each step, also those who have none any more."""

    tells: Callable[[int | None], Any]  # is given what gradients are divided by

    def __init__(self, group: Any, device: Any, by_all: bool, throws: bool) -> None:
        self.group, self.device, self.by_all, self.throws = group, device, by_all, throws
        self.authority = 0  # the first member that has inputs, whose buffers count
        self.last = 0  # a member that ended last
        self.syncs = True

    def _exchange(self, present: bool, syncs: bool) -> list[int]:
        """The members that have inputs; notes whether they exchange gradients."""
        flags = lg.zeros(self.group.size() + 1, dtype=lg.int64, device=self.device)
        if present:
            flags[self.group.rank()] = 1
            flags[-1] = int(syncs)
        collectives.all_reduce(flags, group=self.group)
        *members, together = flags.tolist()
        there = [member for member, flag in enumerate(members) if flag]
        self.syncs = bool(together)
        if there:
            self.authority = self.last = there[0]
        if self.throws and len(there) < self.group.size():
            gone = sorted(set(range(self.group.size())) - set(there))
            raise RuntimeError(
                f"join: processes {gone} have no inputs any more, and throw_on_early_termination=True asks to stop then"
            )
        return there

    def begin_step(self, syncs: bool) -> None:
        """This process has an input."""
        there = self._exchange(True, syncs)
        self.tells(None if self.by_all else len(there))

    def others_go_on(self) -> bool:
        """Whether another process has an input, and this one takes part in its exchange without one."""
        there = self._exchange(False, False)
        self.tells(None if self.by_all else max(len(there), 1))
        return bool(there)
