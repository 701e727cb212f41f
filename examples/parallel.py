"""Several processes
=================

A character-level GPT, trained by several processes, each with texts of its own.

``mpiexec -n 4 python examples/parallel.py`` trains with four processes; without ``mpiexec`` there is one. With
``--sharding data`` every process has the whole model; with ``zero`` the states of the optimiser are divided among them;
with ``full`` parameters and gradients are as well. All three learn the same.
"""

import sys

from gpt import BATCH, GPT, batch, load, loss_of
from running import arguments, finish, picture
from tqdm import tqdm

import lucidgrad as lg
from lucidgrad import distributed as dist, nn


def divided(network, sharding):
    """Return a model of which each process has its part, and its optimiser."""
    settings = dict(lr=8e-3, weight_decay=0.05)
    if sharding == "full":
        for block in network.blocks:
            dist.fully_shard(block)
        dist.fully_shard(network)
        return network, lg.optim.AdamW(network.parameters(), **settings)
    model = nn.parallel.DistributedDataParallel(network)
    if sharding == "zero":
        return model, lg.optim.ZeroRedundancyOptimizer(model.parameters(), lg.optim.AdamW, **settings)
    return model, lg.optim.AdamW(model.parameters(), **settings)


def mean(value):
    """Return the mean of all processes."""
    dist.all_reduce(value, op=dist.ReduceOp.AVG)
    return value.item()


def main():
    """Train, compare with guessing; return the exit status."""
    options = arguments(__doc__, steps=200, sharding="data")
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    text, characters = load(options.device)
    split = len(text) * 9 // 10
    training, unseen = text[:split], text[split:]
    counts = lg.bincount(training, minlength=len(characters)).to(lg.float64) + 1
    guess = -(lg.log(counts / counts.sum())[unseen]).mean().item()
    model, optimizer = divided(GPT(len(characters)).to(options.device), options.sharding)
    lg.manual_seed(options.seed + 1 + rank)  # everybody draws other texts
    steps = 2 if options.quick else options.steps
    scheduler = lg.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=8e-3, total_steps=steps)
    if rank == 0:
        print(f"{size} processes, {options.sharding} parallel, {size * BATCH} texts a step on {options.device}")

    losses = []
    for _ in tqdm(range(steps), disable=rank > 0 or not sys.stderr.isatty()):
        loss = loss_of(model, *batch(training))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(mean(loss.detach()))
    with lg.no_grad():
        final = mean(loss_of(model, *batch(unseen, 64)))
    dist.destroy_process_group()
    if rank > 0:
        return 0
    print(f"unseen text: {final:.3f} nats per character; by frequency {guess:.3f}")
    with picture(options.out / "parallel.png") as axes:
        if axes is not None:
            axes.plot(losses, linewidth=0.8)
            axes.axhline(guess, color="0.5", linestyle=":", label="by frequency")
            axes.set(title=f"GPT, {size} processes", xlabel="step", ylabel="nats per character")
            axes.legend()
    return finish(options, ("unseen text, share of guessing by frequency", final / guess, 0.85))


if __name__ == "__main__":
    sys.exit(main())
