"""Train a small network to tell two spirals apart, then prove its gradients.

Exits with an error if the loss stays above ``GOAL`` or a derivative disagrees with finite differences.
"""

import math
import random
import sys
from itertools import pairwise

import lucidgrad as lg

STEPS, RATE, GOAL = 1000, 0.5, 0.1
SIZES = [2, 16, 16, 1]


def pick_device():
    """Return "cuda" where there is a usable GPU, else "cpu"."""
    cuda = getattr(lg, "cuda", None)
    return "cuda" if cuda is not None and cuda.is_available() else "cpu"


def spirals(turns=1.0, noise=0.01, points=100):
    """Return positions and labels (1 or -1) of the points on two interleaved spirals."""
    positions, labels = [], []
    for k in range(points):
        radius = (k + 0.5) / points
        angle = 2 * math.pi * turns * radius
        for label in (1.0, -1.0):
            x, y = label * radius * math.cos(angle), label * radius * math.sin(angle)
            positions.append([x + random.gauss(0, noise), y + random.gauss(0, noise)])
            labels.append([label])
    return positions, labels


def make_parameters(device):
    """Return weight, bias, weight, bias, ... of the layers."""
    parameters = []
    for n, m in pairwise(SIZES):
        gain = 3.0 if n == 2 else 1.0  # positions are small: let the first layer see them large
        weight = lg.randn(n, m, device=device) * (gain / math.sqrt(n))
        parameters += [weight.requires_grad_(), lg.zeros(m, device=device, requires_grad=True)]
    return parameters


def margins(parameters, x, labels):
    """Return label times score of each point: positive where the network is right."""
    *hidden, weight, bias = parameters
    for w, b in zip(hidden[::2], hidden[1::2]):
        x = lg.tanh(x @ w + b)
    return labels * (x @ weight + bias)


def logistic_loss(parameters, x, labels):
    """Return the mean of ``log(1 + exp(-margin))``."""
    m = margins(parameters, x, labels)
    return lg.logaddexp(lg.zeros_like(m), -m).mean()


def train(parameters, x, labels):
    """Descend along the gradient and return the last loss."""
    for step in range(STEPS + 1):
        loss = logistic_loss(parameters, x, labels)
        if step % (STEPS // 10) == 0:
            print(f"step {step:5d}   loss {loss.item():.4f}")
        loss.backward()
        with lg.no_grad():
            for p in parameters:
                p -= RATE * p.grad
                p.zero_grad()
    return loss.item()


def accuracy(parameters, x, labels):
    """Return the share of points on the right side."""
    with lg.no_grad():
        right = [margin > 0 for (margin,) in margins(parameters, x, labels).tolist()]
    return sum(right) / len(right)


def finite_difference(loss, p, index, h=1e-6):
    """Return the central difference quotient of `loss` along one entry of `p`."""
    with lg.no_grad():
        kept = p[index].item()
        p[index] = kept + h
        above = loss().item()
        p[index] = kept - h
        below = loss().item()
        p[index] = kept
    return (above - below) / (2 * h)


def prove(parameters, positions, labels, device):
    """Compare the gradients of the trained network with finite differences, in float64."""
    double = dict(dtype=lg.float64, device=device)
    parameters = [lg.tensor(p.tolist(), requires_grad=True, **double) for p in parameters]
    x, labels = lg.tensor(positions[::5], **double), lg.tensor(labels[::5], **double)

    def loss(*ps):
        return logistic_loss(ps, x, labels)

    checked = lg.autograd.gradcheck(loss, parameters)
    print(f"gradcheck of the loss, all {sum(math.prod(p.shape) for p in parameters)} parameters: {checked}")

    print(f"\n{'parameter':<12}{'analytic':>14}{'numeric':>14}{'difference':>12}")
    loss(*parameters).backward()
    for layer, p in enumerate(parameters[::2], 1):
        for index in [(0, 0), (1, 0)]:
            analytic = p.grad[index].item()
            numeric = finite_difference(lambda: loss(*parameters), p, index)
            error = abs(analytic - numeric)
            print(f"W{layer}{list(index)!s:<10}{analytic:14.9f}{numeric:14.9f}{error:12.1e}")
            checked &= error <= 1e-7 + 1e-5 * abs(numeric)
    return checked


def main():
    """Train, report, prove; return the exit status."""
    random.seed(0)
    lg.manual_seed(0)
    device = pick_device()
    positions, labels = spirals()
    x, y = lg.tensor(positions, device=device), lg.tensor(labels, device=device)
    parameters = make_parameters(device)

    print(f"two spirals, {len(positions)} points, tanh network {'-'.join(map(str, SIZES))} on {device}\n")
    loss = train(parameters, x, y)
    print(f"\naccuracy {accuracy(parameters, x, y):.1%}, loss {loss:.4f} (goal: below {GOAL})")

    if not prove(parameters, positions, labels, device):
        print("\nthe gradients disagree with finite differences", file=sys.stderr)
        return 1
    if not loss < GOAL:
        print(f"\nthe loss did not fall below {GOAL}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
