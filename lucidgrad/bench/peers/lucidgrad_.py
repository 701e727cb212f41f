"""lucidgrad, eager."""

import lucidgrad as lg

LABEL = "lucidgrad"
VERSION = getattr(lg, "__version__", "unreleased")


def _tensors(case):
    return [lg.tensor(a, requires_grad=i in case.argnums) for i, a in enumerate(case.inputs)]


def forward(case):
    program, inputs = case.program, [lg.tensor(a) for a in case.inputs]
    return lambda: (program(lg, *inputs),)


def record(case):
    program, inputs = case.program, _tensors(case)
    return lambda: (program(lg, *inputs),)


def gradient(case):
    program, inputs, seed = case.program, _tensors(case), lg.tensor(case.cotangent)
    wanted = inputs[case.wrt]

    def step():
        for x in wanted:
            x.grad = None
        y = program(lg, *inputs)
        y.backward(seed)
        return y, *[x.grad for x in wanted]

    return step


def to_numpy(x):
    return x.detach().numpy()
