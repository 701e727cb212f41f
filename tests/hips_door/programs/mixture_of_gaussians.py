"""A mixture of Gaussians, fitted by the gradient of its likelihood and not by expectation-maximisation."""

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.multivariate_normal as mvn
from autograd import grad, hessian_vector_product
from autograd.misc.flatten import flatten_func
from autograd.misc.optimizers import sgd
from autograd.scipy.special import logsumexp


def init_params(components, dims, scale, rs):
    return {
        "log proportions": rs.randn(components) * scale,
        "means": rs.randn(components, dims) * scale,
        "lower triangles": np.zeros((components, dims, dims)) + np.eye(dims),
    }


def log_normalized(x):
    return x - logsumexp(x)


def unpacked(params):
    weights = log_normalized(params["log proportions"])
    for weight, mean, root in zip(weights, params["means"], params["lower triangles"]):
        yield weight, mean, np.dot(root.T, root)


def log_likelihood(params, data):
    terms = [weight + mvn.logpdf(data, mean, covariance) for weight, mean, covariance in unpacked(params)]
    return np.sum(logsumexp(np.array(terms), axis=0))


def pinwheel(rs, spokes=3, per_spoke=8):
    features = rs.randn(spokes * per_spoke, 2) * np.array([0.3, 0.05]) + np.array([1.0, 0.0])
    labels = np.repeat(np.arange(spokes), per_spoke)
    angles = 2 * np.pi * labels / spokes + 0.25 * np.exp(features[:, 0])
    turns = np.stack([np.cos(angles), -np.sin(angles), np.sin(angles), np.cos(angles)]).T
    return np.einsum("ti,tij->tj", features, np.reshape(turns, (-1, 2, 2)))


def run():
    rs = npr.RandomState(0)
    data = pinwheel(rs)
    params = init_params(3, 2, 0.5, rs)
    objective = lambda params: -log_likelihood(params, data) / len(data)
    flat, unflatten, start = flatten_func(objective, params)
    slope = grad(lambda vector: flat(vector)[0])
    curved = hessian_vector_product(lambda vector: flat(vector)[0])(start, np.ones(len(start)))
    end = sgd(lambda vector, i: slope(vector), start, num_iters=12, step_size=0.1)
    return {"data": data, "end": end, "objective": objective(unflatten(end)), "product": curved}
