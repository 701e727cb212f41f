"""``python -m bench.scaling``: what a training step would take with 1 to 4,096 processes. A prediction, no measurement.

The model has two lines of work per process, computing and communicating, each of which does one thing after another.
It is given what was measured with two processes (``python -m bench.distributed --record``): how long layers compute,
the time that a message takes, bytes per second, and which share of a communication goes on while something is
computed. It assumes equal processes, a network whose links are all alike and not shared, and no waiting for stragglers:
on other machines a step takes longer.

- Data parallel: gradients are summed in buckets, each as soon as its layers are done in backward.
- ZeRO-1: the same, then each process steps its part of the parameters, and all gather the parts.
- Fully sharded: each layer's parameters are gathered before its forward and again before its backward, the next layer's
  while one computes; its gradients are summed into parts as soon as they are there; each process steps its part.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
DATA = DOCS / "scaling.json"
CHART = DOCS / "images/scaling.svg"
RANKS = tuple(2**k for k in range(13))
BUCKET, FIRST_BUCKET = 25 << 20, 1 << 20
PLANS = ("data parallel", "ZeRO-1", "fully sharded")


@dataclass(frozen=True)
class Network:
    """Seconds that a message takes, bytes per second of a link, the share of communication that computing hides."""

    latency: float
    bandwidth: float
    overlap: float = 1.0

    def all_reduce(self, size: int, ranks: int) -> float:
        """Halving and doubling: the bandwidth of a ring with the latency of a tree."""
        return self.reduce_scatter(size, ranks) + self.all_gather(size, ranks)

    def all_gather(self, size: int, ranks: int) -> float:
        """``size`` is that of the whole, which every process then has."""
        if ranks == 1:
            return 0.0
        return math.ceil(math.log2(ranks)) * self.latency + size * (ranks - 1) / ranks / self.bandwidth

    reduce_scatter = all_gather  # the same messages in the other order


@dataclass(frozen=True)
class Step:
    """A training step of one process: seconds of each layer, forward and backward, and the bytes of its parameters."""

    forward: tuple[float, ...]
    backward: tuple[float, ...]  # in the order of forward
    sizes: tuple[int, ...]
    update: float  # of the optimiser, for all parameters

    @property
    def alone(self) -> float:
        """Seconds with one process."""
        return sum(self.forward) + sum(self.backward) + self.update


class _Lines:
    """When the two lines of work are free."""

    def __init__(self, overlap: float) -> None:
        self.computing = self.communicating = 0.0
        self._exposed = 1 - overlap

    def compute(self, seconds: float, after: float = 0.0) -> float:
        self.computing = max(self.computing, after) + seconds
        return self.computing

    def communicate(self, seconds: float, after: float) -> float:
        """What does not go on beside computing takes time of both lines."""
        self.computing += seconds * self._exposed
        self.communicating = max(self.communicating, after) + seconds
        return self.communicating


def predicted(step: Step, network: Network, ranks: int, plan: str) -> float:
    """Seconds of a step of all processes."""
    if ranks == 1:
        return step.alone
    if plan == "fully sharded":
        return _sharded(step, network, ranks)
    lines = _Lines(network.overlap)
    lines.compute(sum(step.forward))
    done, waiting, limit = 0.0, 0, FIRST_BUCKET
    for seconds, size in zip(reversed(step.backward), reversed(step.sizes), strict=True):
        now = lines.compute(seconds)
        waiting += size
        if waiting >= limit:
            done, waiting, limit = lines.communicate(network.all_reduce(waiting, ranks), now), 0, BUCKET
    if waiting:
        done = lines.communicate(network.all_reduce(waiting, ranks), lines.computing)
    if plan == "data parallel":
        return lines.compute(step.update, after=done)
    stepped = lines.compute(step.update / ranks, after=done)
    return stepped + network.all_gather(sum(step.sizes), ranks)


def _sharded(step: Step, network: Network, ranks: int) -> float:
    lines = _Lines(network.overlap)
    layers = list(zip(step.forward, step.backward, step.sizes, strict=True))
    started = 0.0
    for seconds, _, size in layers:  # what comes next is gathered while this one computes
        there = lines.communicate(network.all_gather(size, ranks), started)
        started = max(lines.computing, there)
        lines.compute(seconds, after=there)
    started = lines.computing
    last = 0.0
    for k, (_, seconds, size) in enumerate(reversed(layers)):
        there = lines.communicate(network.all_gather(size, ranks), started) if k else lines.computing
        started = max(lines.computing, there)
        now = lines.compute(seconds, after=there)
        last = lines.communicate(network.reduce_scatter(size, ranks), now)
    return lines.compute(step.update / ranks, after=last)


def efficiency(step: Step, network: Network, ranks: int, plan: str) -> float:
    """Examples per second and process, as a share of what one process does alone."""
    return step.alone / predicted(step, network, ranks, plan)


def read(path: Path = DATA) -> tuple[dict[str, Step], Network, dict]:
    """What was measured: steps by name, the network, and everything else that was recorded."""
    data = json.loads(path.read_text())
    steps = {name: Step(**{k: tuple(v) if isinstance(v, list) else v for k, v in it.items()}) for name, it in
             data["steps"].items()}  # fmt: skip
    return steps, Network(**data["network"]), data


def write(steps: dict[str, Step], network: Network, about: dict, path: Path = DATA) -> None:
    """Record what was measured."""
    made = {"steps": {name: asdict(step) for name, step in steps.items()}, "network": asdict(network), **about}
    path.write_text(json.dumps(made, indent=1) + "\n")


def larger(step: Step, factor: float) -> Step:
    """The same model with so many times the work for each example's worth of parameters: a larger batch per process."""
    return replace(
        step,
        forward=tuple(t * factor for t in step.forward),
        backward=tuple(t * factor for t in step.backward),
    )


