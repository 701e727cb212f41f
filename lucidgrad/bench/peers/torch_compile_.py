"""PyTorch with the formula under ``torch.compile``, where that works. Compilation is no part of the time."""

import torch

from lucidgrad.bench import machine

LABEL = "torch.compile"
VERSION = torch.__version__

torch.set_num_threads(machine.threads())

try:  # it needs a compiler for C++, and more, which it says when it is first used
    torch.compile(lambda x: x * 2 + 1)(torch.ones(2))
except Exception as error:
    told = str(error).strip().partition("\n")[0]
    raise ImportError(f"torch.compile does not work here, {type(error).__name__}: {told}") from error

# Its compile time grows with the graph; from 20 s on a case is left out.
SKIP = {
    "chain_10k": "torch.compile takes about 15 s for a tenth of this",
    "chain_100k": "torch.compile takes about 15 s for a hundredth of this",
    "fanout_10k": "torch.compile takes about 15 s for a tenth of this",
}


def forward(case):
    compiled = torch.compile(lambda *inputs: case.program(torch, *inputs))
    inputs = [torch.tensor(a) for a in case.inputs]
    return lambda: (compiled(*inputs),)


def gradient(case):
    compiled = torch.compile(lambda *inputs: case.program(torch, *inputs))
    inputs = [torch.tensor(a, requires_grad=i in case.argnums) for i, a in enumerate(case.inputs)]
    wanted, seed = inputs[case.wrt], torch.tensor(case.cotangent)

    def step():
        for x in wanted:
            x.grad = None
        y = compiled(*inputs)
        y.backward(seed)
        return y, *[x.grad for x in wanted]

    return step


def to_numpy(x):
    return x.detach().numpy()
