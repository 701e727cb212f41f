"""Regression with a Gaussian process: the covariance's parameters by the gradient of the marginal likelihood."""

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.multivariate_normal as mvn
from autograd import value_and_grad
from autograd.numpy.linalg import solve
from scipy.optimize import minimize


def rbf_covariance(params, x1, x2):
    output_scale, lengths = np.exp(params[0]), np.exp(params[1:])
    diffs = np.expand_dims(x1 / lengths, 1) - np.expand_dims(x2 / lengths, 0)
    return output_scale * np.exp(-0.5 * np.sum(diffs**2, axis=2))


def unpack(params):
    return params[0], params[2:], np.exp(params[1]) + 1e-4


def predict(params, x, y, where):
    mean, cov_params, noise = unpack(params)
    across = rbf_covariance(cov_params, x, where)
    within = rbf_covariance(cov_params, x, x) + noise * np.eye(len(y))
    predicted = mean + np.dot(solve(within, across).T, y - mean)
    covariance = rbf_covariance(cov_params, where, where) - np.dot(solve(within, across).T, across)
    return predicted, covariance


def log_marginal_likelihood(params, x, y):
    mean, cov_params, noise = unpack(params)
    covariance = rbf_covariance(cov_params, x, x) + noise * np.eye(len(y))
    return mvn.logpdf(y, mean * np.ones(len(y)), covariance)


def run():
    rs = npr.RandomState(0)
    x = rs.uniform(-3, 3, (12, 1))
    y = np.sin(x[:, 0]) + 0.05 * rs.randn(12)
    objective = value_and_grad(lambda params: -log_marginal_likelihood(params, x, y))
    start = 0.1 * rs.randn(4)
    found = minimize(objective, start, jac=True, method="CG", options={"maxiter": 6})
    mean, covariance = predict(found.x, x, y, np.linspace(-3, 3, 7)[:, None])
    return {"params": found.x, "start": objective(start)[1], "mean": mean, "spread": np.sqrt(np.diag(covariance))}
