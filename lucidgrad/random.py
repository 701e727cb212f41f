"""Random tensors: a generator per device, seeded together by `manual_seed`."""

import contextlib
import functools
import math
import os
from collections.abc import Callable, Iterator
from typing import Any

from lucidgrad.refusals import guard as _guard

from .core import device as devices, dtype as dtypes
from .core.device import Device
from .core.dispatch import box, number
from .creation import _shape
from .levels.batching import enter_level, leave_level
from .levels.layer import Layer, draws
from .levels.traced import Traced, acting, fail, set_back, tracing
from .ops.elementwise.exponential import exp, log1p
from .ops.elementwise.rounding import floor
from .ops.elementwise.trigonometric import tan
from .ops.shape.joining import stack
from .ops.shape.layout import reshape
from .tensor import Tensor

__all__ = [
    "Generator", "bernoulli", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "multinomial", "normal",
    "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "seed", "set_rng_state",
    "uniform",
]  # fmt: skip


class Generator:
    """A stream of random numbers on a device.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> g = lg.Generator().manual_seed(7)
    >>> a = lg.rand(3, generator=g)
    >>> bool((a == lg.rand(3, generator=g.manual_seed(7))).all())
    True
    """

    source: Any  # of the back end

    def __init__(self, device: Any = "cpu") -> None:
        self.device = devices.located(device)
        self.seed()

    def manual_seed(self, seed: int) -> "Generator":
        """Start anew from a seed."""
        fail("a generator was started anew")
        self._start(seed)
        return self

    def _start(self, seed: int) -> None:
        backend = devices.backend_named(self.device)
        made = backend.generator(self.device, seed)
        if hasattr(self, "source"):  # which CUDA graphs that were recorded draw from
            backend.set_state(self.source, backend.get_state(made))
        else:
            self.source = made
        self._began = seed

    def seed(self) -> int:
        """Start anew from a seed that the system gives; returns it."""
        self.manual_seed(_drawn_seed())
        return self._began

    def initial_seed(self) -> int:
        """The seed that it was last started from."""
        return self._began

    def get_state(self) -> Any:
        """The state, to be given to `set_state`."""
        return devices.backend_named(self.device).get_state(self.source)

    def set_state(self, state: Any) -> None:
        """Go on from a state that `get_state` gave."""
        set_back()
        devices.backend_named(self.device).set_state(self.source, state)


def _drawn_seed() -> int:
    return int.from_bytes(os.urandom(8)) >> 2  # below 2**62


_seed: dict[str, int] = {}
_defaults: dict[Device, Generator] = {}
_of_parent: list[Generator] = []  # alive, since to free them would ask their devices


def _leave_devices() -> None:
    """A forked process can't use its parent's devices: to seed their generators might wait for ever."""
    for where in [where for where in _defaults if where.type != "cpu"]:
        _of_parent.append(_defaults.pop(where))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_devices)


def manual_seed(seed: int) -> Generator:
    """Start the default generators of all devices anew from a seed; returns the CPU's.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> g = lg.manual_seed(0)
    >>> a = lg.rand(2)
    >>> g = lg.manual_seed(0)
    >>> lg.array_equal(a, lg.rand(2))
    True
    """
    _seed["value"] = int(seed)
    for generator in _defaults.values():
        generator.manual_seed(_seed["value"])
    return default_generator(Device("cpu"))


def seed() -> int:
    """Start the default generators of all devices anew from a seed that the system gives; returns it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> isinstance(lg.random.seed(), int)
    True
    """
    return manual_seed(_drawn_seed()).initial_seed()


def initial_seed() -> int:
    """The seed that the CPU's default generator was last started from.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> generator = lg.manual_seed(7)
    >>> lg.random.initial_seed()
    7
    """
    return default_generator(Device("cpu")).initial_seed()


def default_generator(device: Device) -> Generator:
    """The generator that is used on a device where none is given."""
    found = _defaults.get(device)
    if found is None:
        found = Generator.__new__(Generator)
        found.device = devices.located(device)
        found._start(_seed["value"] if _seed else _drawn_seed())  # once, for all runs of what may be traced now
        found = _defaults.setdefault(device, found)  # another thread may have made one meanwhile
    return found


