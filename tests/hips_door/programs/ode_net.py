"""A neural network as the right-hand side of a differential equation, fitted to points on a spiral."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.builtins import tuple
from autograd.misc.optimizers import adam
from autograd.scipy.integrate import odeint


def spiral(y, t):
    return np.dot(np.array([[-0.1, 2.0], [-2.0, -0.1]]), y**3)


def network(y, t, params):
    y = y**3
    for W, b in params[:-1]:
        y = np.tanh(np.dot(y, W) + b)
    W, b = params[-1]
    return np.dot(y, W) + b


def run():
    rs = npr.RandomState(0)
    times, start = np.linspace(0.0, 0.5, 4), np.array([2.0, 0.0])
    truth = odeint(spiral, start, times, (), rtol=1e-8, atol=1e-8)
    sizes = [2, 6, 2]
    params = [(0.3 * rs.randn(m, n), 0.1 * rs.randn(n)) for m, n in zip(sizes[:-1], sizes[1:])]

    def loss(params, i):
        states = odeint(network, start, times, tuple((params,)), rtol=1e-8, atol=1e-8)
        return np.mean(np.abs(states - truth))

    losses = []
    end = adam(grad(loss), params, step_size=0.01, num_iters=2, callback=lambda p, i, g: losses.append(loss(p, i)))
    return {"truth": truth, "losses": np.array(losses), "weights": end[0][0], "bias": end[1][1]}
