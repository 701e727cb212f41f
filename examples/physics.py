"""A differential equation as the loss
===================================

A physics-informed network: learn the solution of a boundary value problem from the equation alone.

The equation gives u'' on [-1, 1] and the values at both ends; it is chosen so that the solution is known,
u(x) = sin(pi x) + x exp(-x). The loss holds second derivatives of the network with respect to its input
(forward over forward), and training takes gradients of those: three orders in all.
"""

import math
import sys

from running import arguments, finish, picture, repeated

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.func import functional_call, jvp, vmap


def exact(x):
    """Return the solution."""
    return lg.sin(math.pi * x) + x * lg.exp(-x)


def source(x):
    """Return the second derivative of the solution, worked out by hand."""
    return -(math.pi**2) * lg.sin(math.pi * x) + (x - 2) * lg.exp(-x)


def curvature(f, x):
    """Return f''(x) of a function of one number."""
    one = lg.ones_like(x)

    def slope(x):
        return jvp(f, (x,), (one,))[1]

    return jvp(slope, (x,), (one,))[1]


def main():
    """Train, compare with the exact solution; return the exit status."""
    options = arguments(__doc__, steps=1200)
    network = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
    network = network.double().to(options.device)
    x = lg.linspace(-1, 1, 48, dtype=lg.float64, device=options.device)
    ends = lg.tensor([-1.0, 1.0], dtype=lg.float64, device=options.device)
    parameters = dict(network.named_parameters())

    def u(x):
        return functional_call(network, parameters, (x.reshape(1, 1),)).reshape(())

    def loss_of():
        residual = vmap(lambda x: curvature(u, x))(x) - source(x)
        boundary = vmap(u)(ends) - exact(ends)
        return (residual**2).mean() + 20 * (boundary**2).mean()

    optimizer = lg.optim.Adam(network.parameters(), lr=5e-3)
    steps = 3 if options.quick else options.steps
    scheduler = lg.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []

    def improve():
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss.detach()

    improve = repeated(options, improve)
    for step in range(steps):
        losses.append(improve().item())
        if step % max(steps // 10, 1) == 0:
            print(f"step {step:5d}   loss {losses[-1]:.3e}")

    with lg.no_grad():
        found = vmap(u)(x)
    error = (found - exact(x)).abs().max().item()
    with picture(options.out / "physics.png", columns=2) as axes:
        if axes is not None:
            axes[0].semilogy(losses)
            axes[0].set(title="training", xlabel="step", ylabel="loss")
            axes[1].plot(x.tolist(), exact(x).tolist(), label="exact")
            axes[1].plot(x.tolist(), found.tolist(), "--", label="network")
            axes[1].set(title="solution", xlabel="x")
            axes[1].legend()
    return finish(options, ("largest error of the solution", error, 0.01), ("last loss", losses[-1], 0.1))


if __name__ == "__main__":
    sys.exit(main())
