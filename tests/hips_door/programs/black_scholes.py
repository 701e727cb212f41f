"""The Black-Scholes price of an option, and its Greeks as derivatives."""

import autograd.numpy as np
import autograd.scipy.stats as stats
from autograd import elementwise_grad, grad, hessian


def price(spot, strike, rate, volatility, expiry):
    root = volatility * np.sqrt(expiry)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * expiry) / root
    d2 = d1 - root
    return spot * stats.norm.cdf(d1) - strike * np.exp(-rate * expiry) * stats.norm.cdf(d2)


def run():
    args = (102.0, 95.0, 0.02, 0.25, 0.75)
    delta, rho, vega = (grad(price, n)(*args) for n in (0, 2, 3))
    theta = -grad(price, 4)(*args)
    gamma = grad(grad(price, 0), 0)(*args)
    vanna = grad(grad(price, 0), 3)(*args)
    spots = np.linspace(60.0, 140.0, 9)
    deltas = elementwise_grad(price)(spots, 95.0, 0.02, 0.25, 0.75)
    both = hessian(lambda x: price(x[0], 95.0, 0.02, x[1], 0.75))(np.array([102.0, 0.25]))
    return {
        "price": price(*args),
        "greeks": np.array([delta, rho, vega, theta, gamma, vanna]),
        "deltas": deltas,
        "hessian": both,
    }
