"""MyGrad, with its memory guard off, as its documentation advises where speed matters."""

import mygrad as mg

LABEL = "mygrad"
VERSION = mg.__version__

SKIP = {"small_scalars": "a Python scalar makes it compute in float64"}

mg.turn_memory_guarding_off()


def _tensors(case):
    return [mg.tensor(a, constant=i not in case.argnums) for i, a in enumerate(case.inputs)]


def forward(case):
    program, inputs = case.program, [mg.tensor(a, constant=True) for a in case.inputs]

    @mg.no_autodiff
    def step():
        return (program(mg, *inputs),)

    return step


def record(case):
    program, inputs = case.program, _tensors(case)
    return lambda: (program(mg, *inputs),)


def gradient(case):
    program, inputs, seed = case.program, _tensors(case), case.cotangent
    wanted = inputs[case.wrt]

    def step():
        y = program(mg, *inputs)
        y.backward(seed)
        return y, *[x.grad for x in wanted]

    return step


def to_numpy(x):
    return mg.asarray(x)
