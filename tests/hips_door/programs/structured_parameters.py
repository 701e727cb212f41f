"""Parameters in dictionaries, lists and tuples: gradients of the same structure, flattened and put back."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import checkpoint, grad, value_and_grad
from autograd.misc import flatten
from autograd.misc.optimizers import sgd


def predict(params, x):
    for layer in params["layers"]:
        x = np.tanh(np.einsum("ij,jk->ik", x, layer["W"]) + layer["b"])
    gain, shift = params["last"]
    return np.mean(x, axis=1) * gain + shift


def loss(params, x, y):
    error = predict(params, x) - y
    penalty = sum(np.sum(layer["W"] ** 2) for layer in params["layers"])
    return np.mean(np.where(np.abs(error) < 0.5, error**2, np.abs(error) - 0.25)) + 0.01 * penalty


def run():
    rs = npr.RandomState(7)
    params = {
        "layers": [{"W": rs.randn(3, 4), "b": np.zeros(4)}, {"W": rs.randn(4, 2), "b": rs.randn(2)}],
        "last": (1.5, np.array(0.2)),
    }
    x, y = rs.randn(9, 3), rs.randn(9)
    value, slopes = value_and_grad(loss)(params, x, y)
    again = grad(checkpoint(lambda params: loss(params, x, y)))(params)
    flat, unflatten = flatten(params)
    end = sgd(lambda p, i: grad(loss)(p, x, y), params, step_size=0.05, num_iters=6, mass=0.8)
    scale, bias = grad(lambda scale, bias: np.sum((scale * x + bias) ** 2), (0, 1))(2.0, np.ones(3))
    return {
        "value": value, "first": slopes["layers"][0]["W"], "gain": np.array(slopes["last"][0]),
        "again": again["layers"][1]["b"], "flat": flat, "back": unflatten(flat * 2)["layers"][1]["W"],
        "end": end["layers"][0]["b"], "scale": np.array(scale), "bias": bias,
    }  # fmt: skip
