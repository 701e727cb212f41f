"""A fluid whose first velocities are optimised so that smoke ends up as a picture."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import value_and_grad
from scipy.optimize import minimize


def project(vx, vy):
    """Make the velocities free of divergence, by a few steps of Jacobi's iteration."""
    h = 1.0 / vx.shape[0]
    div = (
        -0.5 * h * (np.roll(vx, -1, axis=0) - np.roll(vx, 1, axis=0) + np.roll(vy, -1, axis=1) - np.roll(vy, 1, axis=1))
    )
    p = np.zeros(vx.shape)
    for _ in range(5):
        around = np.roll(p, 1, axis=0) + np.roll(p, -1, axis=0) + np.roll(p, 1, axis=1) + np.roll(p, -1, axis=1)
        p = (div + around) / 4.0
    vx = vx - 0.5 * (np.roll(p, -1, axis=0) - np.roll(p, 1, axis=0)) / h
    vy = vy - 0.5 * (np.roll(p, -1, axis=1) - np.roll(p, 1, axis=1)) / h
    return vx, vy


def advect(f, vx, vy):
    """Move a field along the velocities: each cell looks back, between its neighbours."""
    rows, cols = f.shape
    cell_ys, cell_xs = np.meshgrid(np.arange(rows), np.arange(cols))
    center_xs, center_ys = (cell_xs - vx).ravel(), (cell_ys - vy).ravel()
    left, top = np.floor(center_xs).astype(int), np.floor(center_ys).astype(int)
    right_weight, bottom_weight = center_xs - left, center_ys - top
    left, right = np.mod(left, rows), np.mod(left + 1, rows)
    top, bottom = np.mod(top, cols), np.mod(top + 1, cols)
    flat = (1 - right_weight) * ((1 - bottom_weight) * f[left, top] + bottom_weight * f[left, bottom])
    flat = flat + right_weight * ((1 - bottom_weight) * f[right, top] + bottom_weight * f[right, bottom])
    return np.reshape(flat, (rows, cols))


def simulate(vx, vy, smoke, steps):
    for _ in range(steps):
        moved_x, moved_y = advect(vx, vx, vy), advect(vy, vx, vy)
        vx, vy = project(moved_x, moved_y)
        smoke = advect(smoke, vx, vy)
    return smoke


def run():
    n, steps = 8, 3
    rs = npr.RandomState(0)
    smoke, target = rs.rand(n, n), np.zeros((n, n))
    target[2:6, 3:5] = 1.0

    def distance(params):
        vx, vy = np.reshape(params[: n * n], (n, n)), np.reshape(params[n * n :], (n, n))
        return np.mean((target - simulate(vx, vy, smoke, steps)) ** 2)

    start = 0.3 * rs.randn(2 * n * n)
    value, slope = value_and_grad(distance)(start)
    found = minimize(value_and_grad(distance), start, jac=True, method="CG", options={"maxiter": 3})
    return {"value": value, "slope": slope, "end": found.x}
