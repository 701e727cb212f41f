"""Maximum likelihood of a linear Gaussian state-space model: gradients through a filter written as a loop."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad, hessian, value_and_grad


def log_likelihood(theta, series):
    a, log_q, log_r = theta
    q, r = np.exp(log_q), np.exp(log_r)
    F = np.array([[a, 0.1], [0.0, 0.9 * a]])
    H = np.array([[1.0, 0.5]])
    m, P, total = np.zeros(2), np.eye(2), 0.0
    for z in series:
        m, P = np.dot(F, m), np.dot(np.dot(F, P), F.T) + q * np.eye(2)
        S = np.dot(np.dot(H, P), H.T) + r
        K = np.linalg.solve(S, np.dot(H, P)).T
        residual = z - np.dot(H, m)
        m = m + np.dot(K, residual)
        P = P - np.dot(np.dot(K, H), P)
        sign, logdet = np.linalg.slogdet(S)
        total = total - 0.5 * (sign * logdet + np.dot(residual, np.linalg.solve(S, residual)) + np.log(2 * np.pi))
    return total


def run():
    rs = npr.RandomState(1)
    series = np.cumsum(rs.randn(12)) * 0.3
    theta = np.array([0.8, -1.0, -0.5])
    objective = lambda theta: -log_likelihood(theta, series)
    for _ in range(5):
        theta = theta - 0.01 * grad(objective)(theta)
    value, slope = value_and_grad(objective)(theta)
    return {"theta": theta, "value": value, "slope": slope, "curvature": hessian(objective)(theta)}
