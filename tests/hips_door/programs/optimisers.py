"""Rosenbrock's valley by every optimiser; and the derivative of where one arrives by its own step sizes."""

import autograd.numpy as np
from autograd import grad, hessian, value_and_grad
from autograd.misc.optimizers import adam, rmsprop, sgd
from scipy.optimize import minimize


def rosenbrock(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


def run():
    start = np.array([-0.5, 1.5])
    slope = lambda x, i: grad(rosenbrock)(x)
    ends = [
        sgd(slope, start, num_iters=20, step_size=1e-3, mass=0.5),
        rmsprop(slope, start, num_iters=20, step_size=0.01, gamma=0.8),
        adam(slope, start, num_iters=20, step_size=0.05),
    ]
    newton = start
    for _ in range(3):
        newton = newton - np.linalg.solve(hessian(rosenbrock)(newton), grad(rosenbrock)(newton))
    found = minimize(value_and_grad(rosenbrock), start, jac=True, method="BFGS", options={"maxiter": 10})

    def arrived(log_step):
        end = sgd(slope, start, num_iters=5, step_size=np.exp(log_step), mass=0.5)
        return rosenbrock(end)

    return {"ends": np.array(ends), "newton": newton, "bfgs": found.x, "by step size": grad(arrived)(-7.0)}
