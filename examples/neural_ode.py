"""A neural differential equation
==============================

A neural ordinary differential equation: learn a vector field from the path that a point takes in it.

The path is that of a damped pendulum, integrated exactly enough by small steps. The network's field is integrated by
the classical Runge-Kutta method, and the loss is differentiated through all of its steps. The memory that the steps
would take is bounded by checkpoints: each stretch of the path is computed again on the way back. The steps of a stretch
are a `scan`, which with ``--compile`` is a loop in C.
"""

import sys

from running import arguments, finish, picture, repeated

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.func import scan
from lucidgrad.utils.checkpoint import checkpoint

POINTS, STEP, STRETCH = 60, 0.1, 10


def pendulum(state):
    """Return the velocity of (angle, speed)."""
    angle, speed = state[..., 0], state[..., 1]
    return lg.stack([speed, -2.0 * lg.sin(angle) - 0.2 * speed], axis=-1)


def advance(field, state, step):
    """Take one Runge-Kutta step."""
    k1 = field(state)
    k2 = field(state + step / 2 * k1)
    k3 = field(state + step / 2 * k2)
    k4 = field(state + step * k3)
    return state + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def path(field, start, points, substeps=1, stretch=None):
    """Return the states at the times 0, STEP, 2 STEP, ...; ``stretch`` many steps make a checkpoint."""

    def further(state, _):
        for _ in range(substeps):
            state = advance(field, state, STEP / substeps)
        return state, state

    def go(state, count):
        return scan(further, state, length=count)[1]

    if stretch is None:
        return lg.concat([start[None], go(start, points - 1)])
    parts, state = [start[None]], start
    for first in range(0, points - 1, stretch):
        parts.append(checkpoint(go, state, min(stretch, points - 1 - first)))
        state = parts[-1][-1]
    return lg.concat(parts)


def main():
    """Train, compare with the true path; return the exit status."""
    options = arguments(__doc__, steps=200)
    starts = lg.tensor([[1.5, 0.0], [-1.0, 1.0], [0.3, -1.5]], device=options.device)
    with lg.no_grad():
        truth = path(pendulum, starts, POINTS, substeps=8)
    field = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2)).to(options.device)
    optimizer = lg.optim.Adam(field.parameters(), lr=0.02)
    steps = 2 if options.quick else options.steps
    scheduler = lg.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps, eta_min=1e-4)

    def learn(known):
        loss = ((path(field, starts, len(known), stretch=STRETCH) - known) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(field.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    learn, losses = repeated(options, learn), []
    for step in range(steps):
        seen = min(POINTS, STRETCH * (1 + step // 20))  # the path grows: long ones are hard to begin with
        losses.append(learn(truth[:seen]).item())
        scheduler.step()
        if step % max(steps // 10, 1) == 0:
            print(f"step {step:5d}   {seen:3d} points   loss {losses[-1]:.4f}")

    with lg.no_grad():
        found = path(field, starts, POINTS)
    error = (found - truth).abs().max().item()
    with picture(options.out / "neural_ode.png", columns=2) as axes:
        if axes is not None:
            axes[0].semilogy(losses, linewidth=0.8)
            axes[0].set(title="training", xlabel="step", ylabel="loss")
            for k in range(len(starts)):
                for states, style in ((truth, "k-"), (found, "C1--")):
                    angle, speed = states[:, k].cpu().T
                    axes[1].plot(angle.tolist(), speed.tolist(), style, linewidth=1)
            axes[1].set(title="true paths, and learned ones (dashed)", xlabel="angle", ylabel="speed")
    return finish(options, ("last loss", losses[-1], 0.02), ("largest distance from the true paths", error, 0.5))


if __name__ == "__main__":
    sys.exit(main())
