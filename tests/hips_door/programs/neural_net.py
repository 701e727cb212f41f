"""A network of dense layers that tells classes apart, in batches, with a penalty on its weights."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.misc.flatten import flatten
from autograd.misc.optimizers import adam
from autograd.scipy.special import logsumexp


def predict(params, inputs):
    for W, b in params:
        outputs = np.dot(inputs, W) + b
        inputs = np.tanh(outputs)
    return outputs - logsumexp(outputs, axis=1, keepdims=True)


def l2_norm(params):
    flattened, _ = flatten(params)
    return np.dot(flattened, flattened)


def log_posterior(params, inputs, targets, penalty):
    return -penalty * l2_norm(params) + np.sum(predict(params, inputs) * targets)


def accuracy(params, inputs, targets):
    return np.mean(np.argmax(predict(params, inputs), axis=1) == np.argmax(targets, axis=1))


def run():
    rs, sizes, batch = npr.RandomState(0), [4, 7, 5, 3], 8
    params = [(0.4 * rs.randn(m, n), 0.4 * rs.randn(n)) for m, n in zip(sizes[:-1], sizes[1:])]
    inputs = rs.randn(24, 4)
    targets = np.eye(3)[np.argmax(np.dot(inputs, rs.randn(4, 3)), axis=1)]

    def objective(params, i):
        rows = slice((i % 3) * batch, (i % 3 + 1) * batch)
        return -log_posterior(params, inputs[rows], targets[rows], 0.01)

    end = adam(grad(objective), params, step_size=0.05, num_iters=15)
    return {"weights": end[0][0], "bias": end[2][1], "accuracy": accuracy(end, inputs, targets)}
