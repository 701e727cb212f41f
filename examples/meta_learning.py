"""Learning to learn
=================

Model-agnostic meta-learning (MAML): find weights from which a few gradient steps fit any sine wave.

The inner steps are themselves differentiated: the outer gradient runs through the gradients of the inner loop. All
tasks of a batch are adapted at once by vmap.
"""

import math
import sys

from running import arguments, finish, picture, repeated

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.func import functional_call, grad, trees, vmap

INNER_RATE, INNER_STEPS, SHOTS = 0.02, 3, 10


def tasks(count, device):
    """Return points of sine waves with random amplitude and phase, a set to adapt to and a set to judge by."""
    amplitude = lg.uniform(0.5, 5.0, size=(count, 1, 1), device=device)
    phase = lg.uniform(0.0, math.pi, size=(count, 1, 1), device=device)
    x = lg.uniform(-5.0, 5.0, size=(count, 2 * SHOTS, 1), device=device)
    y = amplitude * lg.sin(x - phase)
    return x[:, :SHOTS], y[:, :SHOTS], x[:, SHOTS:], y[:, SHOTS:]


def main():
    """Train, compare adaptation with a start from scratch; return the exit status."""
    options = arguments(__doc__, steps=600)
    network = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    network = network.to(options.device)

    def loss(weights, x, y):
        return ((functional_call(network, weights, (x,)) - y) ** 2).mean()

    def adapted(weights, x, y, steps=INNER_STEPS):
        for _ in range(steps):
            slopes = grad(loss)(weights, x, y)
            weights = trees.map(lambda w, g: w - INNER_RATE * g, weights, slopes)
        return weights

    def judged(weights, x, y, x_new, y_new):
        return loss(adapted(weights, x, y), x_new, y_new)

    weights = dict(network.named_parameters())
    before = {name: w.detach().clone() for name, w in weights.items()}
    optimizer = lg.optim.Adam(network.parameters(), lr=3e-3)
    losses = []
    steps = 3 if options.quick else options.steps

    def improve(*several):
        outer = vmap(judged, in_dims=(None, 0, 0, 0, 0))(weights, *several).mean()
        optimizer.zero_grad()
        outer.backward()
        optimizer.step()
        return outer.detach()

    improve = repeated(options, improve)
    for step in range(steps):
        losses.append(improve(*tasks(16, options.device)).item())
        if step % max(steps // 10, 1) == 0:
            print(f"step {step:5d}   loss after adaptation {losses[-1]:.3f}")

    fresh = tasks(200, options.device)
    with lg.no_grad():
        score = vmap(judged, in_dims=(None, 0, 0, 0, 0))
        learned, scratch = (score(w, *fresh).mean().item() for w in (weights, before))
    print(f"loss on unseen tasks after {INNER_STEPS} steps: {learned:.3f}, from a random start {scratch:.3f}")
    with picture(options.out / "meta_learning.png", columns=2) as axes:
        if axes is not None:
            axes[0].semilogy(losses, linewidth=0.6)
            axes[0].set(title="outer loss", xlabel="step")
            x, y, x_new, y_new = (part[0] for part in fresh)
            grid = lg.linspace(-5, 5, 100, device=options.device).reshape(100, 1)
            for steps_taken, style in ((0, ":"), (1, "--"), (INNER_STEPS, "-")):
                curve = functional_call(network, adapted(weights, x, y, steps_taken), (grid,))
                line = curve.detach().cpu().reshape(100).tolist()
                axes[1].plot(grid.cpu().reshape(100).tolist(), line, style, label=f"{steps_taken} steps")
            axes[1].plot(
                x_new.cpu().reshape(-1).tolist(), y_new.cpu().reshape(-1).tolist(), "k.", label="unseen points"
            )
            axes[1].set(title="one task")
            axes[1].legend()
    return finish(
        options, ("loss on unseen tasks", learned, 1.5), ("share of a random start's", learned / scratch, 0.5)
    )


if __name__ == "__main__":
    sys.exit(main())
