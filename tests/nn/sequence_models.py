"""What the tests of recurrent and attending modules share: a module and PyTorch's twin, and how they compare."""

from typing import Any

import numpy as np
from golden import thin

import lucidgrad as lg


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def twins(torch: Any, name: str, *args: Any, spread: float = 0.5, **keywords: Any) -> tuple[Any, Any]:
    """A module in double precision and PyTorch's with the same state, loaded from the one and back."""
    theirs = getattr(torch.nn, name)(*args, **keywords, dtype=torch.float64)
    ours = getattr(lg.nn, name)(*args, **keywords, dtype=lg.float64)
    assert repr(ours) == repr(theirs)
    state = ours.state_dict()
    assert {k: tuple(v.shape) for k, v in state.items()} == {k: tuple(v.shape) for k, v in theirs.state_dict().items()}
    assert list(state) == list(theirs.state_dict())
    # biases start as zeros, which tell nothing
    drawn = {k: spread * draw(*v.shape, seed=number) for number, (k, v) in enumerate(state.items(), 1)}
    theirs.load_state_dict({k: torch.from_numpy(v.copy()) for k, v in drawn.items()})
    ours.load_state_dict({k: lg.asarray(v.copy()) for k, v in drawn.items()})
    return ours, theirs


def flat(value: Any) -> list[Any]:
    """The tensors in nested tuples, None left out."""
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flat(part)]
    return [] if value is None else [value]


def _made(make: Any, value: Any, grad: bool) -> Any:
    if isinstance(value, tuple):
        return tuple(_made(make, part, grad) for part in value)
    if not isinstance(value, np.ndarray):
        return value
    made = make(value.copy())
    return made.requires_grad_() if grad and value.dtype.kind == "f" else made


def compare(
    torch: Any, ours: Any, theirs: Any, *args: Any, same: bool = False, tolerance: float = 1e-10, **keywords: Any
) -> None:
    """Outputs, and gradients of all inputs and parameters, are PyTorch's. ``same``: one tensor is all arguments."""
    found = []
    for module, make in ((ours, lg.asarray), (theirs, torch.from_numpy)):
        given = [_made(make, a, True) for a in args]
        named = {k: _made(make, v, True) for k, v in keywords.items()}
        module.zero_grad()
        outputs = flat(module(*(given * 3 if same else given), **named))
        sum((y * make(draw(*y.shape, seed=3))).sum() for y in outputs).backward()
        inputs = [x for x in flat([given, list(named.values())]) if hasattr(x, "requires_grad") and x.requires_grad]
        gradients = [x.grad for x in inputs] + [p.grad for p in module.parameters()]
        found.append([[None if t is None else thin(t.detach()).numpy() for t in part] for part in (outputs, gradients)])
    for mine, other in zip(*found, strict=True):
        assert len(mine) == len(other)
        for a, b in zip(mine, other, strict=True):
            if a is None or b is None:
                assert a is None or not np.any(a)
                assert b is None or not np.any(b)
            else:
                np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
