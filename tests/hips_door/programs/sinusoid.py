"""A Taylor polynomial that stops where its terms are small: loops and decisions that are differentiated."""

import autograd.numpy as np
from autograd import grad


def taylor_sine(x):
    total = term = x
    i = 0
    while np.abs(term) > 1e-4:
        term = -term * x * x / ((2 * i + 3) * (2 * i + 2))
        total = total + term
        i += 1
    return total


def run():
    first, second = grad(taylor_sine), grad(grad(taylor_sine))
    points = [0.5, np.pi / 3, 2.0, 3.0]
    return {"slope": np.array([first(x) for x in points]), "bend": np.array([second(x) for x in points])}
