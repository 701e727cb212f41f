"""Fitting with SciPy's minimisers
===============================

L-BFGS and trust regions through SciPy, with exact gradients and Hessian products.

A sum of Gaussian peaks is fitted to a noisy spectrum; the parameters are a tree (a dictionary), which
`minimize_scipy` flattens and puts together again. The same problem is solved by L-BFGS-B, which sees gradients, and by
trust-ncg, which sees products of the Hessian with vectors as well and needs far fewer steps.
"""

import sys

from running import arguments, finish, picture

import lucidgrad as lg

NOISE = 0.02


def spectrum(p, x):
    """Return the sum of the peaks."""
    z = (x[:, None] - p["position"]) / lg.exp(p["log_width"])
    return (p["height"] * lg.exp(-0.5 * z**2)).sum(axis=1) + p["floor"]


def main():
    """Fit, compare with the truth; return the exit status."""
    options = arguments(__doc__)
    double = dict(dtype=lg.float64, device=options.device)
    truth = {
        "position": lg.tensor([-1.0, 0.4, 1.5], **double),
        "height": lg.tensor([1.0, 0.6, 0.8], **double),
        "log_width": lg.log(lg.tensor([0.30, 0.20, 0.40], **double)),
        "floor": lg.tensor(0.1, **double),
    }
    x = lg.linspace(-3, 3, 200, **double)
    y = spectrum(truth, x)
    y = y + NOISE * lg.randn(*y.shape, **double)
    guess = {
        "position": lg.tensor([-0.8, 0.3, 1.7], **double),
        "height": lg.tensor([0.7, 0.7, 0.7], **double),
        "log_width": lg.log(lg.tensor([0.3, 0.3, 0.3], **double)),
        "floor": lg.tensor(0.0, **double),
    }

    def misfit(p):
        return ((spectrum(p, x) - y) ** 2).mean() / NOISE**2

    results = {}
    for method in ("L-BFGS-B", "trust-ncg"):
        limit = {"maxiter": 3} if options.quick else {}
        results[method] = lg.optim.minimize_scipy(misfit, guess, method=method, options=limit)
        r = results[method]
        print(f"{method:10} misfit {float(r.fun):8.4f} after {r.nit} steps, {r.nfev} values, {r.njev} gradients")

    found = results["trust-ncg"].x
    shift = (found["position"] - truth["position"]).abs().max().item()
    gap = abs(float(results["trust-ncg"].fun) - float(results["L-BFGS-B"].fun))
    with picture(options.out / "fitting.png") as axes:
        if axes is not None:
            axes.plot(x.tolist(), y.tolist(), ".", markersize=3, color="0.6")
            axes.plot(x.tolist(), spectrum(found, x).tolist())
            axes.set(title="three peaks", xlabel="x")
    return finish(
        options,
        ("misfit in units of the noise", float(results["trust-ncg"].fun), 1.3),
        ("largest error of a position", shift, 0.02),
        ("difference between the methods", gap, 1e-4),
    )


if __name__ == "__main__":
    sys.exit(main())
