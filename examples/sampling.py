"""Hamiltonian Monte Carlo
=======================

Bayesian regression by Hamiltonian Monte Carlo: draw parameters from their posterior, following gradients.

A quadratic is fitted to noisy points, with an unknown noise level. Several chains run side by side through vmap, each
with gradients of the log-posterior. For the linear part the posterior is known in closed form given the noise, which
tells whether the draws are right.
"""

import math
import sys

from running import arguments, finish, picture, repeated

import lucidgrad as lg
from lucidgrad.func import value_and_grad, vmap

CHAINS, LEAPS = 4, 12
TRUTH, NOISE, PRIOR = [0.5, -1.0, 2.0], 0.3, 3.0


def main():
    """Sample, compare with the closed form; return the exit status."""
    options = arguments(__doc__, draws=400)
    double = dict(dtype=lg.float64, device=options.device)
    x = lg.linspace(-1, 1, 40, **double)
    design = lg.stack([lg.ones_like(x), x, x**2], axis=1)
    truth = lg.tensor(TRUTH, **double)
    y = design @ truth + NOISE * lg.randn(40, **double)

    def log_posterior(q):
        """The logarithm of the posterior of three coefficients and the logarithm of the noise, up to a constant."""
        weights, log_noise = q[:3], q[3]
        likelihood = -0.5 * (((y - design @ weights) / lg.exp(log_noise)) ** 2).sum() - len(x) * log_noise
        return likelihood - 0.5 * (weights**2).sum() / PRIOR**2 - 0.5 * log_noise**2

    both = vmap(value_and_grad(log_posterior))

    def leap(q, p, slope, step):
        for _ in range(LEAPS):
            p = p + 0.5 * step * slope
            q = q + step * p
            value, slope = both(q)
            p = p + 0.5 * step * slope
        return q, p, value, slope

    leap = repeated(options, leap)
    draws = 5 if options.quick else options.draws
    warmup = draws // 2
    q = lg.zeros(CHAINS, 4, **double)
    value, slope = both(q)
    step, kept, accepted = 0.05, [], []
    for k in range(warmup + draws):
        p = lg.randn(CHAINS, 4, **double)
        q_new, p_new, value_new, slope_new = leap(q, p, slope, lg.tensor(step, **double))
        gain = value_new - value + 0.5 * (p**2).sum(axis=1) - 0.5 * (p_new**2).sum(axis=1)
        take = lg.log(lg.rand(CHAINS, **double)) < gain
        q = lg.where(take[:, None], q_new, q)
        value, slope = lg.where(take, value_new, value), lg.where(take[:, None], slope_new, slope)
        rate = gain.clip(max=0.0).exp().mean().item()
        if k < warmup:
            step *= math.exp(0.1 * (rate - 0.8))  # towards accepting four of five
        else:
            kept.append(q)
            accepted.append(rate)

    sample = lg.stack(kept)  # (draws, chains, 4)
    mean, spread = sample.mean(axis=(0, 1)), sample.reshape(-1, 4).std(axis=0)
    between = sample.mean(axis=0).var(axis=0, correction=1)
    within = sample.var(axis=0, correction=1).mean(axis=0)
    mixing = (1 + between / within).sqrt().max().item()  # Gelman and Rubin's figure: 1 where the chains agree
    noise = lg.exp(sample[..., 3]).mean().item()
    precision = design.T @ design / noise**2 + lg.eye(3, **double) / PRIOR**2
    exact = lg.linalg.solve(precision, design.T @ y / noise**2)
    off = ((mean[:3] - exact).abs() / spread[:3]).max().item()
    print(f"accepted {sum(accepted) / len(accepted):.0%}, step {step:.3f}, noise {noise:.3f} (true {NOISE})")
    for name, m, s, e, t in zip("abc", mean.tolist(), spread.tolist(), exact.tolist(), TRUTH):
        print(f"{name}  {m:7.3f} ± {s:.3f}   closed form {e:7.3f}   true {t:5.2f}")

    with picture(options.out / "sampling.png", columns=2) as axes:
        if axes is not None:
            axes[0].plot(sample[:, :, 2].cpu().tolist(), linewidth=0.5)
            axes[0].set(title="chains of the third coefficient", xlabel="draw")
            for weights in sample.reshape(-1, 4)[:: max(draws // 12, 1), :3]:
                axes[1].plot(x.tolist(), (design @ weights).tolist(), color="C0", alpha=0.15)
            axes[1].plot(x.tolist(), y.tolist(), "k.")
            axes[1].set(title="curves drawn from the posterior")
    return finish(
        options,
        ("distance from the closed form, in standard deviations", off, 0.25),
        ("mixing of the chains", mixing, 1.1),
    )


if __name__ == "__main__":
    sys.exit(main())
