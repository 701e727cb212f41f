"""Private training
================

Differentially private training (DP-SGD): clip the gradient of every single example, add noise, and descend.

Per-sample gradients come from one line, ``vmap(grad(loss))``: the network runs once on the whole batch. How much
privacy NOISE, BATCH and the number of steps leave is for an accountant to say (there are packages for it); this
example shows the mechanism and what it costs in accuracy.
"""

import sys

from running import arguments, finish, picture, repeated

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.func import functional_call, grad, vmap

CLIP, NOISE, BATCH = 1.0, 0.8, 128


def data(device):
    """Return handwritten digits as vectors, and which they are; every fifth is held back."""
    from sklearn.datasets import load_digits

    found = load_digits()
    x = lg.tensor(found.data / 16, dtype=lg.float32, device=device)
    y = lg.tensor(found.target, device=device)
    held = lg.arange(len(x), device=device) % 5 == 0
    return (x[~held], y[~held]), (x[held], y[held])


def main():
    """Train, report the accuracy; return the exit status."""
    options = arguments(__doc__, steps=400)
    (x, y), (x_held, y_held) = data(options.device)
    network = nn.Sequential(nn.Linear(64, 48), nn.Tanh(), nn.Linear(48, 10)).to(options.device)
    weights = dict(network.named_parameters())
    optimizer = lg.optim.SGD(network.parameters(), lr=1.0, momentum=0.5)

    def loss(weights, x, y):
        out = functional_call(network, weights, (x[None],))
        return nn.functional.cross_entropy(out, y[None])

    per_sample = vmap(grad(loss), in_dims=(None, 0, 0))
    steps = 3 if options.quick else options.steps
    accuracies = []

    def improve(x, y):
        slopes = per_sample({name: w.detach() for name, w in weights.items()}, x, y)
        squares = sum((g.reshape(BATCH, -1) ** 2).sum(axis=1) for g in slopes.values())
        norm = squares.sqrt()
        factor = (CLIP / (norm + 1e-6)).clip(max=1.0)
        for name, w in weights.items():
            clipped = (slopes[name] * factor.reshape(-1, *(1,) * w.ndim)).sum(axis=0)
            w.grad = (clipped + NOISE * CLIP * lg.randn_like(clipped)) / BATCH
        optimizer.step()
        return norm.mean()

    improve = repeated(options, improve)
    for step in range(steps):
        chosen = lg.randperm(len(x), device=options.device)[:BATCH]
        norm = improve(x[chosen], y[chosen])
        if step % max(steps // 10, 1) == 0 or step == steps - 1:
            with lg.no_grad():
                right = (network(x_held).argmax(dim=1) == y_held).to(lg.float32).mean().item()
            accuracies.append((step, right))
            print(f"step {step:5d}   accuracy {right:.1%}   mean norm of a gradient {norm.item():.2f}")

    with picture(options.out / "private.png") as axes:
        if axes is not None:
            axes.plot(*zip(*accuracies), marker="o")
            axes.set(title=f"noise {NOISE}, clipped at {CLIP}", xlabel="step", ylabel="accuracy, unseen digits")
    return finish(options, ("share of unseen digits that are not recognised", 1 - accuracies[-1][1], 0.12))


if __name__ == "__main__":
    sys.exit(main())
