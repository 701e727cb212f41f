"""Random numbers as `numpy.random` has them: its generators and its numbers for a seed, as tensors.

`normal` and `uniform` take tensors with a history, which gradients reach, and `choice`, `permutation` and `shuffle`
keep that of what they pick from; what other distributions would do with one is refused (`lucidgrad.distributions` has
derivatives of samples).
"""

from typing import Any

import lucidgrad as lg
from lucidgrad.random import drawn

from .entrance import host, in_double, library, operand, tensors_in

_SAMPLES = """
beta binomial chisquare dirichlet exponential f gamma geometric gumbel hypergeometric laplace logistic lognormal
logseries multinomial multivariate_normal negative_binomial noncentral_chisquare noncentral_f pareto poisson power
rayleigh standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular vonmises wald
weibull zipf
""".split()
_OLD = [*_SAMPLES, *"rand randn randint random random_sample ranf sample".split()]
_NEW = [*_SAMPLES, *"integers multivariate_hypergeometric permuted random".split()]


def _constant(name: str, value: Any) -> Any:
    """An argument for NumPy, which can't follow a history."""
    if any(x.requires_grad for x in tensors_in((value,))):
        raise RuntimeError(
            f"numpy.random.{name}: given a tensor that requires grad, which NumPy's samples don't depend on in a way "
            f"that has derivatives; use normal or uniform, lucidgrad.distributions (rsample), or detach it"
        )
    return host(value)


def _sampler(owner: Any, name: str) -> Any:
    """One of NumPy's samplers with tensors as its results."""
    sample = getattr(owner, name)

    def call(*args: Any, **keywords: Any) -> Any:
        args = tuple(_constant(name, value) for value in args)
        keywords = {key: _constant(name, value) for key, value in keywords.items()}
        with in_double():
            return drawn(lambda: lg.asarray(sample(*args, **keywords)), name)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"NumPy's {name}, whose numbers are tensors."
    return call


def _located(owner: Any, name: str) -> Any:
    """Samples of a distribution that is moved and scaled, so that gradients reach where and how wide it is."""
    sample = getattr(
        owner, "standard_normal" if name == "normal" else "random_sample" if owner is _module() else "random"
    )

    def call(first: Any, second: Any, size: Any) -> Any:
        with in_double():
            first, second = operand(first), operand(second)
        parts = [x for x in (first, second) if isinstance(x, lg.Tensor)]
        if size is None:
            size = tuple(lg.broadcast_shapes(*(tuple(x.shape) for x in parts))) if parts else ()
        noise = drawn(lambda: lg.asarray(sample(host(size)), dtype=lg.float64), name)
        noise = noise.to(parts[0].device) if parts else noise
        return first + (second if name == "normal" else second - first) * noise

    def normal(loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Normal numbers: gradients reach ``loc`` and ``scale``."""
        return call(loc, scale, size)

    def uniform(low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Uniform numbers between two: gradients reach both."""
        return call(low, high, size)

    return normal if name == "normal" else uniform


def _picked(owner: Any, name: str) -> Any:
    """Parts of a tensor at random places, with their history; NumPy's numbers where none is given."""
    sample = _sampler(owner, name)

    def call(x: Any, *args: Any, axis: int = 0, **keywords: Any) -> Any:
        keywords = keywords if owner is _module() else {**keywords, "axis": 0}
        if not isinstance(x, lg.Tensor) or not x.ndim:
            return sample(x, *args, **{**keywords, "axis": axis} if "axis" in keywords else keywords)
        places = sample(x.shape[axis], *args, **keywords).to(x.device)
        return lg.take(x, places, axis=axis)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"NumPy's {name}; of a tensor, its parts with their history."
    return call


def _module() -> Any:
    return library().random


def _shuffled(owner: Any) -> Any:
    def shuffle(x: Any) -> None:
        """Put the parts along the first axis into another order, in place."""
        if isinstance(x, lg.Tensor):
            order = drawn(lambda: lg.asarray(owner.permutation(x.shape[0])), "shuffle").to(x.device)
            x.copy_(lg.take(x, order, axis=0))
        else:
            owner.shuffle(x)

    return shuffle


class Generator:
    """NumPy's generator, whose numbers are tensors; `default_rng` makes one."""

    def __init__(self, bit_generator: Any) -> None:
        self._source = library().random.Generator(bit_generator)
        for name in _NEW:
            setattr(self, name, _sampler(self._source, name))
        self.normal, self.uniform = (_located(self._source, name) for name in ("normal", "uniform"))
        self.choice, self.permutation = (_picked(self._source, name) for name in ("choice", "permutation"))
        self.shuffle = _shuffled(self._source)

    @property
    def bit_generator(self) -> Any:
        """Where the random bits come from."""
        return self._source.bit_generator

    def spawn(self, n_children: int) -> list["Generator"]:
        """Independent generators."""
        return [Generator(child.bit_generator) for child in self._source.spawn(n_children)]


def default_rng(seed: Any = None) -> Generator:
    """A generator with a seed, or with one of the system's."""
    return seed if isinstance(seed, Generator) else Generator(library().random.default_rng(host(seed)).bit_generator)


for _name in _OLD:
    globals()[_name] = _sampler(_module(), _name)
normal, uniform = (_located(_module(), name) for name in ("normal", "uniform"))
choice, permutation = (_picked(_module(), name) for name in ("choice", "permutation"))
shuffle = _shuffled(_module())
seed, get_state, set_state = _module().seed, _module().get_state, _module().set_state

__all__ = [
    "Generator", "choice", "default_rng", "get_state", "normal", "permutation", "seed", "set_state", "shuffle",
    "uniform", *_OLD,
]  # fmt: skip
