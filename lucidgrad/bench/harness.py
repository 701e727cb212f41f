"""The harness: checks that every peer computes the same thing, then times them in turns.

Other programs share the machine, so a time says little, and the ratio of two times taken one after the
other says much. Rounds are therefore short; in each, every peer gets one slice of time, in an order
drawn anew, so that nobody always follows the same neighbour; ratios are formed within a round; what is
reported is their median over the rounds.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from types import ModuleType
from typing import Any

import numpy as np

from lucidgrad.bench import peers
from lucidgrad.bench.cases import Case

Step = Callable[[], tuple]
Clock = Callable[[], float]

#: What is timed: what passes, or what processors are busy for. On a crowded machine the second says more, since a peer
#: that is interrupted is not charged for it; with several threads it says less.
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}

#: Seconds before a library's turn where libraries have several threads: those of the one before wait busily for their
#: next loop, PyTorch's some 5 ms, and would be in its way. After 20 ms the system begins with all on one processor.
PAUSE = 0.01

REFERENCES = ("torch", "numpy")  # the first one present is what others are checked and timed against
TOLERANCE: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-5}


@dataclass(frozen=True)
class Effort:
    """How long to measure: for so many rounds, but a peer that has used up its budget sits out the rest."""

    rounds: int = 40
    at_least: int = 2  # rounds, whatever they cost
    slice: float = 0.004  # seconds of one peer in one round, if a single step is not longer
    budget: float = 2.5  # seconds of one peer in one case; twice that for the reference, whom all others need
    clock: Clock = time.perf_counter


QUICK = Effort(rounds=10, at_least=1, budget=0.5)


@dataclass
class Result:
    """One peer in one case: either figures or the reason why there are none."""

    seconds: list[float] = field(default_factory=list)  # per step, one for each round
    ratios: list[float] = field(default_factory=list)  # to the reference in the same round
    missing: str | None = None
    wrong: bool = False

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def quartiles(self) -> tuple[float, float]:
        if len(self.ratios) < 2:
            return self.ratio, self.ratio
        low, _, high = statistics.quantiles(self.ratios, n=4, method="inclusive")
        return low, high


@dataclass
class Run:
    """Everything a report needs."""

    reference: str
    peers: dict[str, ModuleType]
    results: dict[Case, dict[str, Result]]

    def reached(self, case: Case) -> bool | None:
        """Whether lucidgrad reached the case's goal; None if there is none, or nothing to compare."""
        result = self.results[case].get("lucidgrad")
        if case.goal is None or self.reference != "torch" or result is None or result.missing:
            return None
        return result.ratio <= case.goal

    @property
    def wrong(self) -> bool:
        return any(result.wrong for row in self.results.values() for result in row.values())


def run(
    names: Iterable[str],
    cases: Iterable[Case],
    effort: Effort,
    say: Callable[[str], None],
    references: Sequence[str] = REFERENCES,
) -> Run:
    """Time the cases for the named peers; ``say`` gets a line for everything that is left out."""
    present: dict[str, ModuleType] = {}
    for name in names:
        try:
            present[name] = peers.load(name)
        except ImportError as error:
            say(f"{name}: skipped ({error})")
    reference = next((name for name in references if name in present), None)
    if reference is None:
        raise SystemExit(f"one of {' or '.join(references)} is needed: ratios are against the first of them")
    results = {}
    for case in cases:
        say(f"{case.name} ...")
        results[case] = _run_case(case, present, reference, effort)
        for name, result in results[case].items():
            if result.missing:
                say(f"  {name}: {'refused' if result.wrong else 'skipped'} ({result.missing})")
    return Run(reference, present, results)


def _run_case(case: Case, present: dict[str, ModuleType], reference: str, effort: Effort) -> dict[str, Result]:
    results = {name: Result() for name in present}
    steps: dict[str, Step] = {}
    expected = None
    for name in sorted(present, key=lambda name: name != reference):  # the reference first
        try:
            steps[name], outcome = _prepare(case, present[name])
            expected = outcome if expected is None else expected
            compare(outcome, expected)
        except Skip as reason:
            results[name].missing = str(reason)
        except Differs as difference:
            results[name].missing, results[name].wrong = f"differs from {reference}: {difference}", True
            del steps[name]
        except Exception as error:  # a peer that cannot run a case must not end the run
            if name == reference:
                raise
            results[name].missing = f"{type(error).__name__}: {error}"
    _race(case, steps, results, reference, effort)
    return results


class Skip(Exception):
    """The peer does not take part in this case."""


class Differs(Exception):
    """The peer computes something else."""


def _prepare(case: Case, peer: ModuleType) -> tuple[Step, list[np.ndarray]]:
    """The peer's step for the case and what it computes."""
    if reason := getattr(peer, "SKIP", {}).get(case.name):
        raise Skip(reason)
    build = getattr(peer, case.name, None) or getattr(peer, case.mode, None)
    if build is None:
        raise Skip(f"it has no {case.mode} of its own")
    step = build(case)
    return step, [np.array(peer.to_numpy(x)) for x in step()]


def compare(got: list[np.ndarray], expected: list[np.ndarray]) -> None:
    """Raise Differs unless value and gradients agree in number, shape, dtype and within the tolerance."""
    if len(got) != len(expected):
        raise Differs(f"{len(got)} results instead of {len(expected)}")
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        what = f"gradient {i - 1}" if i else "value"
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise Differs(f"{what} is {a.dtype}{a.shape} instead of {b.dtype}{b.shape}")
        if not np.allclose(a, b, **TOLERANCE):
            raise Differs(f"{what} by up to {np.max(np.abs(a - b)):.2e}")


def _race(case: Case, steps: dict[str, Step], results: dict[str, Result], reference: str, effort: Effort) -> None:
    """Fill in the results of the peers that have a step."""
    # The collector stays on, as in real life, but nobody pays for walking through the modules of the others.
    gc.collect()
    gc.freeze()
    try:
        counts = {name: 1 if case.long else _warm_up(step, effort) for name, step in steps.items()}
        left = {name: effort.budget * (2 if name == reference else 1) for name in steps}
        order, shuffle = list(steps), random.Random(0).shuffle
        for done in range(effort.rounds):
            shuffle(order)
            times = {
                name: _time(steps[name], counts[name], effort.clock)
                for name in order
                if done < effort.at_least or left[name] > 0
            }
            if reference not in times:
                break
            for name, seconds in times.items():
                left[name] -= seconds * counts[name]
                results[name].seconds.append(seconds)
                results[name].ratios.append(seconds / times[reference])
    finally:
        gc.unfreeze()


def _warm_up(step: Step, effort: Effort) -> int:
    """Run the step for some slices; return how many steps fit in one."""
    times = [_time(step, 1, effort.clock)]
    while sum(times) < 3 * effort.slice:
        times.append(_time(step, 1, effort.clock))
    return max(1, round(effort.slice / min(times)))


def _time(step: Step, count: int, clock: Clock) -> float:
    """Seconds per step, after one that fills the caches again if steps are short."""
    gc.collect()
    if count > 1:
        step()
    start = clock()
    for _ in repeat(None, count):
        step()
    return (clock() - start) / count
