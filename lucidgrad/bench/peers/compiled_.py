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
    formula, n = case.formula, case.n  # a program depends on what the function holds: not on all that a case has
    return _step(lambda *inputs: (formula(lg, n, *inputs),), *case.inputs)


def gradient(case):
    formula, n, wrt = case.formula, case.n, case.wrt

    def value_and_gradients(seed, *inputs):
        def of_wanted(*wanted):
            arguments = list(inputs)
            arguments[wrt] = wanted
            return formula(lg, n, *arguments)

        y, vjp = lg.func.vjp(of_wanted, *inputs[wrt])
        return y, *vjp(seed)

    return _step(value_and_gradients, case.cotangent, *case.inputs)


def to_numpy(x):
    return x.numpy()
