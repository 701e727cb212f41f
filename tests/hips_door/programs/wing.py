"""The shape of a wing in a flow, by the gradient of lift and drag through the simulation."""

import autograd.numpy as np
from autograd import value_and_grad


def occlude(x, occlusion):
    return x * (1 - occlusion)


def project(vx, vy, occlusion):
    p = np.zeros(vx.shape)
    div = -0.5 * (np.roll(vx, -1, axis=1) - np.roll(vx, 1, axis=1) + np.roll(vy, -1, axis=0) - np.roll(vy, 1, axis=0))
    div = occlude(div, occlusion)
    for _ in range(4):
        around = np.roll(p, 1, axis=1) + np.roll(p, -1, axis=1) + np.roll(p, 1, axis=0) + np.roll(p, -1, axis=0)
        p = occlude((div + around) / 4.0, occlusion)
    vx = vx - 0.5 * (np.roll(p, -1, axis=1) - np.roll(p, 1, axis=1))
    vy = vy - 0.5 * (np.roll(p, -1, axis=0) - np.roll(p, 1, axis=0))
    return occlude(vx, occlusion), occlude(vy, occlusion)


def advect(f, vx, vy):
    rows, cols = f.shape
    cell_xs, cell_ys = np.meshgrid(np.arange(cols), np.arange(rows))
    center_xs, center_ys = (cell_xs - vx).ravel(), (cell_ys - vy).ravel()
    left, top = np.floor(center_ys).astype(int), np.floor(center_xs).astype(int)
    right_weight, bottom_weight = center_ys - left, center_xs - top
    left, right = np.mod(left, rows), np.mod(left + 1, rows)
    top, bottom = np.mod(top, cols), np.mod(top + 1, cols)
    flat = (1 - right_weight) * ((1 - bottom_weight) * f[left, top] + bottom_weight * f[left, bottom])
    flat = flat + right_weight * ((1 - bottom_weight) * f[right, top] + bottom_weight * f[right, bottom])
    return flat.reshape((rows, cols))


def simulate(vx, vy, steps, occlusion):
    red, blue = np.zeros(vx.shape), np.zeros(vx.shape)
    red[2:4, 0], blue[4:6, 0] = 1.0, 1.0
    for _ in range(steps):
        vx, vy = advect(vx, vx, vy), advect(vy, vx, vy)
        vx, vy = project(vx, vy, occlusion)
        red, blue = advect(red, vx, vy), advect(blue, vx, vy)
    return vx, vy, red - blue


def sigmoid(x):
    return 0.5 * (np.tanh(x) + 1.0)


def run():
    rows, cols, steps = 8, 10, 3
    incoming = np.zeros((rows, cols))
    incoming[:, :2] = 1.0

    def objective(params):
        occlusion = np.pad(sigmoid(np.reshape(params, (4, 4))), ((2, 2), (3, 3)), mode="constant")
        vx, vy, smoke = simulate(incoming, np.zeros((rows, cols)), steps, occlusion)
        drag, lift = np.mean(incoming - vx), np.mean(vy)
        return -lift / (drag + 0.1) + 0.01 * np.mean(smoke**2)

    params = -2.0 + np.sin(np.arange(16.0))
    values = []
    for _ in range(4):
        value, slope = value_and_grad(objective)(params)
        values.append(value)
        params = params - 0.5 * slope
    return {"values": np.array(values), "params": params}
