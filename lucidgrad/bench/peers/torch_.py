"""PyTorch, eager: what the ratios are against.

``y.backward()`` is timed, which takes 5 to 15 % less than ``torch.autograd.grad`` in most of these cases.
"""

import torch

from lucidgrad.bench import machine

LABEL = "torch eager"
VERSION = torch.__version__

torch.set_num_threads(machine.threads())


def _tensors(case):
    return [torch.tensor(a, requires_grad=i in case.argnums) for i, a in enumerate(case.inputs)]


def forward(case):
    program, inputs = case.program, [torch.tensor(a) for a in case.inputs]
    return lambda: (program(torch, *inputs),)


def record(case):
    program, inputs = case.program, _tensors(case)
    return lambda: (program(torch, *inputs),)


def gradient(case):
    program, inputs, seed = case.program, _tensors(case), torch.tensor(case.cotangent)
    wanted = inputs[case.wrt]

    def step():
        for x in wanted:
            x.grad = None
        y = program(torch, *inputs)
        y.backward(seed)
        return y, *[x.grad for x in wanted]

    return step


def to_numpy(x):
    return x.detach().numpy()
