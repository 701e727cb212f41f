"""A variational autoencoder of binary rows, with samples by reparametrisation."""

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.norm as norm
from autograd import grad
from autograd.misc.optimizers import adam


def diag_gaussian_log_density(x, mean, log_std):
    return np.sum(norm.logpdf(x, mean, np.exp(log_std)), axis=-1)


def unpack(params):
    half = params.shape[-1] // 2
    return params[:, :half], params[:, half:]


def bernoulli_log_density(targets, scores):
    signs = targets * 2 - 1
    return np.sum(-np.logaddexp(0, -scores * signs), axis=-1)


def dense(params, x):
    for W, b in params[:-1]:
        x = np.maximum(np.dot(x, W) + b, 0.1 * x.mean())
    W, b = params[-1]
    return np.dot(x, W) + b


def lower_bound(params, data, rs):
    encoder, decoder = params
    mean, log_std = unpack(dense(encoder, data))
    code = rs.randn(*mean.shape) * np.exp(log_std) + mean
    prior = diag_gaussian_log_density(code, 0.0, 0.0)
    posterior = diag_gaussian_log_density(code, mean, log_std)
    return np.mean(prior - posterior + bernoulli_log_density(data, dense(decoder, code)))


def run():
    rs = npr.RandomState(0)
    data = (rs.rand(10, 6) > 0.5) * 1.0
    layers = lambda sizes: [(0.2 * rs.randn(m, n), 0.2 * rs.randn(n)) for m, n in zip(sizes[:-1], sizes[1:])]
    params = (layers([6, 5, 4]), layers([2, 5, 6]))
    objective = lambda params, i: -lower_bound(params, data, npr.RandomState(i))
    end = adam(grad(objective), params, step_size=0.02, num_iters=8)
    return {"encoder": end[0][0][0], "decoder": end[1][1][1], "bound": objective(end, 0)}
