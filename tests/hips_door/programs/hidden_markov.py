"""A hidden Markov model: expected counts are the gradient of the likelihood, and so one step of its fit is short."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import value_and_grad as vgrad
from autograd.scipy.special import logsumexp


def log_partition(params, data):
    log_start, log_transition, log_emission = params
    scores = log_start + log_emission[:, data[0]]
    for letter in data[1:]:
        scores = logsumexp(scores[:, None] + log_transition, axis=0) + log_emission[:, letter]
    return logsumexp(scores)


def normalized(counts):
    return np.log(counts / counts.sum(axis=-1, keepdims=True))


def run():
    rs = npr.RandomState(0)
    states, letters = 3, 4
    data = rs.randint(0, letters, 20)
    params = tuple(normalized(rs.rand(*shape) + 0.1) for shape in [(states,), (states, states), (states, letters)])
    values = []
    for _ in range(5):
        value, counts = vgrad(log_partition)(params, data)
        values.append(value)
        params = tuple(normalized(c + 1e-3) for c in counts)
    return {"values": np.array(values), "transition": params[1], "emission": params[2]}