#: Networks that a reader may have: what their makers promise, less a fifth. Not measured here.
OTHERS = {
    "10 Gbit/s Ethernet": Network(30e-6, 1.0e9),
    "200 Gbit/s InfiniBand": Network(3e-6, 20e9),
}


def table(steps: dict[str, Step], network: Network) -> str:
    """The prediction as text: what a process does of what it does alone."""
    lines = [f"{'step':22}{'plan':16}" + "".join(f"{n:>7}" for n in RANKS)]
    for name, step in steps.items():
        for plan in PLANS:
            shares = "".join(f"{efficiency(step, network, n, plan):7.2f}" for n in RANKS)
            lines.append(f"{name:22}{plan:16}{shares}")
    return "\n".join(lines)


def draw(steps: dict[str, Step], network: Network) -> None:
    """The chart of docs/distributed.md."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "lucidgrad", "font.size": 9})
    from matplotlib import pyplot as plt

    networks = {"two processes of this machine": network, **OTHERS}
    figure, rows = plt.subplots(
        len(steps), len(networks), figsize=(9.5, 2.3 * len(steps)), sharex=True, sharey=True, layout="constrained"
    )
    for row, (name, step) in zip(rows, steps.items(), strict=True):
        for axes, (where, links) in zip(row, networks.items(), strict=True):
            for plan, colour in zip(PLANS, ("#1f6f8b", "#d1792c", "#7a4fa3"), strict=True):
                axes.plot(RANKS, [efficiency(step, links, n, plan) for n in RANKS], color=colour, label=plan, lw=1.6)
            axes.set_title(f"{name}\n{where}", fontsize=8)
            axes.set_xscale("log", base=2)
            axes.set_ylim(0, 1.05)
            axes.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("processes")
    figure.supylabel("predicted share of the speed of one process alone")
    figure.legend(*rows[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(CHART, facecolor="white", metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scaling", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--chart", action="store_true", help=f"draw docs/images/{CHART.name}, too")
    options = parser.parse_args()
    steps, network, _ = read()
    for where, links in {"as measured": network, **OTHERS}.items():
        print(f"prediction, {where}: latency {links.latency * 1e6:.1f} µs, {links.bandwidth / 1e9:.2f} GB/s, "
              f"overlap {links.overlap:.2f}\n{table(steps, links)}\n")  # fmt: skip
    if options.chart:
        draw(steps, network)


if __name__ == "__main__":
    main()