def states() -> dict[Device, Any]:
    """The states of all default generators, to be given to `set_states`."""
    return {device: generator.get_state() for device, generator in _defaults.items()}


def set_states(states: dict[Device, Any]) -> None:
    """Go on from states that `states` gave."""
    for device, value in states.items():
        default_generator(device).set_state(value)


def remember() -> tuple[dict[Device, Any], int]:
    """All that `recall` needs: the states, and the seed of default generators that will be made later."""
    if not _seed:
        _seed["value"] = _drawn_seed()
    return states(), _seed["value"]


def recall(memory: tuple[dict[Device, Any], int]) -> None:
    """Go on from where `remember` was called; generators that were made since begin anew."""
    known, seed = memory
    for device, generator in _defaults.items():
        if device not in known:
            generator.manual_seed(seed)
    set_states(known)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """A part of a program after which random numbers go on as if it had not drawn any, on all devices.

    Parameters
    ----------
    devices
        Accepted as in PyTorch: all devices are meant.
    enabled
        False: nothing is restored.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> generator = lg.manual_seed(3)
    >>> with lg.random.fork_rng():
    ...     a = lg.rand(2)
    >>> bool((lg.rand(2) == a).all())
    True
    """
    memory = remember() if enabled else None
    try:
        yield
    finally:
        if memory is not None:
            recall(memory)


def get_rng_state(device: Any = None) -> Any:
    """Where random numbers stand: a tree of numbers and strings, which `lucidgrad.save` can keep.

    Parameters
    ----------
    device
        The device whose default generator is asked; None: those of all devices, and the seed of others to come.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> state = lg.random.get_rng_state()
    >>> a = lg.rand(3)
    >>> lg.random.set_rng_state(state)
    >>> bool((a == lg.rand(3)).all())
    True
    """
    if device is not None:
        return default_generator(devices.located(device)).get_state()
    default_generator(Device("cpu"))
    return {"seed": _seed.get("value"), **{str(where): state for where, state in states().items()}}


def set_rng_state(state: Any, device: Any = None) -> None:
    """Go on from a state that `get_rng_state` gave, for one device or for all; a state that is none changes nothing.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> state = lg.get_rng_state()
    >>> a = lg.rand(2)
    >>> lg.set_rng_state(state)
    >>> lg.array_equal(a, lg.rand(2))
    True
    """
    if device is not None:
        state = {str(devices.located(device)): state}
    elif not isinstance(state, dict) or "seed" not in state:
        raise TypeError("set_rng_state: given no state of all devices; for the state of one, say which device")
    found = {devices.located(name): value for name, value in state.items() if name != "seed"}
    try:
        for where, value in found.items():
            Generator(where).set_state(value)  # a trial: nothing is changed if this fails
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(f"set_rng_state: given no state of a generator on {where}") from error
    set_states(found)
    if state.get("seed") is not None:
        _seed["value"] = state["seed"]


class Draw:
    """Random numbers that a program draws: called, it gives an array of new ones."""

    __slots__ = ("args", "dtype", "generator", "how", "shape")

    def __init__(
        self, generator: Generator, how: str, shape: tuple[int, ...], dtype: Any, args: tuple[Any, ...]
    ) -> None:
        self.generator, self.how, self.shape, self.dtype, self.args = generator, how, shape, dtype, args

    def __call__(self) -> Any:
        backend = devices.backend_named(self.generator.device)
        return backend.draw(self.generator.source, self.how, self.shape, self.dtype, *self.args)

    @property
    def by_default(self) -> bool:
        """Whether they are those of a default generator."""
        return _defaults.get(self.generator.device) is self.generator


def drawn_again(how: str, shape: tuple[int, ...], dtype: Any, device: Device, args: tuple[Any, ...]) -> Tensor:
    """What a `Draw` of a default generator says, drawn now: inside transforms and programs, too."""
    return _draw(how, (shape,), dtype, device, None, False, *args)


