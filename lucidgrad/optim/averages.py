"""A moving average of parameters."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import lucidgrad as lg
from lucidgrad.ops.steps import Step

#: Takes averages a part of the way to the parameters.
FOLLOW = Step("ema_step", lambda xp, average, p, *, change: (average + (p - average) * change,))


class EMA:
    """An exponential moving average of parameters, beside them.

    Parameters
    ----------
    params
        Tensors.
    decay
        How much of the average an `update` keeps.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0], requires_grad=True)
    >>> average = lg.optim.EMA([x], decay=0.75)
    >>> with lg.no_grad():
    ...     _ = x.fill_(4.0)
    >>> average.update()
    >>> with average.applied():
    ...     x.tolist()
    [1.0]
    >>> x.tolist()
    [4.0]
    """

    def __init__(self, params: Iterable[Any], decay: float = 0.999) -> None:
        if not 0.0 <= decay <= 1.0:
            raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
        self.params = list(params)
        self.decay = decay
        self.averages = [p.detach().clone() for p in self.params]

    def update(self) -> None:
        """Let the average follow the parameters, by ``1 - decay`` of the way."""
        FOLLOW(self.averages, self.params, change=1.0 - self.decay)

    @lg.no_grad()
    def copy_to(self, params: Iterable[Any] | None = None) -> None:
        """Write the average into the parameters, or into other tensors."""
        for p, value in zip(self.params if params is None else params, self.averages, strict=True):
            p.copy_(value)

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """A context in which the parameters are the average."""
        before = [p.detach().clone() for p in self.params]
        self.copy_to()
        try:
            yield
        finally:
            with lg.no_grad():
                for p, value in zip(self.params, before, strict=True):
                    p.copy_(value)

    def state_dict(self) -> dict[str, Any]:
        """The decay and the averages; not copies."""
        return {"decay": self.decay, "averages": list(self.averages)}

    @lg.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that `state_dict` gave; what does not fit changes nothing."""
        new, decay = [lg.asarray(x) for x in state_dict["averages"]], state_dict["decay"]
        if [x.shape for x in new] != [x.shape for x in self.averages]:
            raise ValueError(
                f"given averages of shapes {[x.shape for x in new]}, expected {[x.shape for x in self.averages]}"
            )
        self.decay = decay
        for old, value in zip(self.averages, new, strict=True):
            old.copy_(value.to(device=old.device, dtype=old.dtype))
