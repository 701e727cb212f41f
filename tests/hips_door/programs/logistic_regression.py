"""Logistic regression by gradient descent, with a check of the gradient."""

import autograd.numpy as np
from autograd import grad
from autograd.test_util import check_grads


def sigmoid(x):
    return 0.5 * (np.tanh(x / 2.0) + 1)


def predictions(weights, inputs):
    return sigmoid(np.dot(inputs, weights))


inputs = np.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]])
targets = np.array([True, True, False, True])


def training_loss(weights):
    guess = predictions(weights, inputs)
    likelihood = guess * targets + (1 - guess) * (1 - targets)
    return -np.sum(np.log(likelihood))


def run():
    slope = grad(training_loss)
    weights = np.array([0.0, 0.0, 0.0])
    check_grads(training_loss, modes=["rev"], order=2)(weights)
    losses = []
    for _ in range(100):
        losses.append(training_loss(weights))
        weights -= slope(weights) * 0.01
    return {"losses": np.array(losses), "weights": weights}