def _draw(
    how: str,
    size: tuple[Any, ...],
    dtype: Any,
    device: Any,
    generator: Generator | None,
    requires_grad: bool,
    *args: Any,
) -> Tensor:
    where = generator.device if generator is not None and device is None else devices.located(device)
    source = default_generator(where) if generator is None else generator
    if source.device != where:
        raise RuntimeError(f"{how}: the generator is on {source.device}, the tensor is wanted on {where}")
    dtype = dtypes.get_default_dtype() if dtype is None else dtype
    backend = devices.backend_named(where)
    shape = _shape(size, how)
    if not draws.maps and tracing() is None:
        made = box(backend.draw(source.source, how, shape, dtype, *args))
    else:
        _keep(source)

        def draw(extra: tuple[int, ...]) -> Tensor:
            return box(acting(how, Draw(source, how, (*extra, *shape), dtype, args), draws=True))

        made = _draw_in_maps(draw, how) if draws.maps else draw(())
    return made if requires_grad is False else made.requires_grad_(requires_grad)


def _keep(source: Generator) -> None:
    """If a part of a program is being traced, a generator may have to be set back when that is done."""
    trace = tracing()
    if trace is not None and trace.part is not None and id(source) not in trace.part.drawn:
        put_back = devices.backend_named(source.device).set_state
        trace.part.drawn[id(source)] = functools.partial(put_back, source.source, source.get_state())


def _draw_in_maps(draw: Callable[[tuple[int, ...]], Tensor], how: str) -> Tensor:
    """Inside vmap: numbers for each example, or the same for all, as its randomness says."""
    if any(randomness == "error" for _, _, randomness in draws.maps):
        raise RuntimeError(
            f"vmap: the function draws random numbers ({how}); say what is meant: randomness='different' "
            f"for each example, or randomness='same'"
        )
    maps = [(level, size) for level, size, randomness in draws.maps if randomness == "different"]
    sizes = tuple(size for _, size in maps)
    if how == "permutation" and maps:  # it is not made number by number
        rows: Tensor = stack([draw(()) for _ in range(math.prod(sizes))])
        made = reshape(rows, (*sizes, *rows.shape[1:]))
    else:
        made = draw(sizes)
    for level, size in maps:
        made = enter_level(made, level=level, size=size)
    return made


def drawn(sample: Callable[[], Tensor], how: str) -> Tensor:
    """What a sampler of another library gives: inside vmap for each example, or the same for all."""
    if not draws.maps:
        return sample()

    def draw(extra: tuple[int, ...]) -> Tensor:
        rows: Tensor = stack([sample() for _ in range(math.prod(extra))])
        return reshape(rows, (*extra, *rows.shape[1:]))

    return _draw_in_maps(draw, how)


