"""HIPS autograd."""

from importlib.metadata import version

import autograd.numpy as anp
from autograd import make_vjp

LABEL = "autograd"
VERSION = version("autograd")


def _vjp_maker(case):
    argnum = case.argnums if len(case.argnums) > 1 else case.argnums[0]
    return make_vjp(lambda *inputs: case.program(anp, *inputs), argnum)


def forward(case):
    program, inputs = case.program, case.inputs
    return lambda: (program(anp, *inputs),)


def record(case):
    recorded, inputs = _vjp_maker(case), case.inputs

    def step():
        _vjp, y = recorded(*inputs)
        return (y,)

    return step


def gradient(case):
    recorded, inputs, seed, several = _vjp_maker(case), case.inputs, case.cotangent, len(case.argnums) > 1

    def step():
        vjp, y = recorded(*inputs)
        gradients = vjp(seed)
        return (y, *gradients) if several else (y, gradients)

    return step


def to_numpy(x):
    return x
