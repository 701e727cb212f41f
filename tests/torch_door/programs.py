"""Runs the programs in `scripts/` with a library: lucidgrad's door as they stand, PyTorch with the import replaced.

``python tests/torch_door/programs.py`` runs them with PyTorch and writes what came out to `recorded.json`, for machines
without it.
"""

import contextlib
import functools
import importlib
import json
import sys
import types
from pathlib import Path

import numpy as np

SCRIPTS = Path(__file__).parent / "scripts"
RECORDED = Path(__file__).parent / "recorded.json"
DOOR = "lucidgrad.torch"

HABITS = [Path(__file__).parent / name for name in ("habits.py", "idioms.py", "practices.py")]

NAMES = sorted(path.stem for path in SCRIPTS.glob("*.py"))

#: Programs that run in a second way, too.
VARIANTS = {name: {} for name in NAMES} | {
    "nanogpt_flash": {"flash": True},
    "imagenet_amp": {"use_amp": True},
}

#: Those that run in float32: mixed precision leaves float64 as it is.
SINGLE = {"imagenet_amp"}


def load(path, library):
    """A program as a module, with no other change to its text than the name of the library."""
    module = types.ModuleType(f"{library.replace('.', '_')}_{path.stem}")
    sys.modules[module.__name__] = module  # where dataclasses look
    exec(compile(path.read_text().replace(DOOR, library), str(path), "exec"), vars(module))
    return module


def prepare_with(torch):
    """A function that fills the parameters of a module with numbers that are the same for both libraries."""

    def prepare(module):
        rng = np.random.default_rng(17)
        state = module.state_dict()
        trained = {name for name, p in module.named_parameters(remove_duplicate=False) if p.requires_grad}
        for name, value in state.items():
            if name not in trained:
                continue
            numbers = rng.standard_normal(tuple(value.shape))
            if value.ndim > 1:
                numbers /= np.sqrt(numbers[0].size)
            else:
                numbers = 0.1 * numbers + (name.endswith("weight") and "bn" not in name)
            state[name] = torch.from_numpy(np.asarray(numbers)).to(value.dtype)
        module.load_state_dict(state)

    return prepare


@contextlib.contextmanager
def drawn_by_numpy(torch, on="cpu", seed=23):
    """Random numbers of a library from NumPy, so that both have the same; and CUDA only where it is meant."""
    rng = np.random.default_rng(seed)
    dtype = torch.get_default_dtype()

    def made(numbers, dtype=dtype, device=None):
        return torch.from_numpy(np.array(numbers)).to(dtype=dtype, device="cpu" if device is None else device)

    def sizes(size):
        return tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size

    def randint(low, high, size=None, device=None, **options):
        low, high, size = (0, low, high) if size is None else (low, high, size)
        return made(rng.integers(low, high, size), torch.int64, device)

    def chosen(p):
        p = p.detach().cpu().numpy()
        return (p.cumsum(-1) < rng.random(p.shape[:-1])[..., None] * p.sum(-1, keepdims=True)).sum(-1)

    def categorical(self, sample_shape=()):
        return made(chosen(self.probs), torch.int64)

    def normal(self, sample_shape=()):
        shape = tuple(sample_shape) + tuple(self.loc.shape)
        return (self.loc + self.scale * made(rng.standard_normal(shape))).detach()

    def multivariate(self, sample_shape=()):
        eps = made(rng.standard_normal((*sample_shape, *self.loc.shape)))
        return (self.loc + (self.scale_tril @ eps[..., None])[..., 0]).detach()

    found = torch.distributions
    patches = [
        (torch, "randn", lambda *size, device=None: made(rng.standard_normal(sizes(size)), device=device)),
        (torch, "rand", lambda *size, device=None: made(rng.random(sizes(size)), device=device)),
        (torch, "randn_like", lambda x: made(rng.standard_normal(tuple(x.shape)), device=x.device)),
        (torch, "rand_like", lambda x: made(rng.random(tuple(x.shape)), device=x.device)),
        (torch, "randint", randint),
        (torch, "randperm", lambda n, **options: made(rng.permutation(n), torch.int64)),
        (torch, "multinomial", lambda p, num_samples: made(chosen(p)[..., None], torch.int64, p.device)),
        (found.Categorical, "sample", categorical),
        (found.Normal, "sample", normal),
        (found.MultivariateNormal, "sample", multivariate),
    ]
    if on == "cpu":  # though there may be another device
        patches += [(torch.cuda, "is_available", lambda: False), (torch.cuda, "device_count", lambda: 0)]
    before = [getattr(owner, name) for owner, name, _ in patches]
    try:
        for owner, name, value in patches:
            setattr(owner, name, value)
        yield
    finally:
        for (owner, name, _), value in zip(patches, before, strict=True):
            setattr(owner, name, value)


@contextlib.contextmanager
def default_dtype(torch, name):
    """A part of a program with another default dtype, and one thread."""
    threads = torch.get_num_threads()
    torch.set_default_dtype(getattr(torch, name))
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_num_threads(threads)


def run(variant, library, steps=20, on="cpu"):
    """What a program gives: the numbers that it noted, and the state of its modules."""
    torch = importlib.import_module(library)
    script = SCRIPTS / f"{variant.partition('_')[0]}.py"
    with default_dtype(torch, "float32" if variant in SINGLE else "float64"), drawn_by_numpy(torch, on):
        history, modules = load(script, library).main(prepare_with(torch), steps=steps, **VARIANTS[variant])
    state = {
        f"{part}.{key}": value.detach().cpu().numpy().astype(np.float64)
        for part, module in modules.items()
        for key, value in module.state_dict().items()
    }
    return np.array(history, dtype=np.float64), summary(state)


def habit(name, library):
    """The numbers that a habit gives."""
    torch = importlib.import_module(library)
    with default_dtype(torch, "float64"), drawn_by_numpy(torch):
        return np.array(habits(library)[name](), dtype=np.float64)


@functools.cache
def habits(library=DOOR):
    """All habits by name."""
    return {function.__name__: function for path in HABITS for function in load(path, library).HABITS}


def summary(state):
    """Three numbers of each array: its sum, and two in which all places count differently."""
    made = {}
    for key, array in state.items():
        places = np.arange(array.size)
        made[key] = [float(array.sum()), *(float((array.ravel() * f(places)).sum()) for f in (np.cos, np.sin))]
    return made


def main():
    """Record what PyTorch gives."""
    recorded = {"programs": {}, "habits": {name: habit(name, "torch").tolist() for name in habits()}}
    for variant in VARIANTS:
        history, state = run(variant, "torch")
        recorded["programs"][variant] = {"history": history.tolist(), "state": state}
    lines = json.dumps(recorded).replace('"}, ', '"},\n').replace("]}, ", "]},\n").replace("], ", "],\n")
    RECORDED.write_text(lines + "\n")


if __name__ == "__main__":
    main()