def rand(
    *size: Any,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform numbers in [0, 1).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.rand(2, 3).shape
    (2, 3)
    """
    return _draw("uniform", size, dtype, device, generator, requires_grad, 0.0, 1.0)


def randn(
    *size: Any,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normally distributed numbers.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.randn(2, 3).shape
    (2, 3)
    """
    return _draw("normal", size, dtype, device, generator, requires_grad, 0.0, 1.0)


def uniform(
    low: float = 0.0,
    high: float = 1.0,
    size: Any = (),
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform numbers in [low, high).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.uniform(2.0, 3.0, (100,))
    >>> bool(((x >= 2) & (x < 3)).all())
    True
    """
    return _draw(
        "uniform",
        (size,) if isinstance(size, int) else (tuple(size),),
        dtype,
        device,
        generator,
        requires_grad,
        low,
        high,
    )


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, dtype: Any = None,
           device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Normal numbers; with tensors for ``mean`` or ``std`` the shape is theirs and gradients reach them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.normal(lg.zeros(3), 1.0).shape
    (3,)
    """
    given = [p for p in (mean, std) if isinstance(p, Tensor)]
    if given and size is None:
        shape = (mean + std).shape if isinstance(mean, Tensor) and isinstance(std, Tensor) else given[0].shape
        noise = _draw(
            "normal", (shape,), dtype or given[0].dtype, device or given[0].device, generator, False, 0.0, 1.0
        )
        return mean + std * noise
    shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    return _draw("normal", (shape,), dtype, device, generator, requires_grad, mean, std)


def randint(low: int, high: Any = None, size: Any = None, *, generator: Generator | None = None, dtype: Any = None,
            device: Any = None) -> Tensor:  # fmt: skip
    """Integers in [low, high), or in [0, low) if only one bound is given: ``randint(10, (2, 3))``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.randint(0, 10, (100,))
    >>> bool(((x >= 0) & (x < 10)).all())
    True
    """
    if size is None:
        low, high, size = 0, low, () if high is None else high
    high, size = number(high), number(size)
    dtype = dtypes.named("int64") if dtype is None else dtype
    return _draw(
        "integers",
        (size,) if isinstance(size, int) else (tuple(size),),
        dtype,
        device,
        generator,
        False,
        low,
        high,
    )


def randperm(n: int, *, generator: Generator | None = None, dtype: Any = None, device: Any = None) -> Tensor:
    """The numbers 0 to n - 1 in random order.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> sorted(lg.randperm(4).tolist())
    [0, 1, 2, 3]
    """
    dtype = dtypes.named("int64") if dtype is None else dtype
    return _draw("permutation", (n,), dtype, device, generator, False)


def bernoulli(p: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Zeros and ones, a one with the probability that ``p`` gives for its place.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.bernoulli(lg.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    chance = _draw("uniform", (p.shape,), p.dtype, p.device, generator, False, 0.0, 1.0)
    return (chance < p.detach()).to(p.dtype)


def multinomial(
    p: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Indices drawn with the weights ``p`` (a vector, or one per row).

    Inside vmap the weights may differ between the examples where ``randomness`` is "different".

    Examples
    --------
    >>> import lucidgrad as lg
    >>> weights = lg.asarray([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    >>> lg.func.vmap(lambda p: lg.multinomial(p, 3, True), randomness="different")(weights).tolist()
    [[1, 1, 1], [2, 2, 2]]
    """
    if p.ndim not in (1, 2):
        raise ValueError(f"multinomial: given {p.ndim} dimensions, expected 1 or 2")
    if not replacement and num_samples > p.shape[-1]:
        raise ValueError(f"multinomial: {num_samples} samples without replacement from {p.shape[-1]} categories")
    lead, where, weights = p.shape[:-1], p.device, p.detach()
    for level, size, randomness in reversed(draws.maps):
        if randomness == "different":  # the weights of all examples at once
            weights = leave_level(weights, level=level, size=size)
    if type(weights.array) is Traced:  # no program draws by weights: they are read
        weights = box(devices.backend_named(where).from_numpy(weights.cpu().numpy(), str(where)))
    if isinstance(weights.array, Layer) and not any(randomness == "error" for _, _, randomness in draws.maps):
        raise RuntimeError(
            "multinomial: inside vmap with randomness='same' the weights differ between the examples, "
            "so no draw is the same for all of them; use randomness='different'"
        )
    given = weights.array, num_samples, replacement
    return _draw("multinomial", (lead,), dtypes.named("int64"), where, generator, False, *given)


# -- written into a tensor -----------------------------------------------------------------------
def _filled(x: Tensor, name: str, how: str, generator: Generator | None, *args: Any, real: bool = True) -> Tensor:
    """Numbers for each element of a tensor, in its dtype or in the default one."""
    inexact = x.is_floating_point() or x.is_complex()
    if real and not inexact:
        raise RuntimeError(f"{name}: given a tensor of {x.dtype}, expected real numbers")
    return _draw(how, (x.shape,), x.dtype if inexact else None, x.device, generator, False, *args)


def normal_(x: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Write normal numbers.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.zeros(2, 3).normal_().shape
    (2, 3)
    """
    if std < 0:
        raise RuntimeError(f"normal_: given std={std}, expected at least 0")
    return x.copy_(_filled(x, "normal_", "normal", generator, 0.0, 1.0) * std + mean)


def uniform_(x: Tensor, from_: float = 0, to: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Write uniform numbers from one bound up to the other.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros(10).uniform_(2.0, 3.0)
    >>> bool(((x >= 2) & (x < 3)).all())
    True
    """
    if from_ > to:
        raise RuntimeError(f"uniform_: given bounds {from_} and {to}, expected rising ones")
    return x.copy_(_filled(x, "uniform_", "uniform", generator, float(from_), float(to)))


def bernoulli_(x: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Write zeros and ones, a one with a probability, or with that which ``p`` gives for its place.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.zeros(3).bernoulli_(1.0)
    tensor([1., 1., 1.])
    """
    if isinstance(p, (int, float)) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_: given p={p}, expected a probability")
    chance = _filled(x, "bernoulli_", "uniform", generator, 0.0, 1.0, real=False)
    return x.copy_((chance < (p.detach() if isinstance(p, Tensor) else p)).to(x.dtype))


def random_(x: Tensor, from_: Any = None, to: int | None = None, *, generator: Generator | None = None) -> Tensor:
    """Write integers from one bound to before the other; without bounds all that the dtype counts without gaps.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros(100).random_(0, 10)
    >>> bool(((x >= 0) & (x < 10)).all())
    True
    """
    if from_ is not None and to is None:
        from_, to = 0, from_
    if to is None:
        digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
        name = str(x.dtype)
        from_ = 0 if from_ is None else from_
        to = 2 if name == "bool" else 2 ** digits[name] + 1 if name in digits else _integers_of(name)
    if from_ >= to:
        raise RuntimeError(f"random_: given bounds {from_} and {to}, expected rising ones")
    drawn = _draw("integers", (x.shape,), dtypes.named("int64"), x.device, generator, False, from_, to)
    return x.copy_(drawn.to(x.dtype))


def _integers_of(name: str) -> int:
    """One more than the largest integer of a dtype, or of int64."""
    unsigned = name.startswith("u")
    return min(2 ** (int(name.lstrip("uint")) - (not unsigned)), 2**63 - 1)


def exponential_(x: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Write waiting times of a rate.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> bool((lg.zeros(10).exponential_() >= 0).all())
    True
    """
    if lambd <= 0:
        raise RuntimeError(f"exponential_: given lambd={lambd}, expected more than 0")
    return x.copy_(-log1p(-_filled(x, "exponential_", "uniform", generator, 0.0, 1.0)) / lambd)


def geometric_(x: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Write how many trials it takes to succeed, each with a probability: 1 or more.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> bool((lg.zeros(10).geometric_(0.5) >= 1).all())
    True
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_: given p={p}, expected a probability between 0 and 1")
    chance = _filled(x, "geometric_", "uniform", generator, 0.0, 1.0, real=False)
    return x.copy_((floor(log1p(-chance) / math.log1p(-p)) + 1).to(x.dtype))


def log_normal_(x: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None) -> Tensor:
    """Write numbers whose logarithms are normal.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> bool((lg.zeros(10).log_normal_() > 0).all())
    True
    """
    if std <= 0:
        raise RuntimeError(f"log_normal_: given std={std}, expected more than 0")
    return x.copy_(exp(_filled(x, "log_normal_", "normal", generator, 0.0, 1.0) * std + mean))


def cauchy_(x: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Write numbers of Cauchy's distribution.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.zeros(3).cauchy_().shape
    (3,)
    """
    if sigma <= 0:
        raise RuntimeError(f"cauchy_: given sigma={sigma}, expected more than 0")
    angle = math.pi * (_filled(x, "cauchy_", "uniform", generator, 0.0, 1.0) - 0.5)
    return x.copy_(median + sigma * tan(angle))


# -- like another tensor -------------------------------------------------------------------------
def randint_like(x: Tensor, low: int, high: int | None = None, **options: Any) -> Tensor:
    """`randint` with the shape, dtype and device of x.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.randint_like(lg.zeros(2), 10).shape
    (2,)
    """
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, x.shape, **{"dtype": x.dtype, "device": x.device, **options})


def rand_like(x: Tensor, **options: Any) -> Tensor:
    """`rand` with the shape, dtype and device of x.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.rand_like(lg.zeros(2, 3)).shape
    (2, 3)
    """
    return rand(*x.shape, **{"dtype": x.dtype, "device": x.device, **options})


def randn_like(x: Tensor, **options: Any) -> Tensor:
    """`randn` with the shape, dtype and device of x.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.randn_like(lg.zeros(2, 3)).shape
    (2, 3)
    """
    return randn(*x.shape, **{"dtype": x.dtype, "device": x.device, **options})


_guard(__name__, [*__all__, *(name for name in dir() if name.endswith("_") and not name.startswith("_"))])
