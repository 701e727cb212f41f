"""A Bayesian neural network by black-box stochastic variational inference."""

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.norm as norm
from autograd import grad
from autograd.misc.optimizers import adam


def variational_objective(log_density, dims, samples, rs):
    def unpack(params):
        return params[:dims], params[dims:]

    def entropy(log_std):
        return 0.5 * dims * (1.0 + np.log(2 * np.pi)) + np.sum(log_std)

    def objective(params, i):
        mean, log_std = unpack(params)
        drawn = rs.randn(samples, dims) * np.exp(log_std) + mean
        return -(entropy(log_std) + np.mean(log_density(drawn, i)))

    return objective, grad(objective), unpack


def bayesian_net(sizes, noise_variance):
    shapes = list(zip(sizes[:-1], sizes[1:]))
    count = sum((m + 1) * n for m, n in shapes)

    def layers(weights):
        many = len(weights)
        for m, n in shapes:
            yield weights[:, : m * n].reshape((many, m, n)), weights[:, m * n : m * n + n].reshape((many, 1, n))
            weights = weights[:, (m + 1) * n :]

    def predictions(weights, inputs):
        inputs = np.expand_dims(inputs, 0)
        for W, b in layers(weights):
            outputs = np.einsum("mnd,mdo->mno", inputs, W) + b
            inputs = np.tanh(outputs)
        return outputs

    def log_density(weights, inputs, targets):
        prior = -np.sum(weights**2, axis=1) / 10.0
        fit = -np.sum((predictions(weights, inputs) - targets) ** 2, axis=1)[:, 0] / noise_variance
        return prior + fit

    return count, predictions, log_density


def run():
    rs = npr.RandomState(0)
    count, predictions, log_density = bayesian_net([1, 6, 1], 0.1)
    x = np.concatenate([np.linspace(0, 2, 6), np.linspace(6, 8, 6)])[:, None]
    y = np.cos(x) + 0.1 * rs.randn(12, 1)
    objective, slope, unpack = variational_objective(lambda w, i: log_density(w, x, y), count, 5, rs)
    start = np.concatenate([rs.randn(count), -5 * np.ones(count)])
    end = adam(slope, start, step_size=0.1, num_iters=6)
    mean, log_std = unpack(end)
    plausible = np.sum(norm.logpdf(y, predictions(mean[None], x)[0], 0.3))
    return {"mean": mean, "log_std": log_std, "plausible": plausible, "objective": objective(end, 0)}
