"""Mixed sounds taken apart by the likelihood of heavy-tailed sources, on a matrix that is differentiated through."""

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.t as t
from autograd import value_and_grad
from scipy.optimize import minimize


def run():
    rs = npr.RandomState(0)
    sources = rs.standard_t(3.0, (3, 40))
    mixed = np.dot(rs.randn(3, 3), sources)

    def log_likelihood(flat):
        matrix = flat.reshape((3, 3))
        return np.sum(t.logpdf(np.dot(matrix, mixed), 3.0)) + mixed.shape[1] * np.linalg.slogdet(matrix)[1]

    objective = lambda flat: -log_likelihood(flat) / 40.0
    start = np.eye(3).ravel() + 0.1 * rs.randn(9)
    found = minimize(value_and_grad(objective), start, jac=True, method="CG", options={"maxiter": 4})
    return {"start": value_and_grad(objective)(start)[1], "end": found.x}
