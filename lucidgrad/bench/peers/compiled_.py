"""lucidgrad, the whole step under ``lg.compile``. Compilation is no part of the time; a look at the arguments is."""

import lucidgrad as lg

LABEL = "lucidgrad compiled"
VERSION = getattr(lg, "__version__", "unreleased")

SKIP = {"chain_100k": "lg.compile takes about 5 s for a tenth of this, and the chain is the same"}


def _step(function, *arrays):
    compiled, tensors = lg.compile(function, fullgraph=True), [lg.tensor(a) for a in arrays]
    compiled(*tensors)  # the first call is the function itself
    return lambda: compiled(*tensors)


def forward(case):
    return _step(lambda *inputs: (case.program(lg, *inputs),), *case.inputs)


def gradient(case):
    def value_and_gradients(seed, *inputs):
        def of_wanted(*wanted):
            arguments = list(inputs)
            arguments[case.wrt] = wanted
            return case.program(lg, *arguments)

        y, vjp = lg.func.vjp(of_wanted, *inputs[case.wrt])
        return y, *vjp(seed)

    return _step(value_and_gradients, case.cotangent, *case.inputs)


def to_numpy(x):
    return x.numpy()
