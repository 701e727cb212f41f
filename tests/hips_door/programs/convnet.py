"""A small convolutional network, with convolution and pooling as the door's SciPy has them."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import value_and_grad
from autograd.scipy.signal import convolve
from autograd.scipy.special import logsumexp


def convolved(inputs, weights, bias):
    return convolve(inputs, weights, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid") + bias


def pooled(x, size):
    n, channels, rows, cols = x.shape
    tiles = x.reshape((n, channels, rows // size, size, cols // size, size))
    return np.max(np.max(tiles, axis=3), axis=4)


def network(params, images):
    hidden = np.maximum(pooled(convolved(images, params["filters"], params["bias"]), 2), 0.0)
    outputs = np.dot(np.reshape(hidden, (len(images), -1)), params["weights"])
    return outputs - logsumexp(outputs, axis=1, keepdims=True)


def run():
    rs = npr.RandomState(0)
    images, labels = rs.randn(6, 1, 8, 8), np.eye(3)[rs.randint(0, 3, 6)]
    params = {
        "filters": 0.3 * rs.randn(1, 4, 3, 3),
        "bias": 0.1 * rs.randn(1, 4, 1, 1),
        "weights": 0.3 * rs.randn(4 * 3 * 3, 3),
    }
    loss = value_and_grad(lambda p: -np.sum(network(p, images) * labels) / len(images))
    losses = []
    for _ in range(5):
        value, slope = loss(params)
        losses.append(value)
        params = {key: params[key] - 0.1 * slope[key] for key in params}
    return {"losses": np.array(losses), "filters": params["filters"], "bias": params["bias"]}
